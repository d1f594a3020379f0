// A straight line through measured times of an iteration: time = t0 + batch * t1, with the least
// squares of the relative errors, t0 >= 0 and t1 >= 0: times that fall with the batch are scatter.
#pragma once

#include <vector>

namespace forescale {

struct BatchLine {
  double t0_s = 0;
  double t1_s = 0;  // an image
};

struct TimedBatch {
  double batch = 0;
  double time_s = 0;
};

// False where all points have the same batch: t0 cannot be fitted.
bool has_several_batches(const std::vector<TimedBatch>& points);

BatchLine fit_line(const std::vector<TimedBatch>& points);

// t1 alone, for a given t0.
BatchLine fit_slope(const std::vector<TimedBatch>& points, double t0_s);

}  // namespace forescale
