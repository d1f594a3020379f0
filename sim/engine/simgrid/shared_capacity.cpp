#include "sim/engine/simgrid/shared_capacity.hpp"

#include <algorithm>
#include <limits>

namespace forescale {
namespace {

// Sums of paces are off by less.
constexpr double kRounding = 1e-11;

bool suffices(const SharedCapacity& capacity) {
  return capacity.wanted_per_s <= capacity.per_s * (1 + kRounding);
}

// Forgets those that are over once they are most.
void note(SharedCapacity& capacity, Use& use) {
  constexpr size_t kFew = 8;
  if (capacity.free.size() >= kFew + 2 * static_cast<size_t>(capacity.crossing))
    std::erase_if(capacity.free,
                  [](const SharedCapacity::Free& free) { return free.use->number != free.number; });
  capacity.free.push_back({.use = &use, .number = use.number});
}

}  // namespace

double pace_per_s(std::span<SharedCapacity* const> way) {
  double pace_per_s = std::numeric_limits<double>::infinity();
  for (const SharedCapacity* capacity : way)
    pace_per_s = std::min(pace_per_s, capacity->pace_per_s);
  return pace_per_s;
}

double left_of(const Use& use, double now_s) {
  constexpr double kNothing = 1e-14;  // of it: rounding
  const double left = use.amount - use.pace_per_s * (now_s - use.begin_s);
  return left > kNothing * use.amount ? left : 0;
}

bool enter(Use& use, std::vector<Use*>& crowded) {
  use.pace_per_s = pace_per_s(use.way);
  bool is_free = true;
  for (SharedCapacity* capacity : use.way) {
    ++capacity->crossing;
    capacity->wanted_per_s += use.pace_per_s;
    if (suffices(*capacity)) continue;
    is_free = false;
    crowd(*capacity, crowded);
  }
  if (is_free)
    for (SharedCapacity* capacity : use.way) note(*capacity, use);
  else
    use.number = 0;
  return is_free;
}

void leave(Use& use) {
  use.number = 0;
  for (SharedCapacity* capacity : use.way) {
    capacity->wanted_per_s -= use.pace_per_s;
    if (--capacity->crossing > 0) continue;
    capacity->wanted_per_s = 0;
    capacity->free.clear();
  }
}

void crowd(SharedCapacity& capacity, std::vector<Use*>& crowded) {
  for (const SharedCapacity::Free& free : capacity.free) {
    if (free.use->number != free.number) continue;
    free.use->number = 0;
    crowded.push_back(free.use);
  }
  capacity.free.clear();
}

}  // namespace forescale
