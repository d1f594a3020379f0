// A fitted number with its interval, and lines fitted to medians.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/segmented_fit.hpp"

namespace forescale {

struct Estimate {
  double value = 0;
  Interval interval;
};

// factor / of, interval and all.
Estimate inverse(const Estimate& of, double factor);
Estimate scaled(const Estimate& of, double factor);
// Widened by how far medians are from the line that it belongs to.
Estimate widened(Estimate of, const Interval& ratio);

// A fit whose ratio is that of nearly all medians: repetitions scatter more than what is predicted.
// Throws as fit_segments() does.
SegmentedFit fit_medians(const std::vector<MeasuredPoint>& points, const std::string& source,
                         const SegmentedFitOptions& options);

}  // namespace forescale
