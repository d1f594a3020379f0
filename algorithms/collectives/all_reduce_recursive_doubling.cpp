// Recursive doubling all-reduce: in round k, ranks that differ in bit k exchange their whole
// vectors and add. P = 2^K + e: e ranks are folded into neighbours before and served after. T = K
// (x + r) + [e > 0](2x + r), x and r of b bytes. Where reductions overlap and e > 0, a folded rank
// receives its next vector while it still adds: no closed form.
#include <utility>

#include "algorithms/pieces/halving_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_all_reduce_recursive_doubling(CollectiveCall call, int rank) {
  const FoldedGroup group = folded(whole_group(call.rank_count, 0));
  const ByteRange whole = {.offset = 0, .bytes = call.bytes};
  OpStream core;
  if (group.in_core(rank)) core = doubling_all_reduce(group, group.core_of(rank), whole);
  return before_fold_out(group, rank, whole, after_fold_in(group, rank, whole, std::move(core)));
}

std::optional<double> all_reduce_recursive_doubling_s(const CollectiveCall& call,
                                                      const StepCost& cost) {
  const FoldedGroup group = folded(whole_group(call.rank_count, 0));
  if (call.bytes == 0) return 0;
  const double core_s = ceil_log2(group.core_count) * cost.step_s(call.bytes);
  if (group.surplus == 0) return core_s;
  if (cost.reduction_overlaps) return std::nullopt;
  return core_s + cost.step_s(call.bytes) + cost.transfer_s(call.bytes);
}

const bool kAllReduceRecursiveDoublingRegistered =
    register_collective({.op = CollectiveOp::kAllReduce,
                         .algorithm = "recursive-doubling",
                         .summary = "whole vectors exchanged at doubling distances",
                         .source = "Thakur, Rabenseifner & Gropp 2005 section 4.5",
                         .plan = plan_all_reduce_recursive_doubling,
                         .closed_form = all_reduce_recursive_doubling_s});

}  // namespace
}  // namespace forescale
