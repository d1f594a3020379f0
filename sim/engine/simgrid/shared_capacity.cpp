#include "sim/engine/simgrid/shared_capacity.hpp"

#include <algorithm>
#include <limits>

namespace forescale {

double pace_per_s(std::span<SharedCapacity* const> way) {
  double pace_per_s = std::numeric_limits<double>::infinity();
  for (const SharedCapacity* capacity : way)
    pace_per_s = std::min(pace_per_s, capacity->pace_per_s);
  return pace_per_s;
}

bool is_crowded(const SharedCapacity& capacity) {
  constexpr double kRounding = 1e-11;  // sums of paces are off by less
  return capacity.is_down || capacity.wanted_per_s > capacity.per_s * (1 + kRounding);
}

double left_of(const Use& use, double now_s) {
  constexpr double kNothing = 1e-14;  // of it: rounding
  const double left = use.left - use.pace_per_s * (now_s - use.free_from_s);
  return left > kNothing * use.amount ? left : 0;
}

bool enter(Use& use, std::vector<Use*>& slowed) {
  use.pace_per_s = pace_per_s(use.way);
  bool is_free = true;
  for (SharedCapacity* capacity : use.way) {
    ++capacity->crossing;
    capacity->wanted_per_s += use.pace_per_s;
    if (!is_crowded(*capacity)) continue;
    is_free = false;
    slow_all(*capacity, slowed);
  }
  return is_free;
}

void leave(Use& use) {
  use.number = 0;
  for (SharedCapacity* capacity : use.way) {
    capacity->wanted_per_s -= use.pace_per_s;
    if (--capacity->crossing > 0) continue;
    capacity->wanted_per_s = 0;
    capacity->unslowed.clear();
  }
}

// Forgets those that are over once they are most.
void note_unslowed(SharedCapacity& capacity, Use& use) {
  constexpr size_t kFew = 8;
  if (capacity.unslowed.size() >= kFew + 2 * static_cast<size_t>(capacity.crossing))
    std::erase_if(capacity.unslowed, [](const SharedCapacity::Unslowed& unslowed) {
      return unslowed.use->number != unslowed.number;
    });
  capacity.unslowed.push_back({.use = &use, .number = use.number});
}

void slow_all(SharedCapacity& capacity, std::vector<Use*>& slowed) {
  for (const SharedCapacity::Unslowed& unslowed : capacity.unslowed) {
    if (unslowed.use->number != unslowed.number) continue;
    unslowed.use->number = 0;
    slowed.push_back(unslowed.use);
  }
  capacity.unslowed.clear();
}

}  // namespace forescale
