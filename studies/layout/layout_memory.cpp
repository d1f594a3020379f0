#include "studies/layout/layout_memory.hpp"

#include <algorithm>

#include "algorithms/layout/repeated_micro_batches.hpp"

namespace forescale {
namespace {

// Mixed precision with Adam: master weights, mean and variance in FP32.
constexpr std::int64_t kOptimizerBytes = 12;

constexpr const char* kHeldResults = "reduced results";

std::int64_t kept_of(const StageWork& work) {
  const StagePart& part = work.part;
  return static_cast<std::int64_t>((1 - work.recomputed) * static_cast<double>(part.kept_bytes) +
                                   work.recomputed *
                                       static_cast<double>(part.layers * part.boundary_bytes));
}

// Where the CPU asks for kernels no faster than the GPU runs them, memory is given back in time.
std::int64_t held_results_of(const StageWork& work) {
  return work.part.forward_s > work.host_forward_s ? work.part.held_result_bytes : 0;
}

std::vector<MemoryPart> state_of(const LayoutSetUp& set_up, int rank) {
  const Layout& layout = set_up.layout;
  double parameters = 0;
  double gradients = 0;
  double optimizer = 0;
  double frozen = 0;
  for (size_t stage = 0; stage < set_up.work.stages.size(); ++stage) {
    if (set_up.work.rank_of_stage(stage) != rank) continue;
    const auto held = [&](StateSharding from) {
      return parameters_held(set_up.work.stages[stage].part, layout, layout.sharding >= from);
    };
    parameters += held(StateSharding::kParameters);
    gradients += held(StateSharding::kGradients);
    optimizer += held(StateSharding::kOptimizer);
    frozen += frozen_held(set_up.work.stages[stage].part, layout);
  }
  const auto bytes = [](double values, std::int64_t width) {
    return static_cast<std::int64_t>(values * static_cast<double>(width));
  };
  return {{"parameters", bytes(parameters, whole_bytes_a_value(set_up.values)) +
                             static_cast<std::int64_t>(frozen)},
          {"gradients", bytes(gradients, layout.gradient_bytes)},
          {"optimizer", bytes(optimizer, kOptimizerBytes)}};
}

// The most that is held at once over a rank's passes.
std::vector<MemoryPart> activations_of(const LayoutSetUp& set_up,
                                       const std::vector<PipelinePass>& order) {
  std::int64_t held = 0;
  std::int64_t most = 0;
  std::int64_t held_results = 0;
  std::int64_t most_results = 0;
  std::int64_t logits = 0;
  std::int64_t layer = 0;
  std::int64_t buffers = 0;
  for (const PipelinePass& pass : order) {
    const StageWork& work = set_up.work.stages[static_cast<size_t>(pass.stage)];
    buffers = std::max(buffers, work.part.gradient_buffer_bytes);
    logits = std::max(logits, work.part.score_bytes);
    if (set_up.layout.recompute == Recompute::kFull)
      layer = std::max(layer, work.part.layer_kept_bytes);
    if (pass.kind == PassKind::kForward) {
      most = std::max(most, held += kept_of(work));
      most_results = std::max(most_results, held_results += held_results_of(work));
    }
    if (pass.kind == PassKind::kBackward || pass.kind == PassKind::kWeightGradient) {
      held -= kept_of(work);
      held_results -= held_results_of(work);
    }
  }
  return {{"activations", most},
          {kHeldResults, most_results},
          {"recomputed layer", layer},
          {"logits", logits},
          {"gradient buffers", buffers}};
}

}  // namespace

LayoutMemory layout_memory(const LayoutSetUp& set_up) {
  const TransformerFramework& framework = set_up.framework;
  const PipelineSchedule& schedule = *set_up.work.schedule;
  const std::vector<std::vector<PipelinePass>> orders =
      schedule.orders(holding_as_many(schedule, set_up.work.shape));
  LayoutMemory memory;
  for (int rank = 0; rank < set_up.work.shape.ranks; ++rank) {
    std::vector<MemoryPart> parts = state_of(set_up, rank);
    for (const MemoryPart& part : activations_of(set_up, orders[static_cast<size_t>(rank)]))
      parts.push_back(part);
    double bytes = 0;
    double held = 0;
    for (const MemoryPart& part : parts) {
      bytes += static_cast<double>(part.bytes);
      if (part.name == kHeldResults) held = static_cast<double>(part.bytes);
    }
    const auto times = [&](double factor) { return static_cast<std::int64_t>(factor * bytes); };
    parts.push_back({"framework", times(framework.memory - 1)});
    const std::int64_t all = times(1) + parts.back().bytes;
    memory.by_pipeline_rank.push_back(parts);
    if (all <= memory.bytes) continue;
    memory.parts = parts;
    memory.bytes = all;
    memory.allocated_bytes = times(1);
    // Before PyTorch's allocator gives up, it waits for the GPU and takes back what was held
    // (CUDACachingAllocator.cpp, release_cached_blocks).
    memory.low_bytes = static_cast<std::int64_t>(framework.memory_low * (bytes - held));
    memory.high_bytes = times(framework.memory_high);
  }
  return memory;
}

}  // namespace forescale
