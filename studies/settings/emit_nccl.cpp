// NCCL, which is told algorithms, protocols and chunks by size and shape of the communicator: a
// table for the tuner plug-in that comes with forescale (library/nccl_tuner), one for the example
// that comes with NCCL, one for NCCLX, and the environment. What is told are the alternatives of a
// stack, "tree/ll128"; where nothing is faster for sure NCCL chooses for itself.
// Sources: NVIDIA/nccl, plugins/tuner/example/plugin.c and README.md (commit 35512d6f; ext-tuner/
// until 2.28), src/enqueue.cc, ncclGetAlgoInfo (0 channels are NCCL's own number), src/graph/
// tuning.cc, parseList; meta-pytorch/torchcomms, comms/ncclx/meta/tuner/README.md (pull requests
// 3044, 3045).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "algorithms/operation.hpp"
#include "base/data_files.hpp"
#include "base/error.hpp"
#include "studies/settings/settings_text.hpp"

namespace forescale {
namespace {

// Of NCCL's rings LL carries what is smaller, roughly.
constexpr std::int64_t kSmallMost = (1 << 20) - 1;
constexpr const char* kPlugIn = "libnccl-tuner-forescale.so";

// Of one tuned count of ranks, what is not left to NCCL.
struct ToldSpan {
  CollectiveOp op = CollectiveOp::kAllReduce;
  int ranks = 0;
  int nodes = 0;
  SizeSpan span = {};

