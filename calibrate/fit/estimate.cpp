#include "calibrate/fit/estimate.hpp"

#include <algorithm>

namespace forescale {
namespace {

// Measured over fitted of nearly all sizes: what a prediction of a median has to expect.
Interval scatter(const std::vector<MeasuredPoint>& points, const SegmentedFit& fit) {
  constexpr double kLeftOut = 0.025;  // at either end
  std::vector<double> ratios;
  for (const MeasuredPoint& point : points)
    ratios.push_back(point.time_s / fit.time_s(static_cast<double>(point.bytes)));
  std::sort(ratios.begin(), ratios.end());
  const auto skipped = static_cast<size_t>(kLeftOut * static_cast<double>(ratios.size()));
  return {.low = ratios[skipped], .high = ratios[ratios.size() - 1 - skipped]};
}

}  // namespace

Estimate inverse(const Estimate& of, double factor) {
  return {.value = factor / of.value,
          .interval = {.low = factor / of.interval.high, .high = factor / of.interval.low}};
}

Estimate scaled(const Estimate& of, double factor) {
  return {.value = of.value * factor,
          .interval = {.low = of.interval.low * factor, .high = of.interval.high * factor}};
}

Estimate widened(Estimate of, const Interval& ratio) {
  of.interval.low = std::min(of.value, of.interval.low * std::min(ratio.low, 1.0));
  of.interval.high = std::max(of.value, of.interval.high * std::max(ratio.high, 1.0));
  return of;
}

SegmentedFit fit_medians(const std::vector<MeasuredPoint>& points, const std::string& source,
                         const SegmentedFitOptions& options) {
  SegmentedFit fit = fit_segments(points, source, options);
  fit.ratio = scatter(points, fit);
  return fit;
}

}  // namespace forescale
