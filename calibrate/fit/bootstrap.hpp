// 95 % intervals of the lines' alpha and beta by a studentised residual bootstrap.
//
// The fit is linearised about its lines and the points that the loss kept; what it left out counts
// as missing. A sample adds to the fitted values residuals drawn with replacement from all segments
// (divided by sqrt(1 - leverage), with a random sign), refits robustly, and gives
//   t* = (estimate* - estimate) / standard error*.
// The interval is estimate -+ q * standard error, q the 95 % quantile of |t*| for that very
// parameter (symmetric: of second order for symmetric noise, and steadier than two tails of 200
// samples), and at least Student's quantile for the degrees of freedom that are left. Plain
// percentiles would be too short by sqrt(1 - p/n) and more, with 10 points.
// Where points scatter less than their own intervals allow, the latter count: the standard error
// is scaled by the larger of both (Birge ratio, as the Particle Data Group does).
// Breakpoints are held: they are sizes out of a short list, a breakpoint that is found at all is
// mostly found at its place, and the lines change little when it is one size off; a sample that
// moves or loses it would mix parameters of different lines.
// Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), ch. 9, 12, 16; Hall, The
// Bootstrap and Edgeworth Expansion (1992), ch. 3.6.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "calibrate/fit/segment_search.hpp"

namespace forescale {

struct LineError {
  double alpha_low_s = 0;
  double alpha_high_s = 0;
  double beta_low_s_per_byte = 0;
  double beta_high_s_per_byte = 0;
};

struct BootstrapOptions {
  int samples = 200;
  std::uint64_t seed = 1;
};

// own_uncertainty[i]: relative, of the point's own interval; 0 where it has none.
struct BootstrapInput {
  std::span<const RelativePoint> points;
  std::span<const double> own_uncertainty;
};

// One a segment; ends are cut at 0, as alpha and beta are not negative. A number that the points do
// not determine has 0 .. infinity (alpha of one point), or an interval that contains 0.
std::vector<LineError> bootstrap_lines(const Segmentation& segmentation,
                                       const BootstrapInput& input,
                                       const BootstrapOptions& options);

// Student's t: the value that |t| exceeds in 5 % of cases.
double student_95(double degrees_of_freedom);

}  // namespace forescale
