// Reduce-scatter by parallel aggregated trees: what all ranks have for one comes together along a
// binomial tree of its own, near hops first: allgather/pat the other way round. T: a recurrence
// over a rank's messages, equal blocks; the sum of x + r where additions do not overlap.
#include <algorithm>
#include <vector>

#include "algorithms/pieces/pat_pieces.hpp"

namespace forescale {
namespace {

OpStream plan_reduce_scatter_pat(CollectiveCall call, int rank) {
  const int count = call.rank_count;
  if (count == 1) co_return;
  constexpr std::int32_t kNothing = -1;
  const PatCall pat(call, kPatScatterSteps);
  const PatShape& shape = pat.shape();
  std::vector<std::int32_t> added(static_cast<std::size_t>(count));  // the place where the last was
  std::int32_t place = 0;
  for (std::int64_t chunk = 0; chunk < pat.chunks(); ++chunk) {
    std::fill(added.begin(), added.end(), kNothing);
    for (PatRow row; shape.next_inwards(row);)
      for (int i = 0; i < shape.messages(row); ++i) {
        const PatRow far = shape.message_inwards(row, i);
        const PatRow near = far.less(row.hop());
        for (int each = 0; each < far.count; ++each) {
          const ByteRange range = pat.chunk(rank + far.distance(each), chunk);
          if (range.bytes == 0) continue;
          Op op = send((rank + row.hop()) % count, range);
          const std::int32_t last = added[static_cast<std::size_t>(far.distance(each))];
          if (last != kNothing) op.after = place - last;
          op.joins_next = pat.goes_on(far, each, rank, chunk);
          ++place;
          co_yield op;
        }
        for (int each = 0; each < near.count; ++each) {
          const ByteRange range = pat.chunk(rank + near.distance(each), chunk);
          if (range.bytes == 0) continue;
          Op op = recv_reduce((rank - row.hop() + count) % count, range);
          op.joins_next = pat.goes_on(near, each, rank, chunk);
          added[static_cast<std::size_t>(near.distance(each))] = place++;
          co_yield op;
        }
      }
  }
}

// Ranks do the same at the same time. Additions run one after the other, where they do not overlap
// before the next message; what is sent on waits for those of its distances.
std::optional<double> reduce_scatter_pat_s(const CollectiveCall& call, const StepCost& cost) {
  if (call.bytes == 0 || call.rank_count == 1) return 0;
  const PatCall pat(call, kPatScatterSteps);
  if (!pat.even()) return std::nullopt;
  std::vector<double> added_s = {0};  // when the first so many messages were
  double port_s = 0;
  for (std::int64_t chunk = 0; chunk < pat.chunks(); ++chunk) {
    std::vector<std::size_t> last(
        static_cast<std::size_t>(call.rank_count));  // message of a distance
    for (PatRow row; pat.shape().next_inwards(row);)
      for (int i = 0; i < pat.shape().messages(row); ++i) {
        const PatRow far = pat.shape().message_inwards(row, i);
        if (far.count == 0) continue;
        std::size_t awaited = 0;
        for (int each = 0; each < far.count; ++each) {
          awaited = std::max(awaited, last[static_cast<std::size_t>(far.distance(each))]);
          last[static_cast<std::size_t>(far.distance(each) - row.hop())] = added_s.size();
        }
        const std::int64_t bytes = far.count * pat.chunk(0, chunk).bytes;
        port_s = std::max(port_s, added_s[awaited]) + cost.transfer_s(bytes);
        added_s.push_back(std::max(port_s, added_s.back()) + cost.reduce_s(bytes));
        if (!cost.reduction_overlaps) port_s = added_s.back();
      }
  }
  return added_s.back();
}

const bool kReduceScatterPatRegistered =
    register_collective({.op = CollectiveOp::kReduceScatter,
                         .algorithm = "pat",
                         .summary = "parallel aggregated trees, near hops first",
                         .source = "Jeaugey, arXiv 2506.20252",
                         .options = {kChunkBytes},
                         .plan = plan_reduce_scatter_pat,
                         .closed_form = reduce_scatter_pat_s,
                         .joins = true});

}  // namespace
}  // namespace forescale
