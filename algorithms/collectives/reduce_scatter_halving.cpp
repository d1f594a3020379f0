// Recursive halving reduce-scatter: in round k, ranks P/2^k apart exchange halves of what they have
// left and add. Powers of two only. T = sum over k = 1..log2 P of (x + r)(b/2^k), equal blocks.
#include "algorithms/pieces/call_pieces.hpp"
#include "algorithms/pieces/halving_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_reduce_scatter_halving(CollectiveCall call, int rank) {
  return halving_reduce_scatter(folded(whole_group(call.rank_count, 0)), rank,
                                blocks_of_call(call));
}

std::optional<double> reduce_scatter_halving_s(const CollectiveCall& call, const StepCost& cost) {
  const Blocks blocks = blocks_of_call(call);
  if (call.bytes > 0 && !blocks.even()) return std::nullopt;
  return halving_reduce_scatter_s(blocks, cost);
}

const bool kReduceScatterHalvingRegistered =
    register_collective({.op = CollectiveOp::kReduceScatter,
                         .algorithm = "halving",
                         .summary = "recursive halving",
                         .source = "Thakur, Rabenseifner & Gropp 2005 section 4.3",
                         .plan = plan_reduce_scatter_halving,
                         .closed_form = reduce_scatter_halving_s,
                         .refuse = refuse_unless_power_of_two});

}  // namespace
}  // namespace forescale
