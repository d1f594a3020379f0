// Chunked chain broadcast: the root sends chunk after chunk to the next rank, which passes each on
// while it receives the next one. T = (n+P-2) x for n equal chunks.
#include "algorithms/pieces/call_pieces.hpp"
#include "algorithms/pieces/tree_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_broadcast_chain(CollectiveCall call, int rank) {
  return tree_broadcast(TreeKind::kChain, whole_group(call.rank_count, call.root),
                        member_of(rank, call.root, call.rank_count), chunks_of_call(call));
}

std::optional<double> broadcast_chain_s(const CollectiveCall& call, const StepCost& cost) {
  return tree_broadcast_s(TreeKind::kChain, call.rank_count, chunks_of_call(call), cost);
}

const bool kBroadcastChainRegistered =
    register_collective({.op = CollectiveOp::kBroadcast,
                         .algorithm = "chain",
                         .summary = "pipelined chain of chunks, root to last rank",
                         .source = "S-Caffe (PPoPP 2017) section 5, equation 2, reversed",
                         .options = {kChunkBytes},
                         .plan = plan_broadcast_chain,
                         .closed_form = broadcast_chain_s});

}  // namespace
}  // namespace forescale
