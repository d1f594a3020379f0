// Rabenseifner's all-reduce in MPICH's order: the first exchange, of half the vector, is with the
// nearest rank, the last one with the farthest. With consecutive ranks on a node most of the bytes
// stay inside it. halving-doubling is the same from far to near.
// P = 2^K + e as there, and the same time where all pairs are alike:
// T = sum over k = 1..K of 2 x(b/2^k) + r(b/2^k) + [e > 0](2 x(b) + r(b)), for equal blocks; no
// closed form for unequal ones.
#include <utility>

#include "algorithms/pieces/near_halving_pieces.hpp"

namespace forescale {
namespace {

OpStream allgather(FoldedGroup group, int core, Blocks blocks) {
  Share share = near_share(group, core);
  int after = 0;
  for (int distance = group.core_count / 2; distance > 0; distance /= 2) {
    const int partner = group.rank_of(core ^ distance);
    const bool upper = (core & distance) != 0;
    const Share other = {.first = share.first + (upper ? -share.length : share.length),
                         .length = share.length};
    if (share.range(blocks).bytes > 0) co_yield send(partner, share.range(blocks), after);
    const ByteRange incoming = other.range(blocks);
    share = {.first = std::min(share.first, other.first), .length = 2 * share.length};
    if (incoming.bytes == 0) continue;
    co_yield recv(partner, incoming);
    after = 1;
  }
}

OpStream plan_all_reduce_near_halving_doubling(CollectiveCall call, int rank) {
  const FoldedGroup group = folded(whole_group(call.rank_count, 0));
  const ByteRange whole = {.offset = 0, .bytes = call.bytes};
  const Blocks blocks = core_blocks(call, group);
  OpStream core;
  if (group.in_core(rank))
    core = in_sequence(near_reduce_scatter(group, group.core_of(rank), blocks),
                       allgather(group, group.core_of(rank), blocks));
  return before_fold_out(group, rank, whole, after_fold_in(group, rank, whole, std::move(core)));
}

std::optional<double> all_reduce_near_halving_doubling_s(const CollectiveCall& call,
                                                         const StepCost& cost) {
  const FoldedGroup group = folded(whole_group(call.rank_count, 0));
  const Blocks blocks = core_blocks(call, group);
  if (call.bytes == 0) return 0;
  if (!blocks.even()) return std::nullopt;
  const double fold_s =
      group.surplus > 0 ? cost.step_s(call.bytes) + cost.transfer_s(call.bytes) : 0;
  return fold_s + halving_reduce_scatter_s(blocks, cost) + doubling_allgather_s(blocks, cost);
}

const bool kAllReduceNearHalvingDoublingRegistered = register_collective(
    {.op = CollectiveOp::kAllReduce,
     .algorithm = "near-halving-doubling",
     .summary = "recursive vector halving from near to far, then doubling back",
     .source = "MPICH, src/mpi/coll/allreduce (reduce-scatter, then allgather): mask 1 first",
     .plan = plan_all_reduce_near_halving_doubling,
     .closed_form = all_reduce_near_halving_doubling_s});

}  // namespace
}  // namespace forescale
