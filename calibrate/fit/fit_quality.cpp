#include "calibrate/fit/fit_quality.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/median.hpp"
#include "calibrate/bench/patterns/sample_summary.hpp"
#include "calibrate/fit/bootstrap.hpp"

namespace forescale {
namespace {

constexpr double kDecileGaussian = 1.2816;  // 90 % of a standard Gaussian

// Standard Gaussian quantiles at (i + 1/2) / 39, by bisection.
std::array<double, 39> gaussian_nodes() {
  std::array<double, 39> nodes{};
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(nodes.size());
    double low = -8;
    double high = 8;
    while (high - low > 1e-12) {
      const double middle = (low + high) / 2;
      (std::erfc(-middle / std::sqrt(2.0)) / 2 < share ? low : high) = middle;
    }
    nodes[i] = (low + high) / 2;
  }
  return nodes;
}

}  // namespace

double own_uncertainty(const MeasuredPoint& point) {
  constexpr double kTwoSided95 = 1.96;
  constexpr double kMedianOverMean = 1.2533;  // standard error of a median, Gaussian: sqrt(pi / 2)
  if (point.low_s > 0 && point.high_s > point.low_s)
    return (point.high_s - point.low_s) / (2 * kTwoSided95) / point.time_s;
  if (point.p10_s > 0 && point.p90_s > point.p10_s)
    return kMedianOverMean * (point.p90_s - point.p10_s) / (2 * kDecileGaussian) / point.time_s /
           std::sqrt(std::max(1, point.samples));
  return 0;
}

std::vector<ResidualClass> residual_classes(const SegmentedFit& fit,
                                            const std::vector<MeasuredPoint>& points) {
  constexpr std::int64_t kKi = 1024;
  std::vector<ResidualClass> classes = {
      {.from_bytes = 0, .to_bytes = kKi - 1},
      {.from_bytes = kKi, .to_bytes = 32 * kKi},
      {.from_bytes = 32 * kKi + 1, .to_bytes = kKi * kKi},
      {.from_bytes = kKi * kKi + 1, .to_bytes = std::max(points.back().bytes, kKi * kKi + 1)}};
  for (ResidualClass& size_class : classes) {
    std::vector<double> sizes;
    for (const MeasuredPoint& point : points) {
      if (point.bytes < size_class.from_bytes || point.bytes > size_class.to_bytes) continue;
      const double fitted_s = fit.time_s(static_cast<double>(point.bytes));
      if (fitted_s <= 0) continue;
      const double off = point.time_s / fitted_s - 1;
      sizes.push_back(std::abs(off));
      if (std::abs(off) > std::abs(size_class.worst)) size_class.worst = off;
    }
    size_class.points = static_cast<int>(sizes.size());
    if (!sizes.empty()) size_class.median_abs = median(std::move(sizes));
  }
  std::erase_if(classes, [](const ResidualClass& size_class) { return size_class.points == 0; });
  return classes;
}

Interval ratio_band(const SegmentedFit& fit, const std::vector<MeasuredPoint>& points,
                    const std::vector<RelativePoint>& relative) {
  static const std::array<double, 39> kNodes = gaussian_nodes();
  const double n = static_cast<double>(points.size());
  const double parameters = 2 * static_cast<double>(fit.segments.size());
  const double freedom = std::max(n - parameters, 1.0);
  std::vector<double> logs;
  std::vector<double> residuals;
  std::vector<double> uncertainties;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const MeasuredPoint& point = points[i];
    const double fitted_s = fit.time_s(static_cast<double>(point.bytes));
    if (fitted_s <= 0) continue;
    const double off = std::log(point.time_s / fitted_s);
    residuals.push_back(off / relative[i].uncertainty);
    uncertainties.push_back(relative[i].uncertainty);
    const double below = point.p10_s > 0 ? std::max(0.0, std::log(point.time_s / point.p10_s)) : 0;
    const double above = point.p90_s > 0 ? std::max(0.0, std::log(point.p90_s / point.time_s)) : 0;
    for (const double node : kNodes)
      logs.push_back(off * std::sqrt(n / freedom) +
                     node * (node < 0 ? below : above) / kDecileGaussian);
  }
  std::sort(logs.begin(), logs.end());
  constexpr double kExact = 1e-9;
  const double scale = residual_scale(residuals, 2 * fit.segments.size(), kExact);
  const double reach = student_95(freedom) * scale * median(std::move(uncertainties)) *
                       std::sqrt(1 + parameters / n);
  return {std::exp(std::min(quantile_of_sorted(logs, 0.025), -reach)),
          std::exp(std::max(quantile_of_sorted(logs, 0.975), reach))};
}

constexpr double kFarOff = 0.25;

std::vector<std::string> quality_warnings(const SegmentedFit& fit,
                                          const std::vector<MeasuredPoint>& points) {
  std::vector<std::string> warnings;
  const MeasuredPoint* widest = nullptr;
  int wide = 0;
  const auto spread = [](const MeasuredPoint& point) { return point.p90_s / point.p10_s; };
  for (const MeasuredPoint& point : points) {
    if (point.p10_s <= 0 || spread(point) <= 2) continue;
    ++wide;
    if (widest == nullptr || spread(point) > spread(*widest)) widest = &point;
  }
  if (widest != nullptr)
    warnings.push_back(fmt::format("heavy tails at {} of {} sizes: p90/p10 up to {:.3g} ({} bytes)",
                                   wide, points.size(), spread(*widest), widest->bytes));
  if (static_cast<double>(fit.outliers.size()) > 0.15 * static_cast<double>(points.size()))
    warnings.push_back(fmt::format("heavy tails: {} of {} sizes are outliers", fit.outliers.size(),
                                   points.size()));
  // What large messages cost is what a link's figure rests on.
  double worst = 0;
  std::size_t first = points.size();
  while (first > 0 && std::find(fit.outliers.begin(), fit.outliers.end(),
                                points[first - 1].bytes) != fit.outliers.end()) {
    --first;
    const MeasuredPoint& point = points[first];
    worst =
        std::max(worst, std::abs(fit.time_s(static_cast<double>(point.bytes)) / point.time_s - 1));
  }
  if (worst > kFarOff)
    warnings.push_back(fmt::format(
        "the fit does not carry the largest sizes: from {} bytes on they are left out as "
        "outliers, {:.0f} % off; measure more sizes there",
        points[first].bytes, 100 * worst));
  double gap = 8;
  std::size_t gap_at = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (points[i - 1].bytes == 0) continue;
    const double factor =
        static_cast<double>(points[i].bytes) / static_cast<double>(points[i - 1].bytes);
    if (factor <= gap) continue;
    gap = factor;
    gap_at = i;
  }
  if (gap_at > 0)
    warnings.push_back(fmt::format("no size between {} and {} bytes, a factor of {:.3g}",
                                   points[gap_at - 1].bytes, points[gap_at].bytes, gap));
  for (const AlphaBeta& segment : fit.segments) {
    if (segment.alpha_interval_s.low <= 0)
      warnings.push_back(fmt::format("alpha is not determined up to {} bytes: 0 .. {:.3g} s",
                                     segment.up_to_bytes, segment.alpha_interval_s.high));
    if (segment.beta_interval_s_per_byte.low <= 0)
      warnings.push_back(fmt::format("beta is not determined up to {} bytes: 0 .. {:.3g} s/byte",
                                     segment.up_to_bytes, segment.beta_interval_s_per_byte.high));
  }
  return warnings;
}

}  // namespace forescale
