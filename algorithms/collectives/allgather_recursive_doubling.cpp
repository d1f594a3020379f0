// Recursive doubling allgather: in round k, ranks 2^k apart exchange all that they have.
// Powers of two only. T = sum over k = 1..log2 P of x(b/2^k), equal blocks.
#include "algorithms/halving_pieces.hpp"

namespace forescale {
namespace {

std::string refuse(const CollectiveCall& call) {
  if (std::has_single_bit(static_cast<unsigned>(call.rank_count))) return "";
  return "needs a power of two of ranks";
}

Blocks blocks_of(const CollectiveCall& call) {
  return Blocks({.offset = 0, .bytes = call.bytes}, call.rank_count, call.element_bytes);
}

OpStream plan(CollectiveCall call, int rank) {
  return doubling_allgather(folded(whole_group(call.rank_count, 0)), rank, blocks_of(call));
}

std::optional<double> closed_form(const CollectiveCall& call, const StepCost& cost) {
  const Blocks blocks = blocks_of(call);
  if (call.bytes > 0 && !blocks.even()) return std::nullopt;
  return doubling_allgather_s(blocks, cost);
}

const bool kRegistered =
    register_collective({.op = CollectiveOp::kAllGather,
                         .algorithm = "recursive-doubling",
                         .summary = "exchanges at doubling distances",
                         .source = "Thakur, Rabenseifner & Gropp 2005 section 4.1",
                         .plan = plan,
                         .closed_form = closed_form,
                         .refuse = refuse});

}  // namespace
}  // namespace forescale
