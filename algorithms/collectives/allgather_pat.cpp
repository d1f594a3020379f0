// Allgather by parallel aggregated trees: the block of each rank goes along a binomial tree of its
// own, far hops first. Where a queue's step holds half of all blocks, log2 P messages of 1, 2, 4,
// ... P/2 blocks; where it holds fewer, trees are walked in turn and messages become more. P - 1
// blocks in all in any case. T = sum of x over a rank's messages, equal blocks.
#include <vector>

#include "algorithms/pieces/pat_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_allgather_pat(CollectiveCall call, int rank) {
  const int count = call.rank_count;
  if (count == 1) co_return;
  const PatCall pat(call, kPatGatherSteps);
  const PatShape& shape = pat.shape();
  std::vector<std::int32_t> received(static_cast<std::size_t>(count));  // the place where that came
  std::int32_t place = 0;
  for (std::int64_t chunk = 0; chunk < pat.chunks(); ++chunk)
    for (PatRow row; shape.next_outwards(row);)
      for (int i = 0; i < shape.messages(row); ++i) {
        const PatRow far = shape.message_outwards(row, i);
        const PatRow near = far.less(row.hop());
        for (int each = 0; each < near.count; ++each) {
          const ByteRange range = pat.chunk(rank + near.distance(each), chunk);
          if (range.bytes == 0) continue;
          Op op = send((rank - row.hop() + count) % count, range);
          if (near.distance(each) > 0)
            op.after = place - received[static_cast<std::size_t>(near.distance(each))];
          op.joins_next = pat.goes_on(near, each, rank, chunk);
          ++place;
          co_yield op;
        }
        for (int each = 0; each < far.count; ++each) {
          const ByteRange range = pat.chunk(rank + far.distance(each), chunk);
          if (range.bytes == 0) continue;
          Op op = recv((rank + row.hop()) % count, range);
          op.joins_next = pat.goes_on(far, each, rank, chunk);
          received[static_cast<std::size_t>(far.distance(each))] = place++;
          co_yield op;
        }
      }
}

// Ranks do the same at the same time, so that their messages add up.
std::optional<double> allgather_pat_s(const CollectiveCall& call, const StepCost& cost) {
  if (call.bytes == 0 || call.rank_count == 1) return 0;
  const PatCall pat(call, kPatGatherSteps);
  if (!pat.even()) return std::nullopt;
  double sum_s = 0;
  for (std::int64_t chunk = 0; chunk < pat.chunks(); ++chunk)
    for (PatRow row; pat.shape().next_outwards(row);)
      for (int i = 0; i < pat.shape().messages(row); ++i)
        if (const int blocks = pat.shape().message_outwards(row, i).count; blocks > 0)
          sum_s += cost.transfer_s(blocks * pat.chunk(0, chunk).bytes);
  return sum_s;
}

const bool kAllgatherPatRegistered =
    register_collective({.op = CollectiveOp::kAllGather,
                         .algorithm = "pat",
                         .summary = "parallel aggregated trees, far hops first",
                         .source = "Jeaugey, arXiv 2506.20252",
                         .options = {kChunkBytes},
                         .plan = plan_allgather_pat,
                         .closed_form = allgather_pat_s,
                         .joins = true});

}  // namespace
}  // namespace forescale
