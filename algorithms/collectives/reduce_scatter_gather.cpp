// Rabenseifner's reduce: recursive halving leaves each rank the sum of one block, a binomial tree
// gathers the blocks at the root. P = 2^K + e ranks: e are folded into neighbours first.
// T = [e > 0](x(b) + r(b)) + sum over k = 1..K of (x + r)(b/2^k) + x(b/2^k), for equal blocks;
// no closed form for unequal ones. x transfer, r reduction.
#include <utility>

#include "algorithms/pieces/halving_pieces.hpp"
#include "algorithms/pieces/ring_pieces.hpp"

namespace forescale {
namespace {

// The core gathers among itself; member 0 of it is the root.
OpStream core_plan(const CollectiveCall& call, const FoldedGroup& group, int core) {
  const Blocks blocks = core_blocks(call, group);
  OpStream halving = halving_reduce_scatter(group, core, blocks);
  const Group core_group = {.rank_count = group.core_count,
                            .root = 0,
                            .first = 0,
                            .stride = 1,
                            .count = group.core_count};
  OpStream gather = binomial_gather(core_group, core, {.blocks = blocks, .rotation = 0});
  const auto rank_of = [group](int core_member) { return group.rank_of(core_member); };
  return in_sequence(std::move(halving), mapped(std::move(gather), rank_of, 0));
}

OpStream plan_reduce_scatter_gather(CollectiveCall call, int rank) {
  const FoldedGroup group = folded(whole_group(call.rank_count, call.root));
  const int member = member_of(rank, call.root, call.rank_count);
  OpStream core;
  if (group.in_core(member)) core = core_plan(call, group, group.core_of(member));
  return after_fold_in(group, member, {.offset = 0, .bytes = call.bytes}, std::move(core));
}

std::optional<double> reduce_scatter_gather_s(const CollectiveCall& call, const StepCost& cost) {
  const FoldedGroup group = folded(whole_group(call.rank_count, call.root));
  const Blocks blocks = core_blocks(call, group);
  if (call.bytes == 0) return 0;
  if (!blocks.even()) return std::nullopt;
  const double fold_s = group.surplus > 0 ? cost.step_s(call.bytes) : 0;
  return fold_s + halving_reduce_scatter_s(blocks, cost) + doubling_allgather_s(blocks, cost);
}

const bool kReduceScatterGatherRegistered = register_collective(
    {.op = CollectiveOp::kReduce,
     .algorithm = "scatter-gather",
     .summary = "recursive halving, then a binomial gather",
     .source = "Rabenseifner 2004; Thakur, Rabenseifner & Gropp 2005 section 4.4",
     .plan = plan_reduce_scatter_gather,
     .closed_form = reduce_scatter_gather_s});

}  // namespace
}  // namespace forescale
