// Flat scatter: the root sends every rank its block. T = sum of x(block) over the other ranks.
#include "algorithms/pieces/call_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_scatter_flat(CollectiveCall call, int rank) {
  const Blocks blocks = blocks_of_call(call);
  if (rank != call.root && blocks.at(rank).bytes > 0) co_yield recv(call.root, blocks.at(rank));
  for (int peer = 0; rank == call.root && peer < call.rank_count; ++peer)
    if (peer != call.root && blocks.at(peer).bytes > 0) co_yield send(peer, blocks.at(peer));
}

std::optional<double> scatter_flat_s(const CollectiveCall& call, const StepCost& cost) {
  const Blocks blocks = blocks_of_call(call);
  double total_s = 0;
  for (int rank = 0; rank < call.rank_count; ++rank)
    if (rank != call.root && blocks.at(rank).bytes > 0)
      total_s += cost.transfer_s(blocks.at(rank).bytes);
  return total_s;
}

const bool kScatterFlatRegistered =
    register_collective({.op = CollectiveOp::kScatter,
                         .algorithm = "flat",
                         .summary = "the root sends to every rank",
                         .source = "Thakur, Rabenseifner & Gropp 2005 (linear)",
                         .plan = plan_scatter_flat,
                         .closed_form = scatter_flat_s});

}  // namespace
}  // namespace forescale
