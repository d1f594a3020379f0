// Bruck allgather: in round k, rank r sends all the blocks that it has, r, r+1, ..., to rank r -
// 2^k and receives as many from r + 2^k: ceil(log2 P) rounds for any P. Bruck et al. 1997. Blocks
// stand at their final place, so a run that wraps around the end takes two messages, where the
// original rotates the vector once in the end. For P > 2 no closed form: some ranks wrap, and the
// others wait for them.
#include "algorithms/pieces/call_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_allgather_bruck(CollectiveCall call, int rank) {
  const Blocks blocks = blocks_of_call(call);
  const int count = call.rank_count;
  int after = 0;
  for (int have = 1; have < count; have *= 2) {
    const int moved = std::min(have, count - have);
    const int to = (rank - have + count) % count;
    const int from = (rank + have) % count;
    for (const ByteRange& part : blocks.cyclic_span(rank, moved))
      if (part.bytes > 0) co_yield send(to, part, after);
    bool received = false;
    for (const ByteRange& part : blocks.cyclic_span(rank + have, moved)) {
      if (part.bytes == 0) continue;
      co_yield recv(from, part);
      received = true;
    }
    if (received) after = 1;
  }
}

std::optional<double> allgather_bruck_s(const CollectiveCall& call, const StepCost& cost) {
  if (call.bytes == 0 || call.rank_count == 1) return 0;
  if (call.rank_count > 2) return std::nullopt;
  return cost.transfer_s(blocks_of_call(call).largest_bytes());
}

const bool kAllgatherBruckRegistered =
    register_collective({.op = CollectiveOp::kAllGather,
                         .algorithm = "bruck",
                         .summary = "doubling runs of blocks, any number of ranks",
                         .source = "Bruck et al. 1997",
                         .plan = plan_allgather_bruck,
                         .closed_form = allgather_bruck_s});

}  // namespace
}  // namespace forescale
