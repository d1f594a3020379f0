// `forescale calibrate show`: what a measurement holds.
#include <fmt/format.h>

#include <cstdio>

#include "cli/calibrate/calibrate.hpp"
#include "cli/calibrate/calibrate_table.hpp"
#include "cli/catalogue/catalogue.hpp"

namespace forescale {
namespace {

using nlohmann::json;

struct CalibrateShowOptions {
  std::string file;
  OutputOptions output;
};

// A row a point, for spreadsheets.
json point_rows(const Measurement& measurement) {
  json rows = json::array();
  for (const Series& series : measurement.series)
    for (const MeasuredPoint& point : series.points)
      rows.push_back({{"pattern", name_of(series.pattern)},
                      {"op", series.op},
                      {"algorithm", series.algorithm},
                      {"ranks", series.ranks},
                      {"place", series.place},
                      {"bytes", point.bytes},
                      {"time_s", point.time_s},
                      {"low_s", point.low_s},
                      {"high_s", point.high_s},
                      {"p10_s", point.p10_s},
                      {"p90_s", point.p90_s},
                      {"samples", point.samples},
                      {"flops", point.flops > 0 ? json(point.flops) : json()}});
  return rows;
}

json kernel_rows(const Measurement& measurement) {
  json rows = json::array();
  for (const MeasuredKernel& each : measurement.kernels) {
    json row = to_json(each);
    row["kernel"] = to_text(each.kernel);
    for (const char* key : {"network", "layer", "algorithm"})
      if (!row.contains(key)) row[key] = "";
    row["low_s"] = each.low_s;
    row["high_s"] = each.high_s;
    row["samples"] = each.samples;
    rows.push_back(std::move(row));
  }
  return rows;
}

void print_people(const Measurement& measurement) {
  const auto line = [](const std::string& name, const std::string& value) {
    if (!value.empty()) fmt::print("{}: {}\n", name, value);
  };
  line("machine", measurement.machine);
  line("library", measurement.library);
  for (const auto& [key, value] : measurement.provenance) line(key, value);
  for (const auto& [key, value] : measurement.gpu) line("GPU " + key, value);
  fmt::print("\n{}", measurement_table(measurement));
}

void show(const CalibrateShowOptions& options) {
  const Measurement measurement = read_measurement(options.file);
  if (options.output.json)
    fmt::print("{}\n", to_json(measurement).dump(1, ' ', false, json_errors()));
  else if (options.output.csv && measurement.series.empty())
    print_rows(kernel_rows(measurement),
               {{.key = "kernel", .heading = ""},
                {.key = "pass", .heading = ""},
                {.key = "precision", .heading = ""},
                {.key = "time_s", .heading = ""},
                {.key = "low_s", .heading = ""},
                {.key = "high_s", .heading = ""},
                {.key = "samples", .heading = ""},
                {.key = "network", .heading = ""},
                {.key = "layer", .heading = ""},
                {.key = "algorithm", .heading = ""}},
               options.output);
  else if (options.output.csv)
    print_rows(point_rows(measurement),
               {{.key = "pattern", .heading = ""},
                {.key = "op", .heading = ""},
                {.key = "algorithm", .heading = ""},
                {.key = "ranks", .heading = ""},
                {.key = "place", .heading = ""},
                {.key = "bytes", .heading = ""},
                {.key = "time_s", .heading = ""},
                {.key = "low_s", .heading = ""},
                {.key = "high_s", .heading = ""},
                {.key = "p10_s", .heading = ""},
                {.key = "p90_s", .heading = ""},
                {.key = "samples", .heading = ""},
                {.key = "flops", .heading = ""}},
               options.output);
  else
    print_people(measurement);
}

void add_calibrate_show(Subcommand calibrate) {
  auto options = std::make_shared<CalibrateShowOptions>();
  Subcommand verb = add_verb(
      calibrate,
      {.name = "show",
       .summary = "A measurement: series, sizes, times, kernels; with --csv every point",
       .examples = {"calibrate show measurement.json", "calibrate show measurement.json --csv"}});
  verb.add_option("FILE", options->file, "Measurement").required();
  add_output_options(verb, options->output);
  verb.callback([options] { show(*options); });
}

const bool kCalibrateShowRegistered =
    Registry<CalibrateCommand>::add({.name = "show", .add = add_calibrate_show});

}  // namespace

}  // namespace forescale
