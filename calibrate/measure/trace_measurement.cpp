#include "calibrate/measure/trace_measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.hpp"
#include "calibrate/bench/patterns/sample_summary.hpp"
#include "calibrate/fit/estimate.hpp"

namespace forescale {
namespace {

MeasuredPoint point_of(std::int64_t bytes, const std::vector<double>& times_s) {
  const SampleSummary summary = summarize(times_s);
  return {.bytes = bytes,
          .time_s = summary.median,
          .low_s = summary.low,
          .high_s = summary.high,
          .p10_s = summary.p10,
          .p90_s = summary.p90,
          .samples = summary.samples};
}

}  // namespace

Measurement trace_measurement(const ImportedTrace& trace, const std::string& file) {
  using Kind = std::tuple<CollectiveOp, int, bool>;  // ranks, on the host
  std::map<Kind, std::map<std::int64_t, std::vector<double>>> times_s;
  int partly = 0;
  for (const MeasuredCall& call : trace.measured.calls) {
    if (!(call.time_s > 0) || call.ranks < 2 || call.bytes <= 0) continue;
    times_s[{call.op, call.ranks, call.on_host}][call.bytes].push_back(call.time_s);
    if (call.traced_ranks < call.ranks) ++partly;
  }
  if (times_s.empty())
    throw InputError({.source = file,
                      .path = "",
                      .value = "",
                      .constraint = "has no times of collectives to make a measurement of"});
  Measurement measurement{.machine = trace.measured.gpu,
                          .library = "",
                          .provenance = {{"trace", file}},
                          .notes = {"out of a trace: compute and other communication ran beside"}};
  if (partly > 0)
    measurement.notes.push_back(fmt::format(
        "{} collectives with ranks that were not traced: their times may hold waits for those",
        partly));
  for (const auto& [kind, by_bytes] : times_s) {
    const auto& [op, ranks, on_host] = kind;
    Series series{.pattern = Pattern::kCollective,
                  .ranks = ranks,
                  .members = {},
                  .place = on_host ? "host" : "gpu",
                  .op = name_of(op)};
    for (const auto& [bytes, samples_s] : by_bytes)
      series.points.push_back(point_of(bytes, samples_s));
    measurement.series.push_back(std::move(series));
  }
  return measurement;
}

std::vector<AlphaBeta> alpha_beta_of(const Series& series) {
  const std::vector<MeasuredPoint>& points = series.points;
  if (points.size() < 3 || points.back().bytes < 4 * points.front().bytes) return {};
  return fit_medians(points, name_of(series.pattern), {}).segments;
}

}  // namespace forescale
