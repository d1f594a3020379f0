#include "calibrate/fit/segmented_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "calibrate/fit/bootstrap.hpp"
#include "calibrate/fit/fit_quality.hpp"
#include "calibrate/fit/monotone.hpp"
#include "calibrate/fit/robust_line.hpp"
#include "calibrate/fit/segment_search.hpp"

namespace forescale {
namespace {

constexpr double kUncertaintyFloor = 0.01;
constexpr std::size_t kPointsForBreakpoint = 6;

void check_points(const std::vector<MeasuredPoint>& points, const std::string& source) {
  if (points.size() < 3)
    throw InputError({source, "/points", fmt::format("{} sizes", points.size()),
                      "a fit needs at least 3 sizes"});
  for (std::size_t i = 0; i < points.size(); ++i) {
    const MeasuredPoint& point = points[i];
    const std::string path = fmt::format("/points/{}", i);
    if (point.bytes < 0)
      throw InputError({source, path + "/bytes", fmt::to_string(point.bytes), "must be >= 0"});
    if (i > 0 && point.bytes <= points[i - 1].bytes)
      throw InputError({source, path + "/bytes", fmt::to_string(point.bytes),
                        fmt::format("must be above the size before it, {}", points[i - 1].bytes)});
    if (!(point.time_s > 0) || !std::isfinite(point.time_s))
      throw InputError(
          {source, path + "/time_s", fmt::to_string(point.time_s), "must be a positive time"});
  }
  const std::int64_t smallest = points.front().bytes;
  const std::int64_t largest = points.back().bytes;
  if (largest / 4 < smallest)
    throw InputError({source, "/points", fmt::format("{} .. {} bytes", smallest, largest),
                      "the largest size must be at least 4 times the smallest, to tell alpha from "
                      "beta"});
}

void check_options(const SegmentedFitOptions& options, const std::string& source) {
  if (options.segments_max < 1)
    throw InputError(
        {source, "segments_max", fmt::to_string(options.segments_max), "must be >= 1"});
  if (options.bootstrap_samples < 40)
    throw InputError({source, "bootstrap_samples", fmt::to_string(options.bootstrap_samples),
                      "must be >= 40, for a 95 % interval"});
  for (const std::int64_t breakpoint : options.breakpoints)
    if (breakpoint < 0)
      throw InputError({source, "breakpoint", fmt::to_string(breakpoint), "must be >= 0"});
}

struct KnownBreakpoints {
  std::vector<std::int64_t> bytes;
  std::vector<std::size_t> ends;  // index of the first larger size
};

// Those with two sizes on either side before the next; the others are warned of.
KnownBreakpoints usable_breakpoints(const std::vector<MeasuredPoint>& points,
                                    std::vector<std::int64_t> given,
                                    std::vector<std::string>& warnings) {
  std::sort(given.begin(), given.end());
  given.erase(std::unique(given.begin(), given.end()), given.end());
  KnownBreakpoints known;
  for (const std::int64_t breakpoint : given) {
    const auto above = std::find_if(points.begin(), points.end(), [&](const MeasuredPoint& point) {
      return point.bytes > breakpoint;
    });
    const std::size_t end = static_cast<std::size_t>(above - points.begin());
    const std::size_t begin = known.ends.empty() ? 0 : known.ends.back();
    if (end >= begin + 2 && end + 2 <= points.size()) {
      known.bytes.push_back(breakpoint);
      known.ends.push_back(end);
    } else {
      warnings.push_back(fmt::format(
          "breakpoint at {} bytes not used: fewer than 2 sizes on one side", breakpoint));
    }
  }
  return known;
}

// Up to which size each segment goes: a given breakpoint, else its largest measured size.
std::vector<std::int64_t> last_bytes(const Segmentation& segmentation,
                                     const std::vector<MeasuredPoint>& points,
                                     const KnownBreakpoints& known) {
  std::vector<std::int64_t> last;
  for (const std::size_t end : segmentation.ends) {
    const auto at = std::find(known.ends.begin(), known.ends.end(), end);
    last.push_back(at == known.ends.end()
                       ? points[end - 1].bytes
                       : known.bytes[static_cast<std::size_t>(at - known.ends.begin())]);
  }
  return last;
}

// The fit may not fall; where the points do, by more than their scatter, say so.
void warn_of_falls(const Segmentation& free, const std::vector<RelativePoint>& relative,
                   std::span<const double> breakpoints, std::vector<std::string>& warnings) {
  for (std::size_t k = 0; k < breakpoints.size(); ++k) {
    const double before_s = free.lines[k].time_s(breakpoints[k]);
    const double fall = 1 - free.lines[k + 1].time_s(breakpoints[k]) / before_s;
    if (fall > 2 * free.scale * relative[free.ends[k] - 1].uncertainty)
      warnings.push_back(
          fmt::format("measured times fall by {:.2g} % above {:.0f} bytes; the fit does not",
                      100 * fall, breakpoints[k]));
  }
}

// So that each contains the other of the same segment too.
void widen(std::vector<LineError>& errors, const std::vector<LineError>& others) {
  for (std::size_t k = 0; k < errors.size(); ++k) {
    LineError& error = errors[k];
    const LineError& other = others[k];
    error.alpha_low_s = std::min(error.alpha_low_s, other.alpha_low_s);
    error.alpha_high_s = std::max(error.alpha_high_s, other.alpha_high_s);
    error.beta_low_s_per_byte = std::min(error.beta_low_s_per_byte, other.beta_low_s_per_byte);
    error.beta_high_s_per_byte = std::max(error.beta_high_s_per_byte, other.beta_high_s_per_byte);
  }
}

}  // namespace

double SegmentedFit::time_s(double bytes) const {
  for (const AlphaBeta& segment : segments)
    if (bytes <= static_cast<double>(segment.up_to_bytes))
      return segment.alpha_s + segment.beta_s_per_byte * bytes;
  return segments.back().alpha_s + segments.back().beta_s_per_byte * bytes;
}

SegmentedFit fit_segments(const std::vector<MeasuredPoint>& points, const std::string& source,
                          const SegmentedFitOptions& options) {
  check_points(points, source);
  check_options(options, source);
  SegmentedFit fit;
  const KnownBreakpoints known = usable_breakpoints(points, options.breakpoints, fit.warnings);
  if (points.size() < kPointsForBreakpoint && options.segments_max > 1)
    fit.warnings.push_back(fmt::format("{} sizes: too few to look for a breakpoint ({} needed)",
                                       points.size(), kPointsForBreakpoint));
  std::vector<RelativePoint> relative;
  std::vector<double> own;
  for (const MeasuredPoint& point : points) {
    own.push_back(own_uncertainty(point));
    relative.push_back({.bytes = static_cast<double>(point.bytes),
                        .time_s = point.time_s,
                        .uncertainty = std::max(kUncertaintyFloor, own.back())});
  }
  Segmentation found = search_segments(
      relative,
      {.segments_max = static_cast<std::size_t>(options.segments_max), .forced_ends = known.ends});
  const std::span<const RelativePoint> all = relative;
  for (std::size_t k = 0; k < found.lines.size(); ++k)
    found.lines[k] = improve_line(found.lines[k], found.part(all, k), found.scale, 50);
  const BootstrapOptions bootstrap{.samples = options.bootstrap_samples, .seed = options.seed};
  std::vector<LineError> errors =
      bootstrap_lines(found, {.points = all, .own_uncertainty = own}, bootstrap);
  for (const Segmentation& shift : plausible_shifts(found, all, known.ends))
    widen(errors, bootstrap_lines(shift, {.points = all, .own_uncertainty = own}, bootstrap));

  const std::vector<std::int64_t> last = last_bytes(found, points, known);
  const std::vector<double> breakpoints(last.begin(), last.end() - 1);
  warn_of_falls(found, relative, breakpoints, fit.warnings);
  make_monotone(found, all, breakpoints);
  for (std::size_t k = 0; k < found.lines.size(); ++k) {
    const Line& line = found.lines[k];
    const LineError& error = errors[k];
    // The intervals are those of the free lines; what monotony moved stays inside.
    fit.segments.push_back(
        {.up_to_bytes = last[k],
         .alpha_s = line.alpha_s,
         .beta_s_per_byte = line.beta_s_per_byte,
         .alpha_interval_s = {std::min(error.alpha_low_s, line.alpha_s),
                              std::max(error.alpha_high_s, line.alpha_s)},
         .beta_interval_s_per_byte = {std::min(error.beta_low_s_per_byte, line.beta_s_per_byte),
                                      std::max(error.beta_high_s_per_byte, line.beta_s_per_byte)}});
    if (found.ends[k] - found.begin(k) == 2)
      fit.warnings.push_back(fmt::format("the segment up to {} bytes rests on 2 sizes", last[k]));
    for (std::size_t i = found.begin(k); i < found.ends[k]; ++i)
      if (tukey_weight(residual(line, relative[i]) / found.scale) <= 0)
        fit.outliers.push_back(points[i].bytes);
  }
  fit.residuals = residual_classes(fit, points);
  fit.ratio = ratio_band(fit, points, relative);
  for (std::string& warning : quality_warnings(fit, points))
    fit.warnings.push_back(std::move(warning));
  return fit;
}

}  // namespace forescale
