// One line time(bytes) = alpha + beta * bytes through a few points, by relative error, robustly.
//
// A residual is log(measured / fitted) in units of the point's own uncertainty, so that half and
// twice the time count alike and a slow outlier weighs no less than a fast one; for small
// residuals that is least squares weighted by 1/time^2. The loss is Tukey's biweight at a given
// scale: points further off than 4.685 scales count a constant and no longer pull. The loss has
// several minima, so the start is the best of all lines through two points (it withstands nearly
// half of the points being outliers, which an L1 or Huber start does not: the smallest and largest
// sizes are leverage points). From there iteratively reweighted Gauss-Newton steps.
// Source: Yohai, Ann. Statist. 15 (1987), MM-estimates; Koller and Stahel, Comput. Stat. Data Anal.
// 55 (2011), on scale and degrees of freedom for few points.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <span>
#include <vector>

namespace forescale {

struct RelativePoint {
  double bytes = 0;
  double time_s = 0;
  double uncertainty = 0.01;  // of time_s, relative: the unit of the residuals
};

struct Line {
  double alpha_s = 0;
  double beta_s_per_byte = 0;

  double time_s(double bytes) const { return alpha_s + beta_s_per_byte * bytes; }
};

// At least a millionth of the measured time: an empty message may have none on a line through 0.
double fitted_s(const Line& line, const RelativePoint& point);

// log(measured / fitted) over the point's uncertainty.
double residual(const Line& line, const RelativePoint& point);

// What a Gauss-Newton step fits a line to, over the fitted time: 1 + log(measured / fitted). Held
// positive, as the line is: points that are far faster would else drive it to 0.
double linearised_target(double log_ratio);

// Tukey's biweight at 4.685, 95 % efficient for Gaussian noise. x is a residual over the scale.
double tukey_weight(double x);
double tukey_loss(double x);  // x^2 for small x, kTukeyWorst beyond 4.685
inline constexpr double kTukeyCutoff = 4.685;
inline constexpr double kTukeyWorst = kTukeyCutoff * kTukeyCutoff / 3;

double tukey_loss(const Line& line, std::span<const RelativePoint> points, double scale);

// The line through two of the points with the smallest loss; alpha, beta >= 0. At least one point;
// with many points, pairs of 12 of them spread evenly.
Line best_elemental_line(std::span<const RelativePoint> points, double scale);

// From `line`, at most `steps` reweighted steps at a fixed scale; alpha, beta >= 0.
Line improve_line(const Line& line, std::span<const RelativePoint> points, double scale, int steps);

// Residuals linearised about a line: row i is (1, bytes_i / largest) / (fitted_i uncertainty_i), so
// that d residual = -row d(alpha, beta * largest).
Eigen::MatrixX2d sensitivity(const Line& line, std::span<const RelativePoint> points);

// Scale of residuals that `parameters` numbers were fitted to. First the median of the largest
// size - parameters (the others a fit may have put at 0), then Tukey-weighted variances with the
// degrees of freedom taken off; never below `floor`.
double residual_scale(const std::vector<double>& residuals, std::size_t parameters, double floor);

// The weighted part alone: sum w r^2 / (0.828 (sum w - parameters)), square root; 0.828 makes it
// the standard deviation for Gaussian residuals.
double weighted_scale(std::span<const double> residuals, std::span<const double> weights,
                      double parameters);

}  // namespace forescale
