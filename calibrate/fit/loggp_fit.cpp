#include "calibrate/fit/loggp_fit.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace forescale {
namespace {

// Fits one pattern; its warnings go to `warnings`, with its name.
SegmentedFit fit_pattern(const std::vector<MeasuredPoint>& points, const std::string& source,
                         const SegmentedFitOptions& options, Pattern pattern,
                         std::vector<std::string>& warnings) {
  SegmentedFit fit = fit_segments(points, source + ": " + name_of(pattern), options);
  for (const std::string& warning : fit.warnings)
    warnings.push_back(fmt::format("{}: {}", name_of(pattern), warning));
  return fit;
}

}  // namespace

LogGP fit_loggp(const LogGPPoints& points, const std::string& source,
                const SegmentedFitOptions& options) {
  LogGP result;
  const auto fit = [&](const std::vector<MeasuredPoint>& series, Pattern pattern) {
    return fit_pattern(series, source, options, pattern, result.warnings);
  };
  const SegmentedFit ping_pong = fit(points.ping_pong, Pattern::kPingPong);
  const SegmentedFit stream = fit(points.stream, Pattern::kStream);

  result.gap_s = stream.segments.front().alpha_s;
  result.gap_interval_s = stream.segments.front().alpha_interval_s;
  result.gap_s_per_byte = stream.segments.back().beta_s_per_byte;
  result.gap_interval_s_per_byte = stream.segments.back().beta_interval_s_per_byte;
  const Interval slope = ping_pong.segments.back().beta_interval_s_per_byte;
  if (slope.low > result.gap_interval_s_per_byte.high ||
      slope.high < result.gap_interval_s_per_byte.low)
    result.warnings.push_back(
        fmt::format("large messages take {:.4g} s/byte in the ping-pong and {:.4g} in the stream: "
                    "LogGP has one G, the stream's",
                    ping_pong.segments.back().beta_s_per_byte, result.gap_s_per_byte));

  const double one_way_s = ping_pong.segments.front().alpha_s;  // L + 2 o
  const Interval one_way = ping_pong.segments.front().alpha_interval_s;
  const double possible_s = std::min(result.gap_s, one_way_s / 2);
  result.overhead_interval_s = {0, possible_s};
  result.overhead_s = possible_s / 2;
  if (!points.late_receive.empty()) {
    const SegmentedFit sender = fit(points.late_receive, Pattern::kLateReceive);
    const Interval measured = sender.segments.front().alpha_interval_s;
    if (measured.low > std::min(result.gap_interval_s.high, one_way.high / 2)) {
      result.warnings.push_back(
          fmt::format("a send takes {:.4g} s, more than the gap or half of a ping-pong allow "
                      "({:.4g} s): not taken for o",
                      sender.segments.front().alpha_s, possible_s));
    } else {
      result.overhead_measured = true;
      result.overhead_s = std::min(sender.segments.front().alpha_s, one_way_s / 2);
      result.overhead_interval_s = {std::min(measured.low, result.overhead_s), measured.high};
    }
  }
  result.latency_s = one_way_s - 2 * result.overhead_s;
  result.latency_interval_s = {std::max(0.0, one_way.low - 2 * result.overhead_interval_s.high),
                               one_way.high - 2 * result.overhead_interval_s.low};
  return result;
}

}  // namespace forescale
