#include "models/compute/line_fit.hpp"

#include <algorithm>

namespace forescale {

bool has_several_batches(const std::vector<TimedBatch>& points) {
  return std::any_of(points.begin(), points.end(),
                     [&](const TimedBatch& point) { return point.batch != points[0].batch; });
}

BatchLine fit_line(const std::vector<TimedBatch>& points) {
  double weights = 0, batches = 0, squares = 0, times = 0, products = 0;
  for (const TimedBatch& point : points) {
    const double weight = 1 / (point.time_s * point.time_s);
    weights += weight;
    batches += weight * point.batch;
    squares += weight * point.batch * point.batch;
    times += weight * point.time_s;
    products += weight * point.batch * point.time_s;
  }
  const double t0_s =
      (times * squares - products * batches) / (weights * squares - batches * batches);
  const BatchLine line = fit_slope(points, std::max(0.0, t0_s));
  if (line.t1_s > 0) return line;
  return {.t0_s = times / weights, .t1_s = 0};
}

BatchLine fit_slope(const std::vector<TimedBatch>& points, double t0_s) {
  double numerator = 0;
  double denominator = 0;
  for (const TimedBatch& point : points) {
    const double weight = 1 / (point.time_s * point.time_s);
    numerator += weight * point.batch * (point.time_s - t0_s);
    denominator += weight * point.batch * point.batch;
  }
  return {.t0_s = t0_s, .t1_s = std::max(0.0, numerator / denominator)};
}

}  // namespace forescale
