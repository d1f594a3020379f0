// Libraries that are told by environment variables, as lines for a shell: UCC, Intel MPI, MVAPICH2
// and Horovod; and the argument that PyTorch DDP takes. None of them is installed here: what is
// written follows their documentation and source, and docs/settings.md says which.
#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"
#include "studies/settings/settings_text.hpp"

namespace forescale {
namespace {

std::string loaded_by_shell(const std::string& file) { return fmt::format("source {}\n", file); }

LibraryAlgorithm algorithm(const std::string& id, const std::string& title, const std::string& plan,
                           const std::string& source, LibraryLimits limits = {},
                           bool mirrors_folded = false) {
  const PlanChoice choice = parse_plan(plan, title);
  return {.op = choice.collective->op,
          .id = id,
          .title = title,
          .plan = choice,
          .limits = limits,
          .mirrors_folded = mirrors_folded,
          .source = source};
}

// UCC: UCC_TL_UCP_TUNE=allreduce:FROM-TO:[RANKS]:@ID#...; what no token matches keeps UCC's own
// score. Sizes are bytes of the vector, TO exclusive or "inf".
std::vector<LibraryAlgorithm> ucc_algorithms(CollectiveOp op) {
  if (op != CollectiveOp::kAllReduce) return {};
  const std::string source = "openucx/ucc, src/components/tl/ucp/allreduce";
  // Radix 2, which the file asks for; surplus ranks of other counts are served in its own way.
  const LibraryLimits limits = {.power_of_two = true, .one_element_a_rank = true};
  return {algorithm("0", "knomial", "all-reduce/recursive-doubling", source, limits),
          algorithm("1", "sra_knomial", "all-reduce/near-halving-doubling", source, limits)};
}

std::string emit_ucc(const TunedSettings& settings, const std::string& /*version*/) {
  const CollectiveOp op = CollectiveOp::kAllReduce;
  std::vector<std::string> tokens;
  for (const int ranks : tuned_rank_counts(settings, op))
    for (const SizeSpan& span : size_spans(settings, op, ranks))
      if (span.algorithm != nullptr)
        tokens.push_back(
            fmt::format("allreduce:{}-{}:[{}-{}]:@{}", span.from_bytes,
                        span.to_bytes == kLargest ? "inf" : std::to_string(span.to_bytes + 1),
                        ranks, ranks, span.algorithm->id));
  if (tokens.empty()) return "";
  return "# For UCC's transport layer over UCX.\n" + comment_lines(settings) +
         "export UCC_TL_UCP_ALLREDUCE_KN_RADIX=2\nexport UCC_TL_UCP_ALLREDUCE_SRA_KN_RADIX=2\n" +
         fmt::format("export UCC_TL_UCP_TUNE='{}'\n", fmt::join(tokens, "#"));
}

const bool kUcc = Registry<SettingsFormat>::add({.name = "ucc",
                                                 .summary = "environment of UCC (all-reduce)",
                                                 .library = "UCC",
                                                 .file_name = "ucc.env",
                                                 .algorithms = ucc_algorithms,
                                                 .emit = emit_ucc,
                                                 .how_to_load = loaded_by_shell});

// Intel MPI: I_MPI_ADJUST_ALLREDUCE="ID:FROM-TO@RANKS-RANKS[,FROM-TO@...];ID:..."; sizes inclusive.
std::vector<LibraryAlgorithm> intel_algorithms(CollectiveOp op) {
  const std::string source =
      "Intel MPI Library Developer Reference for Linux, I_MPI_ADJUST family (by name: its source "
      "is "
      "closed)";
  switch (op) {
    case CollectiveOp::kAllReduce:
      return {algorithm("1", "recursive doubling", "all-reduce/recursive-doubling", source),
              algorithm("2", "Rabenseifner's", "all-reduce/near-halving-doubling", source),
              algorithm("8", "ring", "all-reduce/ring", source)};
    case CollectiveOp::kBroadcast:
      return {algorithm("1", "binomial", "broadcast/binomial", source)};
    case CollectiveOp::kReduce:
      return {algorithm("2", "binomial", "reduce/binomial", source),
              algorithm("5", "Rabenseifner's", "reduce/near-scatter-gather", source)};
    case CollectiveOp::kAllGather:
      return {algorithm("1", "recursive doubling", "allgather/recursive-doubling", source,
                        {.power_of_two = true}),
              algorithm("3", "ring", "allgather/ring", source)};
    default:
      return {};
  }
}

std::string intel_variable(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kAllReduce:
      return "I_MPI_ADJUST_ALLREDUCE";
    case CollectiveOp::kBroadcast:
      return "I_MPI_ADJUST_BCAST";
    case CollectiveOp::kReduce:
      return "I_MPI_ADJUST_REDUCE";
    default:
      return "I_MPI_ADJUST_ALLGATHER";
  }
}

std::string emit_intel(const TunedSettings& settings, const std::string& /*version*/) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  std::string lines;
  for (const CollectiveOp op : tuned_ops(settings)) {
    std::vector<std::string> rules;
    for (const RankSpan& ranks : rank_spans(settings, op))
      for (const SizeSpan& span : ranks.sizes)
        if (span.algorithm != nullptr)
          rules.push_back(fmt::format("{}:{}-{}@{}-{}", span.algorithm->id, span.from_bytes,
                                      std::min(span.to_bytes, kMost), ranks.from_ranks,
                                      ranks.to_ranks));
    if (!rules.empty())
      lines += fmt::format("export {}='{}'\n", intel_variable(op), fmt::join(rules, ";"));
  }
  return lines.empty() ? "" : "# For the Intel MPI Library.\n" + comment_lines(settings) + lines;
}