  std::string op_name() const { return std::string(*name_in(Tool::kNcclTuner, op)); }
  // "tree", "ll128"
  std::pair<std::string, std::string> algorithm() const {
    const std::string& id = span.algorithm->id;
    const std::size_t slash = id.find('/');
    return {id.substr(0, slash), id.substr(slash + 1)};
  }
};

int nodes_of_tuned(const TunedSettings& settings, CollectiveOp op, int ranks) {
  for (const SettingsRegion& region : settings.regions)
    if (region.op == op && region.ranks == ranks) return region.nodes;
  return 0;
}

std::vector<ToldSpan> told_spans(const TunedSettings& settings) {
  std::vector<ToldSpan> told;
  for (const CollectiveOp op : all_collective_ops()) {
    if (!name_in(Tool::kNcclTuner, op)) continue;
    for (const int ranks : tuned_rank_counts(settings, op))
      for (const SizeSpan& span : size_spans(settings, op, ranks))
        if (span.algorithm != nullptr)
          told.push_back({.op = op,
                          .ranks = ranks,
                          .nodes = nodes_of_tuned(settings, op, ranks),
                          .span = span});
  }
  return told;
}

std::string or_any(int number) { return number > 0 ? std::to_string(number) : "-1"; }

// The cells that all tables by bytes begin with.
std::string table_line(const ToldSpan& told, int channels, int nodes, int ranks) {
  const auto [algorithm, protocol] = told.algorithm();
  return fmt::format("{},{},{},{},{},{},{},{}", told.op_name(), told.span.from_bytes,
                     told.span.to_bytes, algorithm, protocol, channels, or_any(nodes),
                     or_any(ranks));
}

bool is_collnet(const std::string& algorithm) { return algorithm.starts_with("collnet"); }

// What there is to say before the lines.
std::string remarks(const std::vector<ToldSpan>& told) {
  if (told.empty()) return "# NCCL's own choice is beaten nowhere: nothing is told.\n";
  return std::any_of(told.begin(), told.end(),
                     [](const ToldSpan& each) { return is_collnet(each.algorithm().first); })
             ? "# Lines with CollNet count where NCCL has it: NCCL_COLLNET_ENABLE=1 and SHARP.\n"
             : "";
}

// The plug-in that comes with forescale: what no line is for is NCCL's.
std::string emit_plug_in(const TunedSettings& settings, const std::string& /*version*/) {
  const std::vector<ToldSpan> told = told_spans(settings);
  std::string text =
      fmt::format("# Table for forescale's tuner plug-in of NCCL, {}.\n", kPlugIn) +
      comment_lines(settings) +
      "# Channels -1 and chunks of 0 bytes are left to NCCL; chunks need NCCL 2.30.3.\n"
      "# operation,bytes min,bytes max,algorithm,protocol,channels,nodes,ranks,chunk bytes\n" +
      remarks(told);
  for (const ToldSpan& each : told)
    text += fmt::format("{},{}\n", table_line(each, -1, each.nodes, each.ranks),
                        each.span.algorithm->segment_bytes);
  return text;
}

std::string how_to_load_plug_in(const std::string& file) {
  std::string library = kPlugIn;
  try {
    library = library_path(kPlugIn);
  } catch (const InputError&) {  // not built: for another machine
  }
  return fmt::format(
      "export NCCL_TUNER_PLUGIN={}  # NCCL 2.22 and later\nexport NCCL_TUNER_CONFIG_FILE={}\n",
      library, file);
}

const bool kPlugInRegistered =
    Registry<SettingsFormat>::add({.name = "nccl-plugin",
                                   .summary = "table of forescale's tuner plug-in, with chunks",
                                   .library = "NCCL",
                                   .file_name = "nccl_tuner.csv",
                                   .takes_alternatives = true,
                                   .takes_chunks = true,
                                   .replaces_tuner = true,
                                   .emit = emit_plug_in,
                                   .how_to_load = how_to_load_plug_in});

// The example of NCCL: the first line that fits counts, -1 nodes or ranks are any. What no line is
// for runs on a single channel there, and so do -1 channels, so that NCCL's own choice is said
// wherever nothing else is; 0 channels leave their number to NCCL.
std::string emit_example(const TunedSettings& settings, const std::string& version) {
  const std::vector<ToldSpan> told = told_spans(settings);
  if (told.empty()) return "";
  std::string text =
      fmt::format("# Table for the example of a tuner plug-in that comes with NCCL {} ({}).\n",
                  version, version == "2.28" ? "ext-tuner/example" : "plugins/tuner/example") +
      comment_lines(settings) +
      "# What no line is for runs on a single channel in that plug-in: all is said here, by what\n"
      "# this stack takes for NCCL's own choice where nothing is faster. 0 channels: NCCL's own "
      "number.\n"
      "# operation,bytes min,bytes max,algorithm,protocol,channels,nodes,ranks (-1: any)\n" +
      remarks(told);
  for (const ToldSpan& each : told) text += table_line(each, 0, each.nodes, each.ranks) + "\n";
  text += "# other communicators: as on the most ranks, and rings where that cannot be taken\n";
  std::map<CollectiveOp, int> most;
  for (const ToldSpan& each : told) most[each.op] = std::max(most[each.op], each.ranks);
  for (const ToldSpan& each : told)
    if (each.ranks == most[each.op]) text += table_line(each, 0, 0, 0) + "\n";
  // A line that NCCL finds impossible (NVLSTree on one node) is passed over there.
  for (const CollectiveOp op : all_collective_ops())
    if (const auto name = name_in(Tool::kNcclTuner, op))
      text += fmt::format("{0},0,{1},ring,ll,0,-1,-1\n{0},{2},{3},ring,simple,0,-1,-1\n", *name,
                          kSmallMost, kSmallMost + 1, kLargest);
  return text;
}

std::string how_to_load_example(const std::string& file) {
  return fmt::format("export NCCL_TUNER_PLUGIN=example\nexport NCCL_TUNER_CONFIG_FILE={}\n", file);
}

const bool kExampleRegistered =
    Registry<SettingsFormat>::add({.name = "nccl-tuner",
                                   .summary = "table of the example plug-in that NCCL has",
                                   .library = "NCCL",
                                   .versions = {"2.29", "2.28"},
                                   .file_name = "nccl_tuner.conf",
                                   .takes_alternatives = true,
                                   .says_own_choice = true,
                                   .emit = emit_example,
                                   .how_to_load = how_to_load_example});

// NCCLX: sizes are bytes over ranks, rounded down, nodes and ranks a node of their own. Chunks are
// left to it: it would look them up by the bytes of one channel, which is all that NCCL tells it.
std::string emit_ncclx(const TunedSettings& settings, const std::string& /*version*/) {
  const std::vector<ToldSpan> told = told_spans(settings);
  std::string text =
      "# Table for the tuner that is built into NCCLX (torchcomms), since its pull request "
      "3045.\n" +
      comment_lines(settings) +
      "# collective,bytesPerRank,algorithm,protocol,channels,nNodes,nLocalRanks,chunkSize\n" +
      remarks(told);
  for (const ToldSpan& each : told) {
    const auto [algorithm, protocol] = each.algorithm();
    const std::int64_t ranks = each.ranks;
    if (each.nodes > 0 && ranks % each.nodes != 0)
      throw InputError({.source = "--emit",
                        .path = "",
                        .value = "ncclx",
                        .constraint = fmt::format("counts the ranks of each node, which are not as "
                                                  "many on all with {} ranks on {} nodes",
                                                  ranks, each.nodes)});
    const std::int64_t from = (each.span.from_bytes + ranks - 1) / ranks;
    const bool has_end = each.span.to_bytes != kLargest;
    if (has_end && each.span.to_bytes / ranks < from) continue;
    text += fmt::format("{},[{},{},{},{},-1,{},{},0\n", each.op_name(), from,
                        has_end ? fmt::format("{}]", each.span.to_bytes / ranks) : ")", algorithm,
                        protocol, each.nodes > 0 ? std::to_string(each.nodes) : "*",
                        each.nodes > 0 ? std::to_string(ranks / each.nodes) : "*");
  }
  return text;
}

const bool kNcclxRegistered =
    Registry<SettingsFormat>::add({.name = "ncclx",
                                   .summary = "table of the tuner in NCCLX, with chunks",
                                   .library = "NCCLX",
                                   .file_name = "ncclx_tuner.csv",
                                   .takes_alternatives = true,
                                   .takes_chunks = true,
                                   .replaces_tuner = true,
                                   .emit = emit_ncclx,
                                   .how_to_load = [](const std::string& file) {
                                     return fmt::format("export NCCLX_TUNER_CONFIG_FILE={}\n",
                                                        std::filesystem::absolute(file).string());
                                   }});

// The environment knows operations but neither sizes nor communicators: one alternative for all.
std::string emit_nccl_environment(const TunedSettings& settings, const std::string& /*version*/) {
  std::map<CollectiveOp, std::set<std::string>> all;
  for (const ToldSpan& each : told_spans(settings)) all[each.op].insert(each.span.algorithm->id);
  for (const SettingsRegion& region : settings.regions)
    if (!region.chosen) all[region.op].insert("NCCL's own choice");
  std::string algorithms;
  std::string protocols;
  for (const auto& [op, ids] : all) {
    if (ids.size() > 1)
      throw InputError(
          {.source = "--emit",
           .path = "",
           .value = "nccl-environment",
           .constraint = fmt::format(
               "can only say what is best for all sizes and rank counts, and for {} that is {}: "
               "ask for fewer, or take nccl-plugin",
               name_of(op), fmt::join(ids, ", "))});
    const std::string& id = *ids.begin();
    const std::size_t slash = id.find('/');
    if (slash == std::string::npos) continue;
    const std::string algorithm = id.substr(0, slash);
    if (algorithm.starts_with("nvls") || is_collnet(algorithm) || id.ends_with("/ll128"))
      throw InputError({.source = "--emit",
                        .path = "",
                        .value = "nccl-environment",
                        .constraint = fmt::format(
                            "would force {} also where NCCL finds that impossible, LL128 on links "
                            "that reorder, NVLSTree and CollNet on one node: take nccl-plugin",
                            id)});
    // The first of a list counts for every operation unless it names one, as all here do.
    algorithms += fmt::format("{}{}:{}", algorithms.empty() ? "" : ";",
                              *name_in(Tool::kNcclTuner, op), algorithm);
    protocols += fmt::format("{}{}:{}", protocols.empty() ? "" : ";",
                             *name_in(Tool::kNcclTuner, op), id.substr(slash + 1));
  }
  std::string text =
      "# Environment of an NCCL whose NCCL_ALGO takes lists by operation (2.20 does not yet).\n" +
      comment_lines(settings);
  if (algorithms.empty()) return text + "# NCCL's own choice is beaten nowhere: nothing is told.\n";
  return text +
         fmt::format("export NCCL_ALGO='{}'\nexport NCCL_PROTO='{}'\n", algorithms, protocols);
}

const bool kNcclEnvironmentRegistered = Registry<SettingsFormat>::add(
    {.name = "nccl-environment",
     .summary = "NCCL_ALGO and NCCL_PROTO, where one is best at all sizes",
     .library = "NCCL",
     .file_name = "nccl.env",
     .takes_alternatives = true,
     .emit = emit_nccl_environment,
     .how_to_load = [](const std::string& file) { return fmt::format("source {}\n", file); }});

}  // namespace
}  // namespace forescale
