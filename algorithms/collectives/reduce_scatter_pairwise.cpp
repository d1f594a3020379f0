// Pairwise reduce-scatter: in round s, rank r sends block r+s to its owner and receives its own
// block from rank r-s. Nothing is passed on, so rounds do not depend on each other.
// T = (P-1)(x + r); overlapped (x + r) + (P-2) max(x, r), for equal blocks of b/P.
#include "algorithms/pieces/call_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_reduce_scatter_pairwise(CollectiveCall call, int rank) {
  const Blocks blocks = blocks_of_call(call);
  const ByteRange own = blocks.at(rank);
  int to = rank;
  int from = rank;
  for (int round = 1; round < call.rank_count; ++round) {
    to = to + 1 == call.rank_count ? 0 : to + 1;
    from = from == 0 ? call.rank_count - 1 : from - 1;
    const ByteRange theirs = blocks.at(to);
    if (theirs.bytes > 0) co_yield send(to, theirs);
    if (own.bytes > 0) co_yield recv_reduce(from, own);
  }
}

std::optional<double> reduce_scatter_pairwise_s(const CollectiveCall& call, const StepCost& cost) {
  const Blocks blocks = blocks_of_call(call);
  if (call.bytes == 0 || call.rank_count == 1) return 0;
  if (!blocks.even()) return std::nullopt;
  const double x_s = cost.transfer_s(blocks.largest_bytes());
  const double r_s = cost.reduce_s(blocks.largest_bytes());
  return x_s + r_s +
         (call.rank_count - 2) * (cost.reduction_overlaps ? std::max(x_s, r_s) : x_s + r_s);
}

const bool kReduceScatterPairwiseRegistered =
    register_collective({.op = CollectiveOp::kReduceScatter,
                         .algorithm = "pairwise",
                         .summary = "each block straight to its owner",
                         .source = "Thakur, Rabenseifner & Gropp 2005 section 4.3",
                         .plan = plan_reduce_scatter_pairwise,
                         .closed_form = reduce_scatter_pairwise_s});

}  // namespace
}  // namespace forescale
