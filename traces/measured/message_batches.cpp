#include "traces/measured/message_batches.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace forescale {

std::vector<std::vector<std::size_t>> batches_of(const std::vector<ClockSpan>& launches,
                                                 const std::vector<PostedMessage>& posted) {
  std::vector<std::vector<std::size_t>> batches(launches.size());
  std::size_t next = 0;  // message that no launch has taken
  for (std::size_t i = 0; i < launches.size(); ++i)
    for (; next < posted.size() && posted[next].span.begin_ns <= launches[i].begin_ns; ++next)
      batches[i].push_back(next);
  return batches;
}

std::optional<MeasuredCollective> as_all_to_all(const std::vector<const PostedMessage*>& batch,
                                                int rank, int world) {
  if (batch.empty()) return std::nullopt;
  const PostedMessage& one = *batch.front();
  std::vector<int> members = one.members;
  if (members.empty()) {
    members.resize(static_cast<std::size_t>(std::max(world, 0)));
    std::iota(members.begin(), members.end(), 0);
  }
  if (members.size() < 4 || batch.size() != 2 * (members.size() - 1)) return std::nullopt;
  std::set<std::pair<bool, int>> exchanged;  // whether it was sent, and the other end
  for (const PostedMessage* posted : batch) {
    const std::vector<int>& ends = posted->message.ranks;
    const bool sends = ends[static_cast<std::size_t>(posted->message.root)] == rank;
    const int other = ends.front() == rank ? ends.back() : ends.front();
    if (posted->group != one.group || posted->message.bytes != one.message.bytes ||
        std::find(members.begin(), members.end(), other) == members.end() ||
        !exchanged.emplace(sends, other).second)
      return std::nullopt;
  }
  std::int64_t bytes = 0;  // of the whole vector, with the part that stays
  if (__builtin_mul_overflow(one.message.bytes, static_cast<std::int64_t>(members.size()), &bytes))
    return std::nullopt;
  return MeasuredCollective{
      .op = CollectiveOp::kAllToAll, .bytes = bytes, .group = one.group, .ranks = one.members};
}

}  // namespace forescale
