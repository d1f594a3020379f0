#include "calibrate/fit/shaper_burst.hpp"

#include <algorithm>

namespace forescale {

Estimate shaper_burst(const std::vector<MeasuredPoint>& points, const AlphaBeta& large,
                      std::int64_t eager_limit) {
  constexpr std::int64_t kSmallBytes = 1024;
  constexpr double kNoticed_bytes = 1500;  // one Ethernet frame
  std::vector<double> alphas;
  for (const MeasuredPoint& point : points)
    if (point.bytes <= kSmallBytes) alphas.push_back(point.time_s);
  if (alphas.empty() || large.beta_s_per_byte <= 0) return {};
  std::sort(alphas.begin(), alphas.end());
  const double alpha_s = alphas[alphas.size() / 2];
  const double rate = 1 / large.beta_s_per_byte;
  std::vector<double> missing_bytes;
  for (const MeasuredPoint& point : points) {
    const auto bytes = static_cast<double>(point.bytes);
    if (point.bytes > eager_limit / 2 || bytes < 2 * alpha_s * rate) continue;
    missing_bytes.push_back(bytes - (point.time_s - alpha_s) * rate);
  }
  if (missing_bytes.size() < 2) return {};
  std::sort(missing_bytes.begin(), missing_bytes.end());
  if (missing_bytes.front() < kNoticed_bytes) return {};
  return {.value = missing_bytes[missing_bytes.size() / 2],
          .interval = {.low = missing_bytes.front(), .high = missing_bytes.back()}};
}

std::vector<MeasuredPoint> without_burst(std::vector<MeasuredPoint> points, const AlphaBeta& large,
                                         double burst_bytes, double idle_s) {
  if (burst_bytes <= 0) return points;
  for (MeasuredPoint& point : points) {
    const double passed_bytes = std::min(burst_bytes, static_cast<double>(point.bytes));
    const double spared_s = std::min(large.beta_s_per_byte * passed_bytes, idle_s);
    for (double* time_s : {&point.time_s, &point.low_s, &point.high_s, &point.p10_s, &point.p90_s})
      *time_s += spared_s;
  }
  return points;
}

}  // namespace forescale
