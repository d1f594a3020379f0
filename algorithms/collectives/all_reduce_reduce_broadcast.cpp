// Reduce to rank 0, then broadcast from it. Without chunks both are binomial trees:
// T = ceil(log2 P)(2x + r); with the option chunk_bytes both are chunked chains, one after the
// other: T = (n+P-2)(2x + r), not overlapped. The chunks of the two halves are not overlapped with
// each other: that is what a library does that calls the two collectives.
#include "algorithms/pieces/call_pieces.hpp"
#include "algorithms/pieces/tree_pieces.hpp"

namespace forescale {
namespace {

TreeKind kind_of(const CollectiveCall& call) {
  return call.options.number(kChunkBytes) > 0 ? TreeKind::kChain : TreeKind::kBinomial;
}

OpStream plan_all_reduce_reduce_broadcast(CollectiveCall call, int rank) {
  const Group group = whole_group(call.rank_count, 0);
  const Chunks chunks = chunks_of_call(call);
  return in_sequence(tree_reduce(kind_of(call), group, rank, chunks),
                     tree_broadcast(kind_of(call), group, rank, chunks));
}

std::optional<double> all_reduce_reduce_broadcast_s(const CollectiveCall& call,
                                                    const StepCost& cost) {
  const Chunks chunks = chunks_of_call(call);
  return tree_reduce_s(kind_of(call), call.rank_count, chunks, cost) +
         tree_broadcast_s(kind_of(call), call.rank_count, chunks, cost);
}

const bool kAllReduceReduceBroadcastRegistered =
    register_collective({.op = CollectiveOp::kAllReduce,
                         .algorithm = "reduce-broadcast",
                         .summary = "reduce to rank 0, broadcast from it",
                         .source = "Thakur, Rabenseifner & Gropp 2005; S-Caffe equations 1 and 2",
                         .options = {kChunkBytes},
                         .plan = plan_all_reduce_reduce_broadcast,
                         .closed_form = all_reduce_reduce_broadcast_s});

}  // namespace
}  // namespace forescale
