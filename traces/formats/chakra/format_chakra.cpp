// Chakra execution traces (MLCommons): a graph of nodes for each rank, one file a rank.
//
// Every lane of the graph (chakra_graph.hpp) becomes a thread, which thread 0 starts. A node that
// another lane waits for raises a signal when it is done.
#include <fmt/format.h>

#include <simdjson.h>
#include <filesystem>

#include "base/error.hpp"
#include "base/registry.hpp"
#include "base/units.hpp"
#include "traces/formats/chakra/chakra_graph.hpp"
#include "traces/formats/chakra/chakra_read.hpp"
#include "traces/formats/chakra/chakra_world.hpp"
#include "traces/formats/trace_input.hpp"
#include "traces/program/program_writer.hpp"

namespace forescale {
namespace {

using ActionKind = Action::Kind;
using ChakraKind = ChakraNode::Kind;

class RankBuilder {
 public:
  RankBuilder(const ChakraFile& file, const ChakraWorld& world, int rank)
      : file_(file), world_(world), rank_(rank), writer_(built_) {}

  ProgramRank build() {
    const ChakraGraph& graph = file_.graph;
    done_.assign(graph.lane.size(), -1);
    for (std::size_t node = 0; node < done_.size(); ++node)
      if (graph.is_awaited[node]) done_[node] = writer_.start(0, ActionKind::kSignal);
    for (std::int32_t lane = 0; lane < graph.lane_count; ++lane) {
      lanes_.push_back(writer_.spawn(0));
      running_.push_back(-1);
    }
    for (std::size_t i = 0; i < graph.order.size(); ++i)
      if (graph.lane[as_index(graph.order[i])] >= 0) run(i);
    for (std::int32_t lane = 0; lane < graph.lane_count; ++lane) {
      finish_kernels(lane);
      writer_.wait(0, lanes_[as_index(lane)].id);
    }
    writer_.end_iteration();
    return std::move(built_);
  }

 private:
  void run(std::size_t position) {
    const ChakraGraph& graph = file_.graph;
    const std::int32_t index = graph.order[position];
    const std::int32_t lane = graph.lane[as_index(index)];
    const int thread = lanes_[as_index(lane)].thread;
    for (std::size_t i = graph.waits_begin[position]; i < graph.waits_begin[position + 1]; ++i)
      writer_.wait(thread, done_[as_index(graph.waits[i])]);
    const ChakraNode& node = file_.rank.nodes[as_index(index)];
    if (node.kind == ChakraKind::kKernel) {
      running_[as_index(lane)] = start(lane, node);
    } else if (node.kind != ChakraKind::kNothing) {
      finish_kernels(lane);
      writer_.wait(thread, start(lane, node));
    }
    if (done_[as_index(index)] < 0) return;
    finish_kernels(lane);
    writer_.set(thread, done_[as_index(index)]);
  }

  // Kernels of a lane run in order on its stream: it is enough to wait for the last one.
  void finish_kernels(std::int32_t lane) {
    int& last = running_[as_index(lane)];
    if (last >= 0) writer_.wait(lanes_[as_index(lane)].thread, last);
    last = -1;
  }

  int start(std::int32_t lane, const ChakraNode& node) {
    const int thread = lanes_[as_index(lane)].thread;
    const std::string& label = file_.rank.labels[as_index(node.label)];
    switch (node.kind) {
      case ChakraKind::kKernel:
        return writer_.start(thread, ActionKind::kKernel,
                             Kernel{.stream = lane, .duration_s = node.duration_s, .label = label});
      case ChakraKind::kCopy:
        return writer_.start(
            thread, ActionKind::kHostCopy,
            HostCopy{.bytes = node.bytes, .to_host = node.to_host, .label = label});
      case ChakraKind::kSend:
        return writer_.start(thread, ActionKind::kSend,
                             message(node, world_.tag(rank_, node.peer, node), label));
      case ChakraKind::kReceive:
        return writer_.start(thread, ActionKind::kReceive,
                             message(node, world_.tag(node.peer, rank_, node), label));
      case ChakraKind::kCollective:
        return writer_.start(thread, ActionKind::kCollective, world_.step(file_, node));
      default:
        return writer_.start(
            thread, ActionKind::kHostWork,
            HostWork{.duration_s = node.duration_s, .phase = Phase::kForward, .label = label});
    }
  }

  static MessageStep message(const ChakraNode& node, int tag, const std::string& label) {
    return {.peer = node.peer,
            .bytes = node.bytes,
            .tag = tag,
            .label = label,
            .on_host = node.on_host};
  }

