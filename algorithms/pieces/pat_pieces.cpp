#include "algorithms/pieces/pat_pieces.hpp"

#include <algorithm>
#include <bit>

namespace forescale {

PatShape::PatShape(int rank_count, std::int64_t block_bytes, std::int64_t step_bytes)
    : rank_count_(rank_count),
      apart_(static_cast<int>(std::bit_ceil(static_cast<unsigned>(rank_count)))) {
  const auto holds_two_more = [&] {
    return step_bytes == 0 || step_bytes / std::max<std::int64_t>(block_bytes * trees_, 1) >= 2;
  };
  while (trees_ < rank_count / 2 && holds_two_more()) widen();
  of_message_ = trees_;
  for (int steps = 1; steps < kQueueSteps && trees_ < rank_count / 2; steps *= 2) widen();
}

void PatShape::widen() {
  trees_ *= 2;
  apart_ /= 2;
}

PatRow PatShape::between_roots(int apart) const {
  return {apart, 2 * apart, trees_ * apart_ / (2 * apart)};
}

bool PatShape::next_outwards(PatRow& row) const {
  const int all = trees_ * apart_;
  if (row.count == 0 || !is_along_trees(row)) {
    const int apart = (row.count == 0 ? all : row.first) / 2;
    row = apart >= apart_ ? between_roots(apart) : along_trees(apart_ / 2);
    return true;
  }
  const int place = row.first;
  if (place == 1) return false;
  const int parent = place - 1;  // of an end
  row.first = place % 2 == 0 ? place + lowest_bit(place) / 2 : parent - lowest_bit(parent) / 2;
  return true;
}

bool PatShape::next_inwards(PatRow& row) const {
  if (row.count == 0) {
    row = along_trees(apart_ - 1);
    return true;
  }
  if (is_along_trees(row) && row.first > 1) {
    --row.first;
    return true;
  }
  const int apart = is_along_trees(row) ? apart_ : 2 * row.first;
  if (apart >= trees_ * apart_) return false;
  row = between_roots(apart);
  return true;
}

PatRow PatShape::there(PatRow message) const {
  const int of_ranks = (rank_count_ - 1 - message.first + message.stride) / message.stride;
  message.count = std::max(0, std::min(message.count, of_ranks));
  return message;
}

PatRow PatShape::message_outwards(const PatRow& row, int index) const {
  const int count = std::min(of_message_, row.count);
  return there({row.distance(index * count), row.stride, count});
}

PatRow PatShape::message_inwards(const PatRow& row, int index) const {
  const int apart = messages(row);
  int tree = 0;  // bits of the index inverted, the last one first
  for (int low = 1, high = apart / 2; high > 0; low *= 2, high /= 2)
    if ((index & low) == 0) tree += high;
  return there({row.distance(tree), apart * row.stride, std::min(of_message_, row.count)});
}

namespace {

std::int64_t step_bytes(const CollectiveCall& call, int least_steps) {
  constexpr std::int64_t kLeast = 64 << 10;
  std::int64_t bytes = call.options.number(kChunkBytes);
  while (bytes > kLeast && bytes * least_steps > call.bytes) bytes /= 2;
  return bytes;
}

}  // namespace

PatCall::PatCall(const CollectiveCall& call, int least_steps)
    : blocks_(blocks_of_call(call)),
      step_bytes_(step_bytes(call, least_steps)),
      element_bytes_(call.element_bytes),
      shape_(call.rank_count, blocks_.largest_bytes(), step_bytes_) {}

}  // namespace forescale
