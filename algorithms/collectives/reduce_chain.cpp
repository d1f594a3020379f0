// Chunked chain reduce: the last rank, counted from the root, sends chunk after chunk to its
// neighbour, which adds each and passes it on, until it reaches the root.
// T = (n+P-2)(x + r) for n chunks: S-Caffe equation 2. Where a reduction overlaps with the next
// transfer, (P-1)(x + r) + (n-1) max(x, r). A smaller last chunk is accounted for in both.
#include "algorithms/pieces/call_pieces.hpp"
#include "algorithms/pieces/tree_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_reduce_chain(CollectiveCall call, int rank) {
  return tree_reduce(TreeKind::kChain, whole_group(call.rank_count, call.root),
                     member_of(rank, call.root, call.rank_count), chunks_of_call(call));
}

std::optional<double> reduce_chain_s(const CollectiveCall& call, const StepCost& cost) {
  return tree_reduce_s(TreeKind::kChain, call.rank_count, chunks_of_call(call), cost);
}

const bool kReduceChainRegistered =
    register_collective({.op = CollectiveOp::kReduce,
                         .algorithm = "chain",
                         .summary = "pipelined chain of chunks, last rank to root",
                         .source = "S-Caffe (PPoPP 2017) section 5, equation 2",
                         .options = {kChunkBytes},
                         .plan = plan_reduce_chain,
                         .closed_form = reduce_chain_s});

}  // namespace
}  // namespace forescale
