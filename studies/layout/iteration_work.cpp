#include "studies/layout/iteration_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "algorithms/collective.hpp"
#include "algorithms/layout/pipeline_file.hpp"
#include "base/error.hpp"

namespace forescale {
namespace {

// A fused step reads gradient, master, mean and variance (16) and writes the last three and the
// weight (14); the norm of all gradients reads them once more (4).
constexpr double kOptimizerAccesses = 34;

constexpr double kForwardShare = 1.0 / 3;  // of the kernels of both passes

constexpr std::int64_t kNormBytes = 4;

// That share a copy of the dense state.
std::int64_t ranks_sharing(const Layout& layout) {
  return layout.context * layout.data * layout.pipeline_copies / layout.replicas();
}

// What recompute=full is for, of the layers of a stage.
double recomputed_share(const StagePart& part, const Layout& layout) {
  if (layout.recompute != Recompute::kFull || part.layers == 0) return 0;
  if (layout.recompute_layers == 0) return 1;
  return std::min(1.0,
                  static_cast<double>(layout.recompute_layers) / static_cast<double>(part.layers));
}

// As FSDP's gradients and parameters.
bool goes_by_layers(const IterationInputs& inputs) {
  const StateSharding sharding = inputs.layout->sharding;
  return sharding == StateSharding::kParameters ||
         (sharding == StateSharding::kGradients && inputs.framework->buckets.gradients_by_layers);
}

// In how many parts a stage's gradients are reduced.
int parts_of(const StagePart& part, std::int64_t stage, const IterationInputs& inputs) {
  const Layout& layout = *inputs.layout;
  const GradientBuckets& buckets = inputs.framework->buckets;
  if (!layout.overlaps && layout.sharding != StateSharding::kParameters) return 1;
  if (goes_by_layers(inputs)) return static_cast<int>(std::max<std::int64_t>(part.layers, 1));
  if (buckets.first_stage_only && stage > 0) return 1;
  const std::int64_t size =
      std::max(buckets.parameters, buckets.parameters_a_rank * layout.data * layout.context);
  return static_cast<int>(std::max<std::int64_t>((part.parameters + size - 1) / size, 1));
}

// The same of dense parameters and of experts', of which other groups have the same ones.
std::vector<LayoutCall> calls_of(const std::string& op, const StagePart& part, std::int64_t width,
                                 int parts, std::int64_t frozen_bytes = 0) {
  const auto bytes = [&](std::int64_t parameters, std::int64_t more_bytes = 0) {
    return (width * parameters + more_bytes + parts - 1) / parts;
  };
  return {{.op = op,
           .group = LayoutGroup::kData,
           .bytes = bytes(part.parameters - part.expert_parameters, frozen_bytes)},
          {.op = op, .group = LayoutGroup::kExpertData, .bytes = bytes(part.expert_parameters)}};
}

// In their order.
std::vector<int> on_node(const std::vector<int>& ranks, const std::vector<int>& nodes, int node) {
  std::vector<int> there;
  for (const int rank : ranks)
    if (nodes[static_cast<size_t>(rank)] == node) there.push_back(rank);
  return there;
}

std::vector<int> nodes_with(const std::vector<int>& ranks, const std::vector<int>& nodes) {
  std::vector<int> found;
  for (const int rank : ranks)
    if (const int node = nodes[static_cast<size_t>(rank)];
        std::find(found.begin(), found.end(), node) == found.end())
      found.push_back(node);
  return found;
}

// Of the shares that such reduce-scatters leave, in hybrid sharding.
std::vector<LayoutCall> replicas_of(const std::vector<LayoutCall>& scattered,
                                    const IterationInputs& inputs, const RankGrid& grid) {
  std::vector<LayoutCall> calls;
  if (inputs.layout->replicas() == 1) return calls;
  for (const LayoutCall& call : scattered) {
    const auto ranks =
        static_cast<std::int64_t>(group_ranks(grid, call.group, 0, inputs.nodes).size());
    calls.push_back({.op = "all-reduce",
                     .group = call.group == LayoutGroup::kData ? LayoutGroup::kReplica
                                                               : LayoutGroup::kExpertReplica,
                     .bytes = (call.bytes + ranks - 1) / ranks});
  }
  return calls;
}

// InputError where copies that share their state lie on nodes in unlike numbers: what one group
// takes is no other's time.
void check_shares(const IterationInputs& inputs, const RankGrid& grid, const std::string& option) {
  if (inputs.layout->replicas() == 1) return;
  const auto on_nodes = [&](const std::vector<int>& group) {
    std::multiset<size_t> counts;
    for (const int node : nodes_with(group, inputs.nodes))
      counts.insert(on_node(group, inputs.nodes, node).size());
    return counts;
  };
  for (const LayoutGroup kind : {LayoutGroup::kData, LayoutGroup::kExpertData}) {
    const auto first = on_nodes(group_ranks(grid, kind, 0, inputs.nodes));
    for (int rank = 0; rank < static_cast<int>(inputs.nodes.size()); ++rank) {
      const std::vector<int> group = group_ranks(grid, kind, rank, inputs.nodes);
      if (group.front() == rank && on_nodes(group) != first)
        refuse(option, fmt::format("dp_shard={}", inputs.layout->data_shard),
               fmt::format("puts copies that share their state on nodes in unlike numbers: those "
                           "of ranks 0 and {}",
                           rank));
    }
  }
}

// With what gathers and scatters: but for that on one node's and these between nodes.
bool replicas_share_links(const IterationInputs& inputs, const RankGrid& grid) {
  const auto nodes_of = [&](LayoutGroup group) {
    return nodes_with(group_ranks(grid, group, 0, inputs.nodes), inputs.nodes).size();
  };
  return nodes_of(LayoutGroup::kData) > 1 ||
         nodes_of(LayoutGroup::kReplica) < static_cast<size_t>(inputs.layout->replicas());
}

// In which the CPU asks for the kernels of a stage's passes.
double host_s(const StagePart& part, const IterationInputs& inputs, const std::string& option) {
  const Layout& layout = *inputs.layout;
  if (layout.has_graphs) return 0;
  const TransformerFramework& framework = *inputs.framework;
  const RankGrid grid(layout, option);
  const auto of_gpus_s = [&](Dimension shared, double gpu_s) {
    const bool on_several = nodes_with(grid.group(0, {shared}), inputs.nodes).size() > 1;
    return on_several ? gpu_s * static_cast<double>(layout.tensor) : 0;
  };
  const double least_s = of_gpus_s(Dimension::kTensor, framework.host_tensor_layer_s);
  const double longer_s = of_gpus_s(Dimension::kPipeline, framework.host_pipeline_layer_s);
  return (std::max(framework.host_layer_s, least_s) + longer_s) *
             static_cast<double>(part.layers - part.sparse_layers) +
         (std::max(framework.host_expert_layer_s, least_s) + longer_s) *
             static_cast<double>(part.sparse_layers);
}

// How much longer kernels take beside `parts` of such calls; those of parts that nothing is beside
// left out.
double slowed_s(const std::vector<LayoutCall>& calls, int parts, const IterationInputs& inputs,
                const RankGrid& grid) {
  if (!inputs.layout->overlaps) return 0;
  const bool in_every_pass = inputs.layout->sharding == StateSharding::kParameters;
  double slow_s = 0;
  for (const LayoutCall& call : calls)
    slow_s += (in_every_pass ? parts : parts - 1) *
              inputs.stack->slows_kernels_s(
                  brought_bytes(parse_collective_op(call.op, "layout"), call.bytes,
                                group_ranks(grid, call.group, 0, inputs.nodes).size()),
                  *inputs.gpu);
  return slow_s;
}

StageWork stage_work(const StagePart& part, std::int64_t stage, const IterationInputs& inputs,
                     const std::string& option) {
  const Layout& layout = *inputs.layout;
  const bool is_sharded = layout.sharding != StateSharding::kNone;
  const double asked_s = host_s(part, inputs, option);
  StageWork work{.part = part,
                 .recomputed = recomputed_share(part, layout),
                 .host_forward_s = kForwardShare * asked_s,
                 .host_backward_s = (1 - kForwardShare) * asked_s};
  work.gradient_parts = parts_of(part, stage, inputs);
  const bool gathers_in_parts = inputs.framework->buckets.gathers_ahead || goes_by_layers(inputs);
  work.parameter_parts = gathers_in_parts ? work.gradient_parts : 1;
  work.gradients = calls_of(is_sharded ? "reduce-scatter" : "all-reduce", part,
                            layout.gradient_bytes, work.gradient_parts);
  if (is_sharded)
    work.parameters = calls_of("allgather", part, inputs.value_bytes, work.parameter_parts,
                               goes_by_layers(inputs) ? part.frozen_bytes : 0);
  const RankGrid grid(layout, option);
  work.parameters_slow_s = slowed_s(work.parameters, work.parameter_parts, inputs, grid);
  const std::vector<LayoutCall> replicas = replicas_of(work.gradients, inputs, grid);
  if (layout.sharding == StateSharding::kParameters) {
    work.replicas = replicas;
    work.replicas_slow_s = slowed_s(replicas, work.gradient_parts - 1, inputs, grid);
    work.replicas_share_links = replicas_share_links(inputs, grid);
  } else {
    work.gradients.insert(work.gradients.end(), replicas.begin(), replicas.end());
  }
  work.gradients_slow_s = slowed_s(work.gradients, work.gradient_parts, inputs, grid);
  work.optimizer_s = kOptimizerAccesses * parameters_held(part, layout, is_sharded) /
                     inputs.gpu->memory_bandwidth.value;
  return work;
}

PipelineShape pipeline_shape(const Layout& layout) {
  return {.ranks = static_cast<int>(layout.pipeline),
          .stages_a_rank = static_cast<int>(layout.virtual_stages * layout.pipeline_copies),
          .micro_batches = static_cast<int>(layout.micro_batches())};
}

std::shared_ptr<const PipelineSchedule> schedule_of(const std::string& name,
                                                    const PipelineShape& shape,
                                                    const std::string& option) {
  if (is_pipeline_file(name))
    return std::make_shared<const PipelineSchedule>(read_pipeline_file(name, shape, option));
  // The registry keeps it.
  return {std::shared_ptr<const PipelineSchedule>(),
          &Registry<PipelineSchedule>::find(name, option)};
}

// At the rank's place on each node.
std::vector<int> rail(const std::vector<int>& ranks, const std::vector<int>& nodes, int rank) {
  const std::vector<int> here = on_node(ranks, nodes, nodes[static_cast<size_t>(rank)]);
  const auto place = std::find(here.begin(), here.end(), rank) - here.begin();
  std::vector<int> rail;
  for (const int node : nodes_with(ranks, nodes))
    rail.push_back(on_node(ranks, nodes, node).at(static_cast<size_t>(place)));
  return rail;
}

// Of a rank, or where a pipeline holds the network twice, of it and its mirror in the pipeline.
std::vector<int> of_holders(const RankGrid& grid, std::int64_t rank,
                            const std::function<std::vector<int>(std::int64_t)>& group_of) {
  std::vector<int> ranks = group_of(rank);
  if (const std::optional<std::int64_t> mirror = grid.mirror_of(rank)) {
    const std::vector<int> more = group_of(*mirror);
    ranks.insert(ranks.end(), more.begin(), more.end());
    std::ranges::sort(ranks);
  }
  return ranks;
}

// InputError where nodes have unlike shares of it.
CopyShares copies_of(const IterationInputs& inputs, const std::string& option) {
  if (!inputs.experts || inputs.layout->dispatcher != Dispatcher::kDeepEp) return {};
  const std::vector<int> group =
      RankGrid(*inputs.layout, option).expert_group(0, Dimension::kExpert);
  const std::vector<int> nodes = nodes_with(group, inputs.nodes);
  for (const int node : nodes)
    if (on_node(group, inputs.nodes, node).size() * nodes.size() != group.size())
      refuse(option, fmt::format("ep={},dispatcher=deepep", inputs.layout->expert),
             "needs as many GPUs of the group on each of its nodes");
  return copy_shares(*inputs.experts, static_cast<std::int64_t>(group.size()),
                     static_cast<std::int64_t>(nodes.size()));
}

}  // namespace

std::vector<int> group_ranks(const RankGrid& grid, LayoutGroup group, std::int64_t rank,
                             const std::vector<int>& nodes) {
  switch (group) {
    case LayoutGroup::kTensor:
      return grid.group(rank, {Dimension::kTensor});
    case LayoutGroup::kContext:
      return grid.group(rank, {Dimension::kContext});
    case LayoutGroup::kExpert:
      return grid.expert_group(rank, Dimension::kExpert);
    case LayoutGroup::kExpertNode:
      return on_node(grid.expert_group(rank, Dimension::kExpert), nodes,
                     nodes[static_cast<size_t>(rank)]);
    case LayoutGroup::kExpertRail:
      return rail(grid.expert_group(rank, Dimension::kExpert), nodes, static_cast<int>(rank));
    case LayoutGroup::kData:
      return of_holders(grid, rank, [&](std::int64_t holder) {
        return grid.group(holder, {Dimension::kContext, Dimension::kData});
      });
    case LayoutGroup::kExpertData:
      return of_holders(grid, rank, [&](std::int64_t holder) {
        return grid.expert_group(holder, Dimension::kData);
      });
    case LayoutGroup::kReplica:
      return grid.group(rank, {Dimension::kReplica});
    case LayoutGroup::kExpertReplica:
      return grid.expert_group(rank, Dimension::kReplica);
    case LayoutGroup::kModel:
      return grid.group(rank, {Dimension::kTensor, Dimension::kPipeline});
  }
  return {};
}

CopyShares copy_shares(const ExpertShape& experts, std::int64_t gpus, std::int64_t nodes) {
  const auto share = [&](std::int64_t places) {
    double none = 1;  // of the copies goes to a place
    for (std::int64_t i = 0; i < experts.per_token; ++i) {
      const std::int64_t left = experts.count - experts.count / places - i;
      none *= std::max(0.0, static_cast<double>(left) / static_cast<double>(experts.count - i));
    }
    return static_cast<double>(places) * (1 - none) / static_cast<double>(experts.per_token);
  };
  return {.gpus = share(gpus), .nodes = share(nodes)};
}

std::vector<LayoutCall> IterationWork::calls_of(const StageExchange& exchange) const {
  LayoutCall call{.op = "", .group = LayoutGroup::kTensor, .bytes = exchange.bytes};
  if (exchange.group == ExchangeGroup::kContext) call.group = LayoutGroup::kContext;
  if (exchange.group == ExchangeGroup::kExpert) call.group = LayoutGroup::kExpert;
  const auto scaled = [&](LayoutGroup group, double share) {
    return LayoutCall{.op = "all-to-all",
                      .group = group,
                      .bytes = std::llround(share * static_cast<double>(exchange.bytes))};
  };
  switch (exchange.kind) {
    case ExchangeKind::kAllReduce:
      call.op = "all-reduce";
      break;
    case ExchangeKind::kAllGather:
      call.op = "allgather";
      break;
    case ExchangeKind::kReduceScatter:
      call.op = "reduce-scatter";
      break;
    case ExchangeKind::kAllToAll:
      call.op = "all-to-all";
      break;
    case ExchangeKind::kTokens:
      return {scaled(LayoutGroup::kExpertRail, copies.nodes),
              scaled(LayoutGroup::kExpertNode, copies.gpus)};
  }
  return {call};
}

double parameters_held(const StagePart& part, const Layout& layout, bool is_sharded) {
  const auto dense = static_cast<double>(part.parameters - part.expert_parameters);
  const auto expert = static_cast<double>(part.expert_parameters);
  if (!is_sharded) return dense + expert;
  const auto ranks = static_cast<double>(ranks_sharing(layout));
  const auto expert_ranks = ranks * static_cast<double>(layout.tensor) /
                            static_cast<double>(layout.expert * layout.expert_tensor);
  return dense / ranks + expert / expert_ranks;
}

double frozen_held(const StagePart& part, const Layout& layout) {
  const auto all = static_cast<double>(part.frozen_bytes);
  return layout.sharding == StateSharding::kParameters
             ? all / static_cast<double>(ranks_sharing(layout))
             : all;
}

bool splits_backward(const Layout& layout, const std::string& option) {
  return schedule_of(layout.schedule, pipeline_shape(layout), option)->splits_backward;
}

IterationWork iteration_work(const IterationInputs& inputs, std::vector<StagePart> parts,
                             const std::string& option) {
  const Layout& layout = *inputs.layout;
  IterationWork work{.shape = pipeline_shape(layout)};
  work.schedule = schedule_of(layout.schedule, work.shape, option);
  check_shape(*work.schedule, work.shape, option);
  if (layout.tensor_overlaps && work.schedule->splits_backward)
    refuse(option, fmt::format("tp_overlap=true,schedule={}", layout.schedule),
           "needs a schedule with whole backward passes, in which products hide exchanges");
  work.nodes = inputs.nodes;
  check_shares(inputs, RankGrid(layout, option), option);
  work.copies = copies_of(inputs, option);
  if (layout.expert_overlaps && work.shape.stages_a_rank == 1 && layout.pipeline > 1)
    refuse(option, "expert_overlap=true", "needs vpp > 1 where pp > 1");
  work.gathers_each_pass = layout.sharding == StateSharding::kParameters;
  work.overlaps = layout.overlaps;
  work.message_bytes = parts.front().boundary_bytes;
  work.norm = {.op = "all-reduce", .group = LayoutGroup::kModel, .bytes = kNormBytes};
  for (int copy = 0; copy < work.schedule->copies; ++copy)
    for (size_t stage = 0; stage < parts.size(); ++stage)
      work.stages.push_back(
          stage_work(parts[stage], static_cast<std::int64_t>(stage), inputs, option));
  return work;
}

}  // namespace forescale
