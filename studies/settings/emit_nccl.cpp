// NCCL: the table of its tuner plug-in (ext-tuner/example of NVIDIA/nccl), one line a range:
//   operation,bytes min,bytes max,algorithm,protocol,channels,nodes,ranks
// The first line that matches counts; -1 nodes or ranks match any. What no line matches runs on a
// single channel in that plug-in, so that the lines cover every operation, size and rank count.
// Source: NVIDIA/nccl v2.28, ext-tuner/example/plugin.c and README.md.
#include <fmt/format.h>

#include <algorithm>

#include "algorithms/operation.hpp"
#include "studies/settings/settings_text.hpp"

namespace forescale {
namespace {

// NCCL's buffer of 4 MiB in 8 steps: what a chain or a tree passes on at once (src/init.cc).
constexpr const char* kChunk = ":chunk_bytes=512KiB";

LibraryAlgorithm nccl_algorithm(const std::string& id, const std::string& plan,
                                LibraryLimits limits) {
  const PlanChoice choice = parse_plan(plan, "NCCL");
  return {.op = choice.collective->op,
          .id = id,
          .title = id,
          .plan = choice,
          .limits = limits,
          .source = "NVIDIA/nccl v2.28, src/device and src/graph"};
}

std::vector<LibraryAlgorithm> algorithms(CollectiveOp op) {
  const std::string chunk = kChunk;
  const LibraryLimits tree = {.one_rank_a_node = true};
  switch (op) {
    case CollectiveOp::kAllReduce:
      return {nccl_algorithm("ring", "all-reduce/ring", {}),
              nccl_algorithm("tree", "all-reduce/double-binary-tree" + chunk, tree)};
    case CollectiveOp::kBroadcast:
      return {nccl_algorithm("ring", "broadcast/chain" + chunk, {})};
    case CollectiveOp::kReduce:
      return {nccl_algorithm("ring", "reduce/chain" + chunk, {})};
    case CollectiveOp::kAllGather:
      return {nccl_algorithm("ring", "allgather/ring", {})};
    case CollectiveOp::kReduceScatter:
      return {nccl_algorithm("ring", "reduce-scatter/ring", {})};
    default:
      return {};
  }
}

struct Job {
  int nodes = 0;  // 0: any
  int ranks = 0;  // 0: any
};

std::string lines(CollectiveOp op, const std::vector<SizeSpan>& spans, int channels, Job job) {
  std::string text;
  for (const SizeSpan& span : spans)
    text += fmt::format("{},{},{},{},simple,{},{},{}\n", *name_in(Tool::kNcclTuner, op),
                        span.from_bytes, span.to_bytes, span.algorithm->id, channels,
                        job.nodes > 0 ? job.nodes : -1, job.ranks > 0 ? job.ranks : -1);
  return text;
}

int tuned_nodes(const TunedSettings& settings, CollectiveOp op, int ranks) {
  for (const SettingsRegion& region : settings.regions)
    if (region.op == op && region.ranks == ranks) return region.nodes;
  return 0;
}

std::string emit_nccl(const TunedSettings& settings, const std::string& version) {
  std::string tuned;
  std::string others;
  for (const CollectiveOp op : all_collective_ops()) {
    if (!name_in(Tool::kNcclTuner, op)) continue;
    std::vector<SizeSpan> of_largest;
    for (const int ranks : tuned_rank_counts(settings, op)) {
      const std::vector<SizeSpan> spans = without_gaps(size_spans(settings, op, ranks));
      tuned += lines(op, spans, settings.nccl_channels,
                     {.nodes = tuned_nodes(settings, op, ranks), .ranks = ranks});
      if (!spans.empty()) of_largest = spans;
    }
    const LibraryAlgorithm ring = algorithms(op).front();
    if (of_largest.empty())
      of_largest = {{.to_bytes = std::numeric_limits<std::int64_t>::max(), .algorithm = &ring}};
    others += lines(op, of_largest, settings.nccl_channels, {});
  }
  if (tuned.empty()) return "";
  return fmt::format("# Table for the tuner plug-in of NCCL {} (ext-tuner/example).\n", version) +
         comment_lines(settings) +
         fmt::format(
             "# {} channels: write what NCCL itself would take, which it says with\n"
             "# NCCL_DEBUG=INFO (\"coll channels\"); fewer are slower.\n",
             settings.nccl_channels) +
         "# operation,bytes min,bytes max,algorithm,protocol,channels,nodes,ranks (-1: any)\n" +
         tuned + "# what was not tuned: as on the most ranks, else a ring\n" + others;
}

std::string how_to_load_nccl(const std::string& file) {
  return fmt::format("export NCCL_TUNER_PLUGIN=example\nexport NCCL_TUNER_CONFIG_FILE={}\n", file);
}

const bool kNcclRegistered =
    Registry<SettingsFormat>::add({.name = "nccl-tuner",
                                   .summary = "table of the tuner plug-in, with channels",
                                   .library = "NCCL",
                                   .versions = {"2.28"},
                                   .file_name = "nccl_tuner.conf",
                                   .algorithms = algorithms,
                                   .emit = emit_nccl,
                                   .how_to_load = how_to_load_nccl});

}  // namespace
}  // namespace forescale
