// How well a segmented fit stands on its points: residuals by size class, outliers, the band of
// measured over fitted, and what a reader should be warned of.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/segment_search.hpp"
#include "calibrate/fit/segmented_fit.hpp"
#include "calibrate/measure/measurement.hpp"

namespace forescale {

// Of a point's median, relative, as a standard deviation: from low_s..high_s, else from
// p10_s..p90_s and the number of samples, else 0: not known.
double own_uncertainty(const MeasuredPoint& point);

// An empty message that alpha = 0 gives no time has no ratio: left out here, an outlier anyway.
//
// Below 1 KiB, up to 32 KiB, up to 1 MiB, above: those that have points.
std::vector<ResidualClass> residual_classes(const SegmentedFit& fit,
                                            const std::vector<MeasuredPoint>& points);

// The wider of two at each end: quantiles of all points, outliers included, each spread out by its
// own p10_s..p90_s (log-normal on either side) and its residual scaled by sqrt(n / (n - 2 K)) for
// what the fit took; and Student's interval of a further point from the robust scale.
Interval ratio_band(const SegmentedFit& fit, const std::vector<MeasuredPoint>& points,
                    const std::vector<RelativePoint>& relative);

// Of the points and the intervals; fit.outliers must be there.
std::vector<std::string> quality_warnings(const SegmentedFit& fit,
                                          const std::vector<MeasuredPoint>& points);

}  // namespace forescale
