#include "calibrate/fit/robust_line.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace forescale {
namespace {

Line through(const RelativePoint& a, const RelativePoint& b) {
  const double beta = (b.time_s - a.time_s) / (b.bytes - a.bytes);
  if (beta <= 0) return {std::sqrt(a.time_s * b.time_s), 0};
  const double alpha = a.time_s - beta * a.bytes;
  if (alpha >= 0) return {alpha, beta};
  return {0, std::sqrt(a.time_s / a.bytes * b.time_s / b.bytes)};  // a.bytes > 0: alpha < 0
}

// Minimum of (alpha, beta) H (alpha, beta)' / 2 - g (alpha, beta)' over alpha, beta >= 0.
Line non_negative_minimum(double aa, double ab, double bb, double a, double b) {
  const double determinant = aa * bb - ab * ab;
  if (determinant > 1e-14 * aa * bb) {
    const Line inside{(bb * a - ab * b) / determinant, (aa * b - ab * a) / determinant};
    if (inside.alpha_s >= 0 && inside.beta_s_per_byte >= 0) return inside;
  }
  // On an edge the gain is g^2 / (2 H) for a positive g.
  const double alpha_gain = a > 0 ? a * a / aa : 0;
  const double beta_gain = b > 0 && bb > 0 ? b * b / bb : 0;
  if (beta_gain > alpha_gain) return {0, b / bb};
  return {aa > 0 ? std::max(0.0, a / aa) : 0, 0};
}

}  // namespace

double fitted_s(const Line& line, const RelativePoint& point) {
  return std::max(line.time_s(point.bytes), 1e-6 * point.time_s);
}

double residual(const Line& line, const RelativePoint& point) {
  return std::log(point.time_s / fitted_s(line, point)) / point.uncertainty;
}

double linearised_target(double log_ratio) { return std::max(1 + log_ratio, 0.1); }

double tukey_weight(double x) {
  const double u = x / kTukeyCutoff;
  if (std::abs(u) >= 1) return 0;
  return (1 - u * u) * (1 - u * u);
}

double tukey_loss(double x) {
  const double u = x / kTukeyCutoff;
  if (std::abs(u) >= 1) return kTukeyWorst;
  const double v = 1 - u * u;
  return kTukeyWorst * (1 - v * v * v);
}

double tukey_loss(const Line& line, std::span<const RelativePoint> points, double scale) {
  double sum = 0;
  for (const RelativePoint& point : points) sum += tukey_loss(residual(line, point) / scale);
  return sum;
}

Line best_elemental_line(std::span<const RelativePoint> points, double scale) {
  if (points.size() == 1) return {points[0].time_s, 0};
  constexpr std::size_t kEnough = 12;
  const std::size_t stride = (points.size() + kEnough - 1) / kEnough;
  Line best;
  double best_loss = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < points.size(); i += stride) {
    for (std::size_t j = i + stride; j < points.size(); j += stride) {
      const Line line = through(points[i], points[j]);
      double loss = 0;
      for (const RelativePoint& point : points) {
        const double x = residual(line, point) / scale;
        // A little of the plain size breaks ties between losses that are all at their worst.
        loss += tukey_loss(x) + 1e-3 * std::min(std::abs(x), 1e3);
        if (loss >= best_loss) break;
      }
      if (loss >= best_loss) continue;
      best_loss = loss;
      best = line;
    }
  }
  return best;
}

Line improve_line(const Line& line, std::span<const RelativePoint> points, double scale,
                  int steps) {
  Line now = line;
  const double unit = points.back().bytes > 0 ? points.back().bytes : 1;
  for (int step = 0; step < steps; ++step) {
    double aa = 0;
    double ab = 0;
    double bb = 0;
    double a = 0;
    double b = 0;
    int used = 0;
    for (const RelativePoint& point : points) {
      const double now_s = fitted_s(now, point);
      const double log_ratio = std::log(point.time_s / now_s);
      const double weight = tukey_weight(log_ratio / point.uncertainty / scale) /
                            (point.uncertainty * point.uncertainty);
      if (weight <= 0) continue;
      ++used;
      // Relative to the fitted time: row (1, b)/f, target f (1 + log ratio) / f.
      const double x = 1 / now_s;
      const double y = point.bytes / unit / now_s;
      const double z = linearised_target(log_ratio);
      aa += weight * x * x;
      ab += weight * x * y;
      bb += weight * y * y;
      a += weight * x * z;
      b += weight * y * z;
    }
    if (used < 2) return now;
    Line next = non_negative_minimum(aa, ab, bb, a, b);
    next.beta_s_per_byte /= unit;
    const double change = std::abs(next.alpha_s - now.alpha_s) +
                          std::abs(next.beta_s_per_byte - now.beta_s_per_byte) * unit;
    now = next;
    if (change <= 1e-14 * now.time_s(unit)) break;
  }
  return now;
}

Eigen::MatrixX2d sensitivity(const Line& line, std::span<const RelativePoint> points) {
  Eigen::MatrixX2d rows(static_cast<Eigen::Index>(points.size()), 2);
  const double unit = points.back().bytes > 0 ? points.back().bytes : 1;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const RelativePoint& point = points[i];
    const double scale = fitted_s(line, point) * point.uncertainty;
    rows.row(static_cast<Eigen::Index>(i)) << 1 / scale, point.bytes / unit / scale;
  }
  return rows;
}

double weighted_scale(std::span<const double> residuals, std::span<const double> weights,
                      double parameters) {
  constexpr double kGaussian = 0.828;  // E[w x^2] / E[w] for a standard Gaussian x
  double sum = 0;
  double count = 0;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    sum += weights[i] * residuals[i] * residuals[i];
    count += weights[i];
  }
  return std::sqrt(sum / (kGaussian * std::max(count - parameters, 0.5)));
}

double residual_scale(const std::vector<double>& residuals, std::size_t parameters, double floor) {
  if (residuals.empty()) return floor;
  std::vector<double> sizes;
  sizes.reserve(residuals.size());
  for (const double value : residuals) sizes.push_back(std::abs(value));
  std::sort(sizes.begin(), sizes.end());
  const std::size_t free = sizes.size() > parameters ? sizes.size() - parameters : 1;
  constexpr double kGaussianQuartile = 0.6745;  // median of |x| for a standard Gaussian x
  const std::size_t last = sizes.size() - 1;
  double scale = (sizes[last - free / 2] + sizes[last - (free - 1) / 2]) / 2 / kGaussianQuartile;
  scale = std::max(scale, floor);
  std::vector<double> weights(residuals.size());
  for (int step = 0; step < 4; ++step) {
    for (std::size_t i = 0; i < residuals.size(); ++i)
      weights[i] = tukey_weight(residuals[i] / scale);
    scale = std::max(weighted_scale(residuals, weights, static_cast<double>(parameters)), floor);
  }
  return scale;
}

}  // namespace forescale
