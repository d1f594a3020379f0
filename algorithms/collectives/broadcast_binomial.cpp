// Binomial tree broadcast: the root sends to the rank half-way around first; every rank that has
// the vector serves its own half. T = ceil(log2 P) x, x the transfer of b bytes. No chunks.
#include "algorithms/pieces/call_pieces.hpp"
#include "algorithms/pieces/tree_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_broadcast_binomial(CollectiveCall call, int rank) {
  return tree_broadcast(TreeKind::kBinomial, whole_group(call.rank_count, call.root),
                        member_of(rank, call.root, call.rank_count), chunks_of_call(call));
}

std::optional<double> broadcast_binomial_s(const CollectiveCall& call, const StepCost& cost) {
  return tree_broadcast_s(TreeKind::kBinomial, call.rank_count, chunks_of_call(call), cost);
}

const bool kBroadcastBinomialRegistered =
    register_collective({.op = CollectiveOp::kBroadcast,
                         .algorithm = "binomial",
                         .summary = "binomial tree, whole vectors",
                         .source = "Thakur, Rabenseifner & Gropp 2005 section 4.2",
                         .plan = plan_broadcast_binomial,
                         .closed_form = broadcast_binomial_s});

}  // namespace
}  // namespace forescale
