// Lines that together never fall with size.
#pragma once

#include <span>

#include "calibrate/fit/segment_search.hpp"

namespace forescale {

// Fits the lines of all segments again, together, under alpha >= 0, beta >= 0 and
//   alpha_k + beta_k c_k <= alpha_{k+1} + beta_{k+1} c_k    at the breakpoint c_k = breakpoints[k],
// keeping the breakpoints and each point's robust weight: least squares of the log residuals by
// Gauss-Newton, each step a quadratic program solved by Hildreth's dual coordinate ascent. Lines
// that hold the constraints already are left as they are. Afterwards they hold exactly.
void make_monotone(Segmentation& segmentation, std::span<const RelativePoint> points,
                   std::span<const double> breakpoints);

}  // namespace forescale
