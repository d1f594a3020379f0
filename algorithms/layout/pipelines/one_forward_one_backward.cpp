// 1F1B: as few forward passes as fill the pipeline, then one backward after each forward. Takes as
// long as gpipe and holds at most p - rank micro-batches. Interleaved: each rank has v stages,
// every p-th of the network, and takes p micro-batches through one after the other: with stages of
// t / v, m t + (p - 1) t / v.
//
// Narayanan et al., arXiv:2104.04473, section 2.2; Megatron-LM,
// core/pipeline_parallel/schedules.py.
#include <algorithm>

#include "algorithms/layout/pipeline.hpp"

namespace forescale {
namespace {

// The k-th forward, or backward, pass of a rank.
PipelinePass interleaved_pass(const PipelineShape& shape, int rank, int k, bool is_forward) {
  const int round = shape.ranks * shape.stages_a_rank;
  const int chunk = k % round / shape.ranks;
  const int stage = is_forward ? chunk : shape.stages_a_rank - 1 - chunk;
  return {.kind = is_forward ? PassKind::kForward : PassKind::kBackward,
          .stage = stage * shape.ranks + rank,
          .micro_batch = k / round * shape.ranks + k % shape.ranks};
}

std::vector<PipelinePass> one_rank(const PipelineShape& shape, int rank, int before) {
  const int all = shape.micro_batches * shape.stages_a_rank;
  before = std::min(before, all);
  std::vector<PipelinePass> order;
  for (int k = 0; k < before; ++k) order.push_back(interleaved_pass(shape, rank, k, true));
  for (int k = 0; k < all; ++k) {
    if (before + k < all) order.push_back(interleaved_pass(shape, rank, before + k, true));
    order.push_back(interleaved_pass(shape, rank, k, false));
  }
  return order;
}

std::vector<std::vector<PipelinePass>> one_forward_one_backward(const PipelineShape& shape) {
  std::vector<std::vector<PipelinePass>> orders;
  // With one stage a rank the k-th pass is of micro-batch k, whatever divides what.
  for (int rank = 0; rank < shape.ranks; ++rank)
    orders.push_back(one_rank(shape, rank, shape.ranks - 1 - rank));
  return orders;
}

std::vector<std::vector<PipelinePass>> interleaved(const PipelineShape& shape) {
  std::vector<std::vector<PipelinePass>> orders;
  for (int rank = 0; rank < shape.ranks; ++rank)
    orders.push_back(one_rank(
        shape, rank, 2 * (shape.ranks - 1 - rank) + (shape.stages_a_rank - 1) * shape.ranks));
  return orders;
}

const bool kOneForwardOneBackwardRegistered = [] {
  Registry<PipelineSchedule>::add({.name = "1f1b",
                                   .summary = "one backward pass after each forward pass",
                                   .source = "Narayanan et al., arXiv:2104.04473, section 2.2.1",
                                   .orders = one_forward_one_backward});
  Registry<PipelineSchedule>::add(
      {.name = "interleaved",
       .summary = "1f1b over several stages a rank, every p-th of the network",
       .source = "Narayanan et al., arXiv:2104.04473, section 2.2.2",
       .stages_a_rank_min = 2,
       .stages_a_rank_max = 0,
       .needs_full_rounds = true,
       .orders = interleaved});
  return true;
}();

}  // namespace
}  // namespace forescale
