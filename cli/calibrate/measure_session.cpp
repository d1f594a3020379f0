#include "cli/calibrate/measure_session.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/calibrate/calibrate_table.hpp"
#include "cli/text.hpp"

namespace forescale {
namespace {

std::string cell(const MeasuredPoint& point) {
  const std::string text =
      fmt::format("{}: {}", to_text(Bytes{point.bytes}), to_text(Seconds{point.time_s}));
  if (point.samples == 1) return text + " (once)";
  return fmt::format("{} +-{:.1f} %", text, 50 * (point.high_s - point.low_s) / point.time_s);
}

// Series with few sizes stand together in one row: how far they are apart.
std::string spread_text(const std::vector<const Series*>& alike) {
  std::string text;
  for (std::size_t i = 0; i < alike.front()->points.size(); ++i) {
    std::vector<double> times;
    for (const Series* series : alike)
      if (i < series->points.size()) times.push_back(series->points[i].time_s);
    const auto [least, most] = std::minmax_element(times.begin(), times.end());
    text += fmt::format("{}{}: {} to {}", i == 0 ? "" : ", ",
                        to_text(Bytes{alike.front()->points[i].bytes}), to_text(Seconds{*least}),
                        to_text(Seconds{*most}));
  }
  return text;
}

std::string series_text(const std::vector<Series>& all) {
  Table table({"<pattern", "ranks", "<smallest", "<middle", "<largest"});
  std::vector<const Series*> pairs;
  for (const Series& series : all) {
    const auto& points = series.points;
    if (series.pattern == Pattern::kPingPong && points.size() <= 2) {
      pairs.push_back(&series);
      continue;
    }
    table.add({series.op.empty() ? name_of(series.pattern) : "library's " + series.op,
               std::to_string(series.ranks), cell(points.front()),
               points.size() > 2 ? cell(points[points.size() / 2]) : "",
               points.size() > 1 ? cell(points.back()) : ""});
  }
  std::string text = table.text();
  if (!pairs.empty())
    text += fmt::format("ping-pong of {} more pairs: {}\n", pairs.size(), spread_text(pairs));
  return text;
}

// Rates of the kernels by what they have in common.
std::string kernels_text(const std::vector<MeasuredKernel>& kernels) {
  std::map<std::array<std::string, 3>, std::vector<double>> rates;
  for (const MeasuredKernel& one : kernels)
    rates[{operation_of(one.kernel), name_of(one.kernel.pass), name_of(one.kernel.precision)}]
        .push_back(flops_of(one.kernel) / one.time_s);
  Table table(
      {"<kernels", "<pass", "<precision", "number", "slowest", "median", "fastest TFLOP/s"});
  for (auto& [kind, of_kind] : rates) {
    std::sort(of_kind.begin(), of_kind.end());
    const auto tera = [](double rate) { return fmt::format("{:.3g}", rate / 1e12); };
    table.add({kind[0], kind[1], kind[2], std::to_string(of_kind.size()), tera(of_kind.front()),
               tera(of_kind[of_kind.size() / 2]), tera(of_kind.back())});
  }
  return table.text();
}

std::string results_text(const Measurement& measurement) {
  std::string text;
  if (!measurement.series.empty()) text += series_text(measurement.series);
  if (!measurement.kernels.empty()) text += kernels_text(measurement.kernels);
  for (const std::string& note : measurement.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace

void conclude(const MeasureOutcome& outcome, const MeasureOutput& output, NotedSignals& signals) {
  const Measurement& measurement = outcome.measurement;
  const bool is_empty = measurement.series.empty() && measurement.kernels.empty();
  const bool is_kept = !is_empty && !output.file.empty();
  if (is_kept) write_measurement(measurement, output.file);
  signals.raise_received();
  if (!outcome.failure.empty())
    throw SimulationStuck(outcome.failure + (is_kept
                                                 ? "; what was measured so far is in " + output.file
                                                 : "; nothing was kept"));
  if (output.json)
    fmt::print("{}\n", to_json(measurement).dump(1, ' ', false, json_errors()));
  else
    fmt::print("{}", results_text(measurement));
  if (!output.json && is_kept) fmt::print("{}: {}\n", output.file, measurement_size(measurement));
}

}  // namespace forescale
