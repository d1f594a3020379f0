// Van de Geijn's broadcast: the root scatters blocks down a binomial tree, then a ring allgather
// completes the vector everywhere.
// T = sum over the root's sends of x(bytes of the subtree) + (P-1) x(b/P); for P a power of two and
// equal blocks, (log2 P + P - 1) alpha + 2 (P-1)/P b beta. Exact for any P: the root is among the
// last to finish the scatter and its block among the largest.
#include "algorithms/pieces/call_pieces.hpp"
#include "algorithms/pieces/ring_pieces.hpp"

namespace forescale {
namespace {

// Block m belongs to member m, counted from the root: subtrees stay contiguous.
OpStream plan_broadcast_scatter_allgather(CollectiveCall call, int rank) {
  const Group group = whole_group(call.rank_count, call.root);
  const int member = member_of(rank, call.root, call.rank_count);
  const Blocks blocks = blocks_of_call(call);
  return in_sequence(binomial_scatter(group, member, {.blocks = blocks, .rotation = 0}),
                     ring_allgather(group, member, blocks));
}

std::optional<double> broadcast_scatter_allgather_s(const CollectiveCall& call,
                                                    const StepCost& cost) {
  const Blocks blocks = blocks_of_call(call);
  return binomial_scatter_s({.blocks = blocks, .rotation = 0}, cost) +
         ring_allgather_s(blocks, cost);
}

const bool kBroadcastScatterAllgatherRegistered = register_collective(
    {.op = CollectiveOp::kBroadcast,
     .algorithm = "scatter-allgather",
     .summary = "binomial scatter, then a ring allgather",
     .source = "van de Geijn 1994; Thakur, Rabenseifner & Gropp 2005 section 4.2",
     .plan = plan_broadcast_scatter_allgather,
     .closed_form = broadcast_scatter_allgather_s});

}  // namespace
}  // namespace forescale
