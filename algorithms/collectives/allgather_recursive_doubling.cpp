// Recursive doubling allgather: in round k, ranks 2^k apart exchange all that they have.
// Powers of two only. T = sum over k = 1..log2 P of x(b/2^k), equal blocks.
#include "algorithms/pieces/call_pieces.hpp"
#include "algorithms/pieces/halving_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_allgather_recursive_doubling(CollectiveCall call, int rank) {
  return doubling_allgather(folded(whole_group(call.rank_count, 0)), rank, blocks_of_call(call));
}

std::optional<double> allgather_recursive_doubling_s(const CollectiveCall& call,
                                                     const StepCost& cost) {
  const Blocks blocks = blocks_of_call(call);
  if (call.bytes > 0 && !blocks.even()) return std::nullopt;
  return doubling_allgather_s(blocks, cost);
}

const bool kAllgatherRecursiveDoublingRegistered =
    register_collective({.op = CollectiveOp::kAllGather,
                         .algorithm = "recursive-doubling",
                         .summary = "exchanges at doubling distances",
                         .source = "Thakur, Rabenseifner & Gropp 2005 section 4.1",
                         .plan = plan_allgather_recursive_doubling,
                         .closed_form = allgather_recursive_doubling_s,
                         .refuse = refuse_unless_power_of_two});

}  // namespace
}  // namespace forescale