  const ChakraFile& file_;
  const ChakraWorld& world_;
  int rank_;
  ProgramRank built_;
  ProgramWriter writer_;
  std::vector<ProgramWriter::Spawned> lanes_;
  std::vector<int> running_;  // the last kernel of a lane, if nobody has waited for it; else -1
  std::vector<int> done_;     // signal of a node; -1: nobody waits for it
};

void count(const ChakraFile& file, const ChakraWorld& world, ImportTotals& found) {
  for (const ChakraNode& node : file.rank.nodes) {
    if (node.kind == ChakraKind::kCollective) {
      Volume& volume = found.collectives[name_of(node.op)];
      ++volume.count;
      volume.bytes += static_cast<double>(world.traced_bytes(file, node));
    } else if (node.kind == ChakraKind::kSend) {
      ++found.messages.count;
      found.messages.bytes += static_cast<double>(node.bytes);
    } else if (node.kind == ChakraKind::kKernel) {
      ++found.kernels;
      found.compute_s += node.duration_s;
    }
  }
}

ChakraGaps sum_of(const std::vector<ChakraFile>& files) {
  ChakraGaps sum;
  for (const ChakraFile& file : files) {
    const ChakraGaps& gaps = file.rank.gaps;
    sum.without_time += gaps.without_time;
    sum.without_device += gaps.without_device;
    sum.host_calls += gaps.host_calls;
    sum.left_out += gaps.left_out;
    sum.left_out_s += gaps.left_out_s;
    sum.partial_dimensions += gaps.partial_dimensions;
    sum.without_root += gaps.without_root;
    sum.barriers += gaps.barriers;
    sum.copies += gaps.copies;
    sum.other_nodes += gaps.other_nodes;
    sum.callers += gaps.callers;
  }
  return sum;
}

void add_notes(const ChakraGaps& gaps, std::vector<std::string>& notes) {
  const auto say = [&](std::uint64_t number, const std::string& what) {
    if (number > 0) notes.push_back(fmt::format("{} {}", number, what));
  };
  say(gaps.left_out,
      fmt::format("communication nodes of the GPU without operation, size or peer are left out; "
                  "they took {} in all",
                  to_text(Seconds{gaps.left_out_s})));
  say(gaps.host_calls,
      "communication nodes of the CPU without operation, size or peer: kept as host work");
  say(gaps.without_time, "tasks without a duration: they take no time");
  say(gaps.without_device, "tasks that do not say CPU or GPU: taken to run on the GPU");
  say(gaps.without_root,
      "collectives with a root, which the trace does not name: taken to be the "
      "first rank of the group");
  say(gaps.partial_dimensions,
      "collectives of some dimensions of a platform that the trace does not describe: taken to be "
      "of all ranks");
  say(gaps.barriers, "barriers: replayed as all-reduces of 0 bytes");
  say(gaps.copies,
      "loads from and stores to remote memory: replayed as copies between GPU and "
      "host");
  say(gaps.other_nodes, "nodes of storage, batches and checkpoints: replayed by their duration");
  say(gaps.callers, "control dependencies say who called whom in PyTorch, and order nothing");
}

bool is_chakra(const std::string& /*file*/, const std::string& head) {
  return is_chakra_json(head) || is_chakra_protobuf(head);
}

ImportedTrace import_chakra(const std::vector<std::string>& names, const ImportOptions& options) {
  std::vector<ChakraFile> files;
  for (const std::string& name : names) {
    ChakraFile file{.rank = is_chakra_json(head_of_trace(name))
                                ? read_chakra_json(name, options.flops_per_s)
                                : read_chakra_protobuf(name, options.flops_per_s),
                    .graph = {}};
    file.graph = graph_of(file.rank);
    files.push_back(std::move(file));
  }
  const ChakraWorld world(files, options);
  ImportedTrace imported;
  for (const ChakraFile& file : files) count(file, world, imported.found);
  imported.notes = world.notes();
  add_notes(sum_of(files), imported.notes);
  Program& program = imported.program;
  const std::string title = std::filesystem::path(names.front()).filename();
  program.title = simdjson::validate_utf8(title) ? title : "Chakra trace";
  program.workers = world.rank_count();
  program.iterations = 1;
  program.images.assign(as_index(world.rank_count()), options.images);
  for (int rank = 0; rank < world.rank_count(); ++rank) {
    const std::size_t traced = as_index(rank) % files.size();
    program.ranks.push_back(as_index(rank) < files.size()
                                ? RankBuilder(files[traced], world, rank).build()
                                : program.ranks[traced]);
  }
  return imported;
}

const bool kChakraRegistered = Registry<TraceFormat>::add(
    {.name = "chakra",
     .description = "Chakra execution traces (MLCommons, ASTRA-sim): protobuf or JSON",
     .reads = {"--ranks", "--flops-per-s", "--batch"},
     .detects = is_chakra,
     .import = import_chakra});

}  // namespace
}  // namespace forescale
