#include "calibrate/bench/collectives/collective_data.hpp"

#include <cstddef>
#include <limits>

#include "algorithms/operation.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kElementBytes = sizeof(float);
constexpr std::int64_t kModulus = 251;  // contributions are 0 .. 250: exact sums up to 66000 ranks

// Scattered over the elements, so that data in the wrong place shows.
std::int64_t scattered(std::int64_t element) {
  const std::uint64_t mixed = static_cast<std::uint64_t>(element) * 0x9E3779B97F4A7C15ULL;
  return static_cast<std::int64_t>((mixed >> 32) % kModulus);
}

std::int64_t contribution(int rank, std::int64_t scattered_element) {
  return (scattered_element + 7 * static_cast<std::int64_t>(rank)) % kModulus;
}

float value_of(int rank, std::int64_t element) {
  return static_cast<float>(contribution(rank, scattered(element)));
}

struct Elements {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

Elements block_of(const CollectiveCall& call, int rank) {
  const ByteRange range = block_range(call.bytes, call.rank_count, rank, call.element_bytes);
  return {range.offset / kElementBytes, (range.offset + range.bytes) / kElementBytes};
}

// Serial sums over the ranks, by what elements have in common.
std::vector<float> serial_sums(int rank_count) {
  std::vector<float> sums;
  for (std::int64_t same = 0; same < kModulus; ++same) {
    std::int64_t sum = 0;
    for (int rank = 0; rank < rank_count; ++rank) sum += contribution(rank, same);
    sums.push_back(static_cast<float>(sum));
  }
  return sums;
}

class Comparison {
 public:
  Comparison(const CollectiveCall& call, const std::vector<float>& buffer)
      : call_(call), buffer_(buffer) {}

  const WrongElement& wrong() const { return wrong_; }

  void expect(std::int64_t element, float expected) {
    const float found = buffer_[static_cast<std::size_t>(element)];
    if (wrong_.element < 0 && !(found == expected)) wrong_ = {element, found, expected};
  }
  void expect_sums(Elements range) {
    const std::vector<float> sums = serial_sums(call_.rank_count);
    for (std::int64_t i = range.begin; i < range.end; ++i)
      expect(i, sums[static_cast<std::size_t>(scattered(i))]);
  }
  void expect_of_rank(int rank, Elements range) {
    for (std::int64_t i = range.begin; i < range.end; ++i) expect(i, value_of(rank, i));
  }
  void expect_all_blocks() {
    for (int rank = 0; rank < call_.rank_count; ++rank) expect_of_rank(rank, block_of(call_, rank));
  }
  // Slot j holds rank j's block of this rank.
  void expect_slots(int own_rank) {
    const Elements own = block_of(call_, own_rank);
    std::int64_t slot = call_.bytes / kElementBytes;
    for (int rank = 0; rank < call_.rank_count; ++rank)
      for (std::int64_t i = own.begin; i < own.end; ++i) expect(slot++, value_of(rank, i));
  }
  void expect_previous(int own_rank) {
    const std::int64_t elements = call_.bytes / kElementBytes;
    const int previous = (own_rank + call_.rank_count - 1) % call_.rank_count;
    for (std::int64_t i = 0; i < elements; ++i) expect(elements + i, value_of(previous, i));
  }

 private:
  const CollectiveCall& call_;
  const std::vector<float>& buffer_;
  WrongElement wrong_;
};

// The elements of [0, bytes) that are of a part.
Elements elements_of(Part part, const CollectiveCall& call, int rank) {
  if (part == Part::kOwnBlock) return block_of(call, rank);
  return {0, call.bytes / kElementBytes};
}

}  // namespace

std::vector<float> collective_input(CollectiveOp op, const CollectiveCall& call, int rank) {
  std::vector<float> buffer(static_cast<std::size_t>(buffer_bytes(op, call, rank) / kElementBytes),
                            std::numeric_limits<float>::quiet_NaN());
  const Operation& what = operation(op);
  if (!what.has_input(rank, call.root)) return buffer;
  const Elements own = elements_of(what.before.part, call, rank);
  for (std::int64_t i = own.begin; i < own.end; ++i)
    buffer[static_cast<std::size_t>(i)] = value_of(rank, i);
  return buffer;
}

WrongElement first_wrong(CollectiveOp op, const CollectiveCall& call, int rank,
                         const std::vector<float>& buffer) {
  Comparison result(call, buffer);
  const Operation& what = operation(op);
  if (!what.has_result(rank, call.root)) return result.wrong();
  const Elements range = elements_of(what.after.part, call, rank);
  if (what.after.part == Part::kSlots)
    result.expect_slots(rank);
  else if (what.after.part == Part::kPrevious)
    result.expect_previous(rank);
  else if (what.sums)
    result.expect_sums(range);
  else if (what.before.root_only)
    result.expect_of_rank(call.root, range);
  else if (what.before.part == Part::kOwnBlock)
    result.expect_all_blocks();
  else
    result.expect_of_rank(rank, range);
  return result.wrong();
}

}  // namespace forescale
