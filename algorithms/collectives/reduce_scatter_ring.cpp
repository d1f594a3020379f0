// Ring reduce-scatter: P-1 rounds, one block of b/P a round. T = (P-1)(x + r) of the largest block,
// overlapped or not. Source: the first half of Patarasuk & Yuan 2009.
#include "algorithms/pieces/call_pieces.hpp"
#include "algorithms/pieces/ring_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_reduce_scatter_ring(CollectiveCall call, int rank) {
  return ring_reduce_scatter(whole_group(call.rank_count, 0), rank, blocks_of_call(call));
}

std::optional<double> reduce_scatter_ring_s(const CollectiveCall& call, const StepCost& cost) {
  return ring_reduce_scatter_s(blocks_of_call(call), cost);
}

const bool kReduceScatterRingRegistered =
    register_collective({.op = CollectiveOp::kReduceScatter,
                         .algorithm = "ring",
                         .summary = "blocks summed around a ring",
                         .source = "Patarasuk & Yuan 2009",
                         .plan = plan_reduce_scatter_ring,
                         .closed_form = reduce_scatter_ring_s});

}  // namespace
}  // namespace forescale
