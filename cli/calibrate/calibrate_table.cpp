#include "cli/calibrate/calibrate_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cli/catalogue/catalogue.hpp"
#include "models/compute/kernel_time.hpp"

namespace forescale {
namespace {

using nlohmann::json;

std::string what(const Series& series) {
  std::string text = name_of(series.pattern);
  if (!series.op.empty()) text = series.op;
  if (!series.algorithm.empty()) text += "/" + series.algorithm;
  return text;
}

json overview(const Series& series) {
  const MeasuredPoint& first = series.points.front();
  const MeasuredPoint& last = series.points.back();
  return {{"what", what(series)},           {"ranks", series.ranks},     {"place", series.place},
          {"points", series.points.size()}, {"from_bytes", first.bytes}, {"to_bytes", last.bytes},
          {"first_time_s", first.time_s},   {"last_time_s", last.time_s}};
}

// A row a kind of kernel.
std::string kernel_table(const Measurement& measurement) {
  std::map<KernelKind, std::pair<size_t, std::pair<double, double>>> kinds;
  for (const MeasuredKernel& each : measurement.kernels) {
    auto& [count, times] =
        kinds.try_emplace(kind_of(each.kernel), 0, std::pair{each.time_s, 0.0}).first->second;
    ++count;
    times.first = std::min(times.first, each.time_s);
    times.second = std::max(times.second, each.time_s);
  }
  json rows = json::array();
  for (const auto& [kind, found] : kinds)
    rows.push_back({{"what", to_text(kind)},
                    {"count", found.first},
                    {"least_s", found.second.first},
                    {"most_s", found.second.second}});
  return table_text(rows, {{.key = "what", .heading = "<kernels"},
                           {.key = "count", .heading = "count"},
                           {.key = "least_s", .heading = "from", .text = seconds_cell},
                           {.key = "most_s", .heading = "to", .text = seconds_cell}});
}

}  // namespace

std::string measurement_table(const Measurement& measurement) {
  json rows = json::array();
  for (const Series& series : measurement.series) rows.push_back(overview(series));
  std::string text =
      table_text(rows, {{.key = "what", .heading = "<pattern"},
                        {.key = "ranks", .heading = "ranks"},
                        {.key = "place", .heading = "<place"},
                        {.key = "points", .heading = "points"},
                        {.key = "from_bytes", .heading = "from", .text = bytes_cell},
                        {.key = "first_time_s", .heading = "time", .text = seconds_cell},
                        {.key = "to_bytes", .heading = "to", .text = bytes_cell},
                        {.key = "last_time_s", .heading = "time", .text = seconds_cell}});
  if (measurement.series.empty()) text.clear();
  if (!measurement.kernels.empty()) text += (text.empty() ? "" : "\n") + kernel_table(measurement);
  if (!measurement.notes.empty()) text += "\nnotes\n";
  for (const std::string& note : measurement.notes) text += "  " + note + "\n";
  return text;
}

std::string measurement_size(const Measurement& measurement) {
  size_t points = 0;
  for (const Series& series : measurement.series) points += series.points.size();
  const size_t kernels = measurement.kernels.size();
  return fmt::format("{} series, {} point{}{}", measurement.series.size(), points,
                     points == 1 ? "" : "s",
                     kernels == 0 ? "" : fmt::format(", {} kernels", kernels));
}

}  // namespace forescale
