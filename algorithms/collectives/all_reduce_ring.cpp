// Ring all-reduce: P-1 rounds of reduce-scatter, then P-1 of allgather, one block of b/P a round.
// T = (P-1)(x + r) + (P-1) x of the largest block, overlapped or not; 2(P-1)(alpha + beta b/P) + r.
// Source: Patarasuk & Yuan 2009. Baidu's and NCCL's ring.
#include "algorithms/pieces/call_pieces.hpp"
#include "algorithms/pieces/ring_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_all_reduce_ring(CollectiveCall call, int rank) {
  return ring_all_reduce(whole_group(call.rank_count, 0), rank, blocks_of_call(call));
}

std::optional<double> all_reduce_ring_s(const CollectiveCall& call, const StepCost& cost) {
  return ring_reduce_scatter_s(blocks_of_call(call), cost) +
         ring_allgather_s(blocks_of_call(call), cost);
}

const bool kAllReduceRingRegistered =
    register_collective({.op = CollectiveOp::kAllReduce,
                         .algorithm = "ring",
                         .summary = "reduce-scatter and allgather around a ring",
                         .source = "Patarasuk & Yuan 2009",
                         .plan = plan_all_reduce_ring,
                         .closed_form = all_reduce_ring_s});

}  // namespace
}  // namespace forescale
