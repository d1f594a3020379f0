// Linear all-to-all: every rank serves the others in the order of their numbers, so that all begin
// with rank 0 and queue. Messages form a wavefront over (sender, receiver), one step a diagonal:
// T = (2P-3) x(b/P) for equal blocks; the copy of the own block is not counted.
#include "algorithms/pieces/call_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_all_to_all_linear(CollectiveCall call, int rank) {
  const Blocks blocks = blocks_of_call(call);
  const std::int64_t slot_bytes = blocks.at(rank).bytes;
  const auto slot = [=](int sender) -> ByteRange {
    return {.offset = call.bytes + sender * slot_bytes, .bytes = slot_bytes};
  };
  if (slot_bytes > 0) co_yield copy(slot(rank), blocks.at(rank).offset);
  for (int peer = 0; peer < call.rank_count; ++peer) {
    if (peer == rank) continue;
    if (blocks.at(peer).bytes > 0) co_yield send(peer, blocks.at(peer));
    if (slot_bytes > 0) co_yield recv(peer, slot(peer));
  }
}

std::optional<double> all_to_all_linear_s(const CollectiveCall& call, const StepCost& cost) {
  const Blocks blocks = blocks_of_call(call);
  if (call.bytes == 0 || call.rank_count == 1) return 0;
  if (!blocks.even()) return std::nullopt;
  return (2 * call.rank_count - 3) * cost.transfer_s(blocks.largest_bytes());
}

const bool kAllToAllLinearRegistered =
    register_collective({.op = CollectiveOp::kAllToAll,
                         .algorithm = "linear",
                         .summary = "every rank serves the others in rank order",
                         .source = "Thakur, Rabenseifner & Gropp 2005 (linear, in rank order)",
                         .plan = plan_all_to_all_linear,
                         .closed_form = all_to_all_linear_s});

}  // namespace
}  // namespace forescale
