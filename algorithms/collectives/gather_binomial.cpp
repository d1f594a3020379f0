// Binomial tree gather: whole subtrees of blocks travel up. Equal blocks, root 0, P = 2^K:
// T = sum over k = 1..K of x(b/2^k); in general the recurrence over the tree, exact. Where the
// blocks of a subtree wrap around the end of the vector (root > 0) they take two messages.
#include "algorithms/pieces/ring_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_gather_binomial(CollectiveCall call, int rank) {
  return binomial_gather(whole_group(call.rank_count, call.root),
                         member_of(rank, call.root, call.rank_count), owned_blocks(call));
}

std::optional<double> gather_binomial_s(const CollectiveCall& call, const StepCost& cost) {
  return binomial_gather_s(owned_blocks(call), cost);
}

const bool kGatherBinomialRegistered =
    register_collective({.op = CollectiveOp::kGather,
                         .algorithm = "binomial",
                         .summary = "binomial tree of blocks",
                         .source = "Thakur, Rabenseifner & Gropp 2005 section 4.2",
                         .plan = plan_gather_binomial,
                         .closed_form = gather_binomial_s});

}  // namespace
}  // namespace forescale
