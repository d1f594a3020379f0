#pragma once

namespace forescale {

// A time with the interval that uncertain numbers cause, or that was measured; seconds.
struct TimeRange {
  double time_s = 0;
  double low_s = 0;
  double high_s = 0;
};

}  // namespace forescale
