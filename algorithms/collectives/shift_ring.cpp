// Every rank sends its vector to the next one and receives that of the one before: what nccl-tests
// calls sendrecv, IMB Sendrecv; a pipeline's stages do it with what they hand on. T = x(b).
#include "algorithms/pieces/call_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_shift_ring(CollectiveCall call, int rank) {
  if (call.bytes == 0) co_return;
  const ByteRange own = {.offset = 0, .bytes = call.bytes};
  const ByteRange behind = {.offset = call.bytes, .bytes = call.bytes};
  if (call.rank_count == 1) {
    co_yield copy(behind, own.offset);
    co_return;
  }
  co_yield send((rank + 1) % call.rank_count, own);
  co_yield recv((rank + call.rank_count - 1) % call.rank_count, behind);
}

std::optional<double> shift_ring_s(const CollectiveCall& call, const StepCost& cost) {
  if (call.bytes == 0 || call.rank_count == 1) return 0;
  return cost.transfer_s(call.bytes);
}

const bool kShiftRingRegistered =
    register_collective({.op = CollectiveOp::kShift,
                         .algorithm = "ring",
                         .summary = "send to the next rank, receive from the one before",
                         .source = "MPI 4.1 section 3.10 (MPI_Sendrecv); nccl-tests, sendrecv.cu",
                         .plan = plan_shift_ring,
                         .closed_form = shift_ring_s});

}  // namespace
}  // namespace forescale
