// Rabenseifner's reduce in MPICH's order: recursive halving from near to far, then the blocks go
// back to the root from far to near. scatter-gather is the same from far to near and back. P = 2^K
// + e ranks and the same time as there, where all pairs are alike: T = [e > 0](x(b) + r(b)) + sum
// over k = 1..K of (x + r)(b/2^k) + x(b/2^k), for equal blocks; no closed form for unequal ones.
#include <algorithm>
#include <utility>

#include "algorithms/pieces/near_halving_pieces.hpp"

namespace forescale {
namespace {

// A core member takes part until it has handed its share on; member 0 is the root.
OpStream gather(FoldedGroup group, int core, Blocks blocks) {
  Share share = near_share(group, core);
  int after = 0;
  for (int distance = group.core_count / 2; distance > 0; distance /= 2) {
    const int partner = group.rank_of(core ^ distance);
    if ((core & distance) != 0) {
      if (share.range(blocks).bytes > 0) co_yield send(partner, share.range(blocks), after);
      co_return;
    }
    const Share other = {.first = share.first + share.length, .length = share.length};
    share = {.first = share.first, .length = 2 * share.length};
    if (other.range(blocks).bytes == 0) continue;
    co_yield recv(partner, other.range(blocks));
    after = 1;
  }
}

OpStream plan_reduce_near_scatter_gather(CollectiveCall call, int rank) {
  const FoldedGroup group = folded(whole_group(call.rank_count, call.root));
  const int member = member_of(rank, call.root, call.rank_count);
  const Blocks blocks = core_blocks(call, group);
  OpStream core;
  if (group.in_core(member))
    core = in_sequence(near_reduce_scatter(group, group.core_of(member), blocks),
                       gather(group, group.core_of(member), blocks));
  return after_fold_in(group, member, {.offset = 0, .bytes = call.bytes}, std::move(core));
}

std::optional<double> reduce_near_scatter_gather_s(const CollectiveCall& call,
                                                   const StepCost& cost) {
  const FoldedGroup group = folded(whole_group(call.rank_count, call.root));
  const Blocks blocks = core_blocks(call, group);
  if (call.bytes == 0) return 0;
  if (!blocks.even()) return std::nullopt;
  const double fold_s = group.surplus > 0 ? cost.step_s(call.bytes) : 0;
  return fold_s + halving_reduce_scatter_s(blocks, cost) + doubling_allgather_s(blocks, cost);
}

const bool kReduceNearScatterGatherRegistered = register_collective(
    {.op = CollectiveOp::kReduce,
     .algorithm = "near-scatter-gather",
     .summary = "recursive halving from near to far, then a gather back",
     .source = "MPICH, src/mpi/coll/reduce (reduce-scatter, then gather): mask 1 first",
     .plan = plan_reduce_near_scatter_gather,
     .closed_form = reduce_near_scatter_gather_s});

}  // namespace
}  // namespace forescale
