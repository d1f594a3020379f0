// Flat broadcast: the root sends to every rank, one after the other. T = (P-1) x.
// Source: linear algorithm, Thakur, Rabenseifner & Gropp 2005.
#include "algorithms/pieces/call_pieces.hpp"
#include "algorithms/pieces/tree_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_broadcast_flat(CollectiveCall call, int rank) {
  return tree_broadcast(TreeKind::kFlat, whole_group(call.rank_count, call.root),
                        member_of(rank, call.root, call.rank_count), chunks_of_call(call));
}

std::optional<double> broadcast_flat_s(const CollectiveCall& call, const StepCost& cost) {
  return tree_broadcast_s(TreeKind::kFlat, call.rank_count, chunks_of_call(call), cost);
}

const bool kBroadcastFlatRegistered =
    register_collective({.op = CollectiveOp::kBroadcast,
                         .algorithm = "flat",
                         .summary = "the root sends to every rank",
                         .source = "Thakur, Rabenseifner & Gropp 2005 (linear)",
                         .plan = plan_broadcast_flat,
                         .closed_form = broadcast_flat_s});

}  // namespace
}  // namespace forescale
