// Ring allgather: P-1 rounds, one block of b/P a round. T = (P-1) x of the largest block.
// Source: the second half of Patarasuk & Yuan 2009.
#include "algorithms/pieces/call_pieces.hpp"
#include "algorithms/pieces/ring_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_allgather_ring(CollectiveCall call, int rank) {
  return ring_allgather(whole_group(call.rank_count, 0), rank, blocks_of_call(call));
}

std::optional<double> allgather_ring_s(const CollectiveCall& call, const StepCost& cost) {
  return ring_allgather_s(blocks_of_call(call), cost);
}

const bool kAllgatherRingRegistered = register_collective({.op = CollectiveOp::kAllGather,
                                                           .algorithm = "ring",
                                                           .summary = "blocks passed around a ring",
                                                           .source = "Patarasuk & Yuan 2009",
                                                           .plan = plan_allgather_ring,
                                                           .closed_form = allgather_ring_s});

}  // namespace
}  // namespace forescale