const bool kIntel = Registry<SettingsFormat>::add({.name = "intel-mpi",
                                                   .summary = "environment of Intel MPI",
                                                   .library = "Intel MPI",
                                                   .file_name = "intel-mpi.env",
                                                   .algorithms = intel_algorithms,
                                                   .emit = emit_intel,
                                                   .how_to_load = loaded_by_shell});

// MVAPICH2 2.x: MV2_INTER_ALLREDUCE_TUNING=ID, or ID:MIN-MAX,...,ID:MIN-+ by size. It replaces the
// table of every rank count, and has no word for the library's own choice.
std::vector<LibraryAlgorithm> mvapich_algorithms(CollectiveOp op) {
  if (op != CollectiveOp::kAllReduce) return {};
  const std::string source =
      "MVAPICH2 2.x, src/mpi/coll/allreduce_tuning.c and allreduce_osu.c (after MPICH's)";
  return {algorithm("1", "recursive doubling", "all-reduce/recursive-doubling", source, {}, true),
          algorithm("2", "reduce-scatter, allgather", "all-reduce/near-halving-doubling", source,
                    {.one_element_a_rank = true}, true)};
}

std::string emit_mvapich(const TunedSettings& settings, const std::string& /*version*/) {
  const CollectiveOp op = CollectiveOp::kAllReduce;
  const std::vector<int> counts = tuned_rank_counts(settings, op);
  if (counts.empty()) return "";
  if (counts.size() > 1)
    throw InputError({.source = "--ranks",
                      .path = "",
                      .value = fmt::format("{}", fmt::join(counts, ",")),
                      .constraint = "must be one count for mvapich2: its variable holds for all"});
  const std::vector<SizeSpan> spans = without_gaps(size_spans(settings, op, counts.front()));
  if (spans.empty()) return "";
  std::vector<std::string> rules;
  for (const SizeSpan& span : spans)
    rules.push_back(fmt::format("{}:{}-{}", span.algorithm->id, span.from_bytes,
                                span.to_bytes == kLargest ? "+" : std::to_string(span.to_bytes)));
  return "# For MVAPICH2 2.x.\n" + comment_lines(settings) +
         "export MV2_INTER_ALLREDUCE_TUNING_TWO_LEVEL=0\n" +
         fmt::format("export MV2_INTER_ALLREDUCE_TUNING='{}'\n",
                     spans.size() == 1 ? spans.front().algorithm->id
                                       : fmt::format("{}", fmt::join(rules, ",")));
}

const bool kMvapich =
    Registry<SettingsFormat>::add({.name = "mvapich2",
                                   .summary = "environment of MVAPICH2 (all-reduce)",
                                   .library = "MVAPICH2",
                                   .file_name = "mvapich2.env",
                                   .algorithms = mvapich_algorithms,
                                   .emit = emit_mvapich,
                                   .how_to_load = loaded_by_shell});

// Horovod takes the threshold in bytes and the cycle time in milliseconds.
std::string emit_horovod(const TunedSettings& settings, const std::string& /*version*/) {
  const TrainingSettings& training = settings.training;
  std::string lines;
  if (training.fusion_threshold_bytes)
    lines += fmt::format("export HOROVOD_FUSION_THRESHOLD={}\n", *training.fusion_threshold_bytes);
  if (training.cycle_time)
    lines += fmt::format("export HOROVOD_CYCLE_TIME={:g}\n", training.cycle_time->value * 1e3);
  return lines.empty() ? "" : "# For Horovod.\n" + comment_lines(settings) + lines;
}

const bool kHorovod = Registry<SettingsFormat>::add({.name = "horovod",
                                                     .summary = "environment of Horovod",
                                                     .library = "Horovod",
                                                     .file_name = "horovod.env",
                                                     .emit = emit_horovod,
                                                     .how_to_load = loaded_by_shell});

// DDP takes MiB, fractions of them too.
std::string emit_ddp(const TunedSettings& settings, const std::string& /*version*/) {
  if (!settings.training.bucket_bytes) return "";
  constexpr double kMiB = 1 << 20;
  return "# Arguments of torch.nn.parallel.DistributedDataParallel.\n" + comment_lines(settings) +
         fmt::format("bucket_cap_mb={}\n",
                     static_cast<double>(*settings.training.bucket_bytes) / kMiB);
}

const bool kDdp = Registry<SettingsFormat>::add(
    {.name = "ddp",
     .summary = "argument of PyTorch's DistributedDataParallel",
     .library = "PyTorch DDP",
     .file_name = "ddp.txt",
     .emit = emit_ddp,
     .how_to_load = [](const std::string& file) {
       return fmt::format("# DistributedDataParallel(model, ...) with the argument in {}\n", file);
     }});

}  // namespace
}  // namespace forescale
