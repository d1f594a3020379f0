// Flat gather: every rank sends its block to the root. T = sum of x(block) over the other ranks.
#include "algorithms/pieces/call_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_gather_flat(CollectiveCall call, int rank) {
  const Blocks blocks = blocks_of_call(call);
  if (rank != call.root && blocks.at(rank).bytes > 0) co_yield send(call.root, blocks.at(rank));
  for (int peer = 0; rank == call.root && peer < call.rank_count; ++peer)
    if (peer != call.root && blocks.at(peer).bytes > 0) co_yield recv(peer, blocks.at(peer));
}

std::optional<double> gather_flat_s(const CollectiveCall& call, const StepCost& cost) {
  const Blocks blocks = blocks_of_call(call);
  double total_s = 0;
  for (int rank = 0; rank < call.rank_count; ++rank)
    if (rank != call.root && blocks.at(rank).bytes > 0)
      total_s += cost.transfer_s(blocks.at(rank).bytes);
  return total_s;
}

const bool kGatherFlatRegistered =
    register_collective({.op = CollectiveOp::kGather,
                         .algorithm = "flat",
                         .summary = "every rank sends to the root",
                         .source = "Thakur, Rabenseifner & Gropp 2005 (linear)",
                         .plan = plan_gather_flat,
                         .closed_form = gather_flat_s});

}  // namespace
}  // namespace forescale
