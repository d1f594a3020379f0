// Pairwise all-to-all: in round s, rank r sends to r+s and receives from r-s. T = (P-1) x(b/P) for
// equal blocks; the copy of the own block is not counted. No closed form for unequal blocks.
#include "algorithms/pieces/call_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_all_to_all_pairwise(CollectiveCall call, int rank) {
  const Blocks blocks = blocks_of_call(call);
  const std::int64_t slot_bytes = blocks.at(rank).bytes;
  const auto slot = [=](int sender) -> ByteRange {
    return {.offset = call.bytes + sender * slot_bytes, .bytes = slot_bytes};
  };
  if (slot_bytes > 0) co_yield copy(slot(rank), blocks.at(rank).offset);
  int to = rank;
  int from = rank;
  for (int round = 1; round < call.rank_count; ++round) {
    to = to + 1 == call.rank_count ? 0 : to + 1;
    from = from == 0 ? call.rank_count - 1 : from - 1;
    if (blocks.at(to).bytes > 0) co_yield send(to, blocks.at(to));
    if (slot_bytes > 0) co_yield recv(from, slot(from));
  }
}

std::optional<double> all_to_all_pairwise_s(const CollectiveCall& call, const StepCost& cost) {
  const Blocks blocks = blocks_of_call(call);
  if (call.bytes == 0 || call.rank_count == 1) return 0;
  if (!blocks.even()) return std::nullopt;
  return (call.rank_count - 1) * cost.transfer_s(blocks.largest_bytes());
}

const bool kAllToAllPairwiseRegistered =
    register_collective({.op = CollectiveOp::kAllToAll,
                         .algorithm = "pairwise",
                         .summary = "round s: send to r+s, receive from r-s",
                         .source = "Thakur, Rabenseifner & Gropp 2005 section 4.6",
                         .plan = plan_all_to_all_pairwise,
                         .closed_form = all_to_all_pairwise_s});

}  // namespace
}  // namespace forescale
