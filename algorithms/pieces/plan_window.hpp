// The operations of one rank's plan that have been read and are not all done, numbered by their
// place in the stream.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "algorithms/plan.hpp"

namespace forescale {

enum class OpStage : std::uint8_t { kWaiting, kPosted, kDone };

struct PlanSlot {
  Op op;
  OpStage stage = OpStage::kWaiting;
};

class PlanWindow {
 public:
  std::int64_t begin() const { return begin_; }
  std::int64_t end() const { return end_; }
  std::int64_t length() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }
  PlanSlot& at(std::int64_t place) { return slots_[index(place)]; }
  const PlanSlot& at(std::int64_t place) const { return slots_[index(place)]; }

  void push(const Op& op) {
    if (length() == static_cast<std::int64_t>(slots_.size())) grow();
    slots_[index(end_++)] = {.op = op, .stage = OpStage::kWaiting};
  }
  // Forgets what is done at the front.
  void retire() {
    while (!empty() && at(begin_).stage == OpStage::kDone) ++begin_;
  }

 private:
  size_t index(std::int64_t place) const {
    return static_cast<size_t>(place) & (slots_.size() - 1);
  }
  void grow() {
    std::vector<PlanSlot> larger(2 * slots_.size());
    for (std::int64_t place = begin_; place < end_; ++place)
      larger[static_cast<size_t>(place) & (larger.size() - 1)] = at(place);
    slots_ = std::move(larger);
  }

  std::vector<PlanSlot> slots_ = std::vector<PlanSlot>(4);  // a power of two
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
};

}  // namespace forescale
