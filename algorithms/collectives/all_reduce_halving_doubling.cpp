// Rabenseifner's all-reduce: reduce-scatter by recursive vector halving, allgather by doubling.
// P = 2^K + e: e ranks are folded into neighbours before and served after.
// T = sum over k = 1..K of 2 x(b/2^k) + r(b/2^k) + [e > 0](2 x(b) + r(b)), for equal blocks; no
// closed form for unequal ones. Horovod-MPI-Opt's algorithm.
#include <utility>

#include "algorithms/pieces/halving_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_all_reduce_halving_doubling(CollectiveCall call, int rank) {
  const FoldedGroup group = folded(whole_group(call.rank_count, 0));
  const ByteRange whole = {.offset = 0, .bytes = call.bytes};
  const Blocks blocks = core_blocks(call, group);
  OpStream core;
  if (group.in_core(rank))
    core = in_sequence(halving_reduce_scatter(group, group.core_of(rank), blocks),
                       doubling_allgather(group, group.core_of(rank), blocks));
  return before_fold_out(group, rank, whole, after_fold_in(group, rank, whole, std::move(core)));
}

std::optional<double> all_reduce_halving_doubling_s(const CollectiveCall& call,
                                                    const StepCost& cost) {
  const FoldedGroup group = folded(whole_group(call.rank_count, 0));
  const Blocks blocks = core_blocks(call, group);
  if (call.bytes == 0) return 0;
  if (!blocks.even()) return std::nullopt;
  const double fold_s =
      group.surplus > 0 ? cost.step_s(call.bytes) + cost.transfer_s(call.bytes) : 0;
  return fold_s + halving_reduce_scatter_s(blocks, cost) + doubling_allgather_s(blocks, cost);
}

const bool kAllReduceHalvingDoublingRegistered =
    register_collective({.op = CollectiveOp::kAllReduce,
                         .algorithm = "halving-doubling",
                         .summary = "recursive vector halving, then doubling",
                         .source = "Thakur, Rabenseifner & Gropp 2005 section 4.5 (Rabenseifner)",
                         .plan = plan_all_reduce_halving_doubling,
                         .closed_form = all_reduce_halving_doubling_s});

}  // namespace
}  // namespace forescale
