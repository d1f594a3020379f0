#include "cli/calibrate_table.hpp"

#include <fmt/format.h>

#include "cli/catalogue.hpp"

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
  if (!measurement.notes.empty()) text += "\nnotes\n";
  for (const std::string& note : measurement.notes) text += "  " + note + "\n";
  return text;
}

std::string measurement_size(const Measurement& measurement) {
  size_t points = 0;
  for (const Series& series : measurement.series) points += series.points.size();
  return fmt::format("{} series, {} point{}", measurement.series.size(), points,
                     points == 1 ? "" : "s");
}

}  // namespace forescale
