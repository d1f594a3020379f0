#pragma once

#include <algorithm>
#include <vector>

namespace forescale {

// A time with the interval that uncertain numbers cause, or that was measured; seconds.
struct TimeRange {
  double time_s = 0;
  double low_s = 0;
  double high_s = 0;
};

// Of simulated times, the nominal one first, at least that one.
inline TimeRange range_of(const std::vector<double>& times_s) {
  const auto [low, high] = std::minmax_element(times_s.begin(), times_s.end());
  return {.time_s = times_s.front(), .low_s = *low, .high_s = *high};
}

}  // namespace forescale
