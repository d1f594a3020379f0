// Flat reduce: every rank sends its vector to the root, which adds them one after the other.
// T = (P-1)(x + r); overlapped (x + r) + (P-2) max(x, r). x transfer, r reduction of b bytes.
// Source: linear algorithm of Thakur, Rabenseifner & Gropp 2005. For few ranks or tiny vectors.
#include "algorithms/pieces/call_pieces.hpp"
#include "algorithms/pieces/tree_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_reduce_flat(CollectiveCall call, int rank) {
  return tree_reduce(TreeKind::kFlat, whole_group(call.rank_count, call.root),
                     member_of(rank, call.root, call.rank_count), chunks_of_call(call));
}

std::optional<double> reduce_flat_s(const CollectiveCall& call, const StepCost& cost) {
  return tree_reduce_s(TreeKind::kFlat, call.rank_count, chunks_of_call(call), cost);
}

const bool kReduceFlatRegistered =
    register_collective({.op = CollectiveOp::kReduce,
                         .algorithm = "flat",
                         .summary = "every rank sends to the root",
                         .source = "Thakur, Rabenseifner & Gropp 2005 (linear)",
                         .plan = plan_reduce_flat,
                         .closed_form = reduce_flat_s});

}  // namespace
}  // namespace forescale
