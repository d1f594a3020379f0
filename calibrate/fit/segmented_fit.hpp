// Segmented alpha-beta: time(bytes) = alpha_i + beta_i * bytes for breakpoint_{i-1} < bytes <=
// breakpoint_i, fitted to medians by size.
//
// Relative errors count, so that 8 B and 64 MiB weigh alike, in units of each point's own
// uncertainty (at least 1 %); a robust loss (Tukey's biweight, robust_line.hpp) keeps outliers out;
// alpha >= 0, beta >= 0, and the whole never falls with size (monotone.hpp).
// The number of segments is the smallest that BIC justifies, on found or given breakpoints
// (segment_search.hpp). Intervals are 95 %, by a studentised bootstrap of residuals
// (bootstrap.hpp), with the larger of the residuals' scatter and the points' own intervals, and
// widened by what a breakpoint one or two sizes off would give, where that fits about as well.
// They hold for the breakpoints being real: where a jump is so small that it is found only
// sometimes, the lines of those times are somewhat too far apart.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/measure/measurement.hpp"

namespace forescale {

struct Interval {
  double low = 0;
  double high = 0;
};

struct AlphaBeta {
  std::int64_t up_to_bytes = 0;  // last segment: the largest measured size; its line goes on
  double alpha_s = 0;
  double beta_s_per_byte = 0;
  Interval alpha_interval_s;
  Interval beta_interval_s_per_byte;
};

// How far the measured times are from the fitted ones, as measured/fitted - 1, by size class.
struct ResidualClass {
  std::int64_t from_bytes = 0;
  std::int64_t to_bytes = 0;  // inclusive
  int points = 0;
  double median_abs = 0;
  double worst = 0;  // signed, the largest in magnitude
};

struct SegmentedFit {
  std::vector<AlphaBeta> segments;
  std::vector<ResidualClass> residuals;
  std::vector<std::int64_t> outliers;  // sizes that the robust loss left out
  std::vector<std::string> warnings;   // "too few sizes for a breakpoint", "heavy tails at ..."
  Interval ratio;                      // of measured over fitted, 95 % of points and repetitions

  double time_s(double bytes) const;
};

struct SegmentedFitOptions {
  int segments_max = 4;
  int bootstrap_samples = 200;
  std::uint64_t seed = 1;
  std::vector<std::int64_t> breakpoints = {};  // known ones (an eager limit), always used
};

// InputError naming `source` when the data do not carry a line: fewer than 3 sizes, sizes that do
// not grow or are less than a factor of 4 apart, times that are not positive; or when an option is
// out of range (segments_max < 1, bootstrap_samples < 40, a negative breakpoint).
SegmentedFit fit_segments(const std::vector<MeasuredPoint>& points, const std::string& source,
                          const SegmentedFitOptions& options = {});

}  // namespace forescale
