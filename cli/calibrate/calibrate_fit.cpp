// `forescale calibrate fit`: a measurement into a platform file and a stack file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/median.hpp"
#include "base/output_file.hpp"
#include "base/units.hpp"
#include "calibrate/fit/fit_cluster.hpp"
#include "calibrate/fit/fit_gpu.hpp"
#include "cli/calibrate/calibrate.hpp"
#include "cli/calibrate/calibrate_fit_gpu.hpp"
#include "cli/catalogue/catalogue.hpp"
#include "cli/command.hpp"
#include "cli/text.hpp"
#include "models/hardware.hpp"
#include "studies/execute/held_out.hpp"

namespace forescale {
namespace {

using nlohmann::json;

struct CalibrateFitOptions {
  std::vector<std::string> measurements;
  std::string gpu_file;
  HoldOutOptions splits;
  std::string name = "measured";
  std::string emulated_gpu;
  std::vector<int> switches;
  int hosts = 0;
  int ranks_per_host = 1;
  bool hold_out = false;
  std::string platform_file;
  std::string stack_file;
  bool force = false;
  OutputOptions output;
  std::string line;  // as typed
};

void refuse_to_replace(const std::string& file, const std::string& option) {
  if (std::filesystem::exists(file))
    throw InputError({.source = option,
                      .path = "",
                      .value = file,
                      .constraint = "exists already; --force replaces it"});
}

std::string fitted_text(const FittedNumber& number, double value) {
  if (number.unit == "s") return to_text(Seconds{value});
  if (number.unit == "bytes") return to_text(Bytes{std::llround(value)});
  return to_text(BytesPerSecond{value});
}

json to_json(const ClusterFit& fit, const CalibrateFitOptions& options) {
  json numbers = json::array();
  for (const FittedNumber& number : fit.numbers)
    numbers.push_back({{"what", number.what},
                       {"from", number.from},
                       {"unit", number.unit},
                       {"value", number.value},
                       {"low", number.interval.low},
                       {"high", number.interval.high}});
  json residuals = json::array();
  for (const ResidualClass& each : fit.residuals)
    residuals.push_back({{"from_bytes", each.from_bytes},
                         {"to_bytes", each.to_bytes},
                         {"points", each.points},
                         {"median_abs", each.median_abs},
                         {"worst", each.worst}});
  return {
      {"format", "forescale-fit-1"}, {"command", options.line}, {"platform", options.platform_file},
      {"stack", options.stack_file}, {"numbers", numbers},      {"residuals", residuals},
      {"warnings", fit.warnings}};
}

void print(const ClusterFit& fit, const CalibrateFitOptions& options) {
  Table table({"<number", "value", "low", "high", "<from"});
  for (const FittedNumber& number : fit.numbers)
    table.add({number.what, fitted_text(number, number.value),
               fitted_text(number, number.interval.low), fitted_text(number, number.interval.high),
               number.from});
  fmt::print("{}\n", table.text());
  Table residuals({"<ping-pong", "points", "median |residual|", "worst"});
  for (const ResidualClass& each : fit.residuals)
    residuals.add(
        {fmt::format("{} to {}", to_text(Bytes{each.from_bytes}), to_text(Bytes{each.to_bytes})),
         std::to_string(each.points), fmt::format("{:.1f} %", 100 * each.median_abs),
         fmt::format("{:+.1f} %", 100 * each.worst)});
  fmt::print("{}", residuals.text());
  for (const std::string& warning : fit.warnings) fmt::print("note: {}\n", warning);
  fmt::print("\nplatform: {}\nstack:    {}\n", options.platform_file, options.stack_file);
}

json to_json(const std::vector<HeldOutRow>& rows) {
  json all = json::array();
  for (const HeldOutRow& row : rows) {
    json plans = json::array();
    for (const HeldOutRow::Plan& plan : row.plans)
      plans.push_back({{"algorithm", plan.algorithm},
                       {"predicted_s", plan.time.time_s},
                       {"low_s", plan.time.low_s},
                       {"high_s", plan.time.high_s},
                       {"error", row.error(plan)}});
    all.push_back({{"op", name_of(row.op)},
                   {"ranks", row.ranks},
                   {"ranks_per_host", row.ranks_per_host},
                   {"bytes", row.bytes},
                   {"measured_s", row.measured_s},
                   {"plans", plans}});
  }
  return all;
}

std::string cell(const HeldOutRow& row, const HeldOutRow::Plan& plan) {
  return fmt::format("{} {} ({:+.0f} %)", plan.algorithm, to_text(Seconds{plan.time.time_s}),
                     100 * row.error(plan));
}

double median_error(const std::vector<HeldOutRow>& rows,
                    const HeldOutRow::Plan& (HeldOutRow::*plan)() const) {
  std::vector<double> errors;
  for (const HeldOutRow& row : rows) errors.push_back(std::abs(row.error((row.*plan)())));
  return median(std::move(errors));
}

void print(const std::vector<HeldOutRow>& rows) {
  fmt::print(
      "\ncollectives in the measurement, predicted from its point-to-point patterns alone\n");
  Table table({"<operation", "ranks", "on hosts", "size", "measured", "<the nearest plan",
               "<the fastest plan"});
  bool all_stated = true;
  for (const HeldOutRow& row : rows) {
    all_stated = all_stated && row.plans.size() == 1;
    table.add({name_of(row.op), std::to_string(row.ranks),
               std::to_string(row.ranks / row.ranks_per_host), to_text(Bytes{row.bytes}),
               to_text(Seconds{row.measured_s}), cell(row, row.nearest()),
               row.plans.size() == 1 ? "" : cell(row, row.fastest())});
  }
  fmt::print("{}median |error|: {:.1f} %", table.text(),
             100 * median_error(rows, &HeldOutRow::nearest));
  if (!all_stated)
    fmt::print(
        " of the nearest plan, {:.1f} % of the fastest; which plan the library took is not "
        "stated",
        100 * median_error(rows, &HeldOutRow::fastest));
  fmt::print("\n");
}

void fit_hosts(CalibrateFitOptions options, const Measurement& measurement) {
  if (options.platform_file.empty()) options.platform_file = options.name + "-platform.json";
  if (options.stack_file.empty()) options.stack_file = options.name + "-stack.json";
  if (!options.force) {
    refuse_to_replace(options.platform_file, "--platform-file");
    refuse_to_replace(options.stack_file, "--stack-file");
  }
  if (!options.emulated_gpu.empty()) load_gpu(options.emulated_gpu, "--emulated-gpu", nullptr);
  const std::string& file = options.measurements.front();
  const ClusterFitOptions fit_options{.name = options.name,
                                      .emulated_gpu = options.emulated_gpu,
                                      .switches = options.switches,
                                      .hosts = options.hosts,
                                      .ranks_per_host = options.ranks_per_host};
  const ClusterFit fit = fit_cluster(measurement, file, fit_options);
  write_json(options.platform_file, fit.platform, "--platform-file");
  write_json(options.stack_file, fit.stack, "--stack-file");
  std::vector<HeldOutRow> held_out;
  if (options.hold_out) held_out = predict_held_out(measurement, file, fit_options);
  if (options.output.json) {
    json document = to_json(fit, options);
    if (options.hold_out) document["held_out"] = to_json(held_out);
    fmt::print("{}\n", document.dump(2));
    return;
  }
  print(fit, options);
  if (options.hold_out) print(held_out);
}

// Whether all are of GPUs. Several of hosts are refused.
bool are_gpus(const CalibrateFitOptions& options, const std::vector<Measurement>& measurements) {
  if (std::all_of(measurements.begin(), measurements.end(), is_gpu_measurement)) return true;
  if (measurements.size() > 1)
    throw InputError({.source = "measurement",
                      .path = "",
                      .value = options.measurements[1],
                      .constraint = "must be the only one: only measurements of GPUs are taken "
                                    "together, with --hold-out"});
  return false;
}

void run(CalibrateFitOptions options) {
  std::vector<Measurement> measurements;
  Problems problems;
  for (const std::string& file : options.measurements)
    problems.attempt([&] { measurements.push_back(read_measurement(file)); });
  problems.raise("calibrate fit");
  if (are_gpus(options, measurements))
    fit_gpu_measurements({.files = options.measurements,
                          .measurements = std::move(measurements),
                          .name = options.name,
                          .out = options.gpu_file,
                          .force = options.force,
                          .hold_out = options.hold_out,
                          .splits = options.splits,
                          .output = options.output,
                          .line = options.line});
  else
    fit_hosts(std::move(options), measurements.front());
}

void add_calibrate_fit(Subcommand calibrate) {
  auto options = std::make_shared<CalibrateFitOptions>();
  Subcommand command =
      calibrate.add_subcommand("fit",
                               "From a measurement to a platform file and a stack file; of a GPU "
                               "to a GPU model");
  command.footer(
      "Every number gets an interval; `predict` and `collective --interval` carry it on.\n\n"
      "Examples:\n"
      "  forescale calibrate measure --testbed demo -o demo.json\n"
      "  forescale calibrate fit demo.json --name demo\n"
      "  forescale collective --platform demo-platform.json --stack demo-stack.json \\\n"
      "    --op all-reduce --algorithm ring --bytes 1MiB --interval\n"
      "  forescale calibrate fit two-hosts.json --name rack --hosts 64    # before they are "
      "bought\n"
      "  forescale calibrate fit measurement.json --hold-out\n"
      "  forescale calibrate fit gpu.json --name my-gpu -o my-gpu-model.json\n"
      "  forescale calibrate fit --hold-out calibrate/published_gpus/*.json   # kernels");
  command
      .add_option("measurement", options->measurements,
                  "What `calibrate measure` or `calibrate import` wrote")
      .required();
  command.add_option("--name", options->name, "Name of platform and stack (default: measured)");
  command.add_option("--emulated-gpu", options->emulated_gpu,
                     "GPU whose compute times the hosts wait out, to predict training on them");
  command
      .add_option("--switches", options->switches,
                  "Switch of each host where that is known: 0,0,1,1 (default: found from pairs)")
      .delimiter(',')
      .non_negative();
  command
      .add_option("--hosts", options->hosts,
                  "Hosts of the platform; further ones are like those measured (default: as "
                  "measured)")
      .in_range(1, 1 << 16);
  command
      .add_option("--ranks-per-host", options->ranks_per_host,
                  "Ranks that share a host and its link (default: 1)")
      .in_range(1, 1000);
  command.add_flag("--hold-out", options->hold_out,
                   "Predict the collectives that the measurement holds too, and print the error; "
                   "of GPUs: fit on a part of the kernels and predict the others");
  command.add_option("--hold-out-share", options->splits.share,
                     "Part of the kernels' shapes that is predicted (default: 0.5)");
  command.add_option("--splits", options->splits.splits,
                     "How often kernels are split anew (default: 5)");
  command.add_flag("--by-layer", options->splits.by_layer,
                   "Keep all batches of a layer on one side of a split");
  command.add_option("--seed", options->splits.seed, "Of splits and intervals (default: 1)");
  command.add_option("-o,--out", options->gpu_file, "GPU model to write (default: NAME-gpu.json)");
  command.add_option("--platform-file", options->platform_file,
                     "Platform to write (default: NAME-platform.json)");
  command.add_option("--stack-file", options->stack_file,
                     "Stack to write (default: NAME-stack.json)");
  command.add_flag("--force", options->force, "Replace files that exist");
  add_output_options(command, options->output);
  command.callback([options, command] {
    options->line = command.line();
    run(*options);
  });
}

const bool kCalibrateFitRegistered =
    Registry<CalibrateCommand>::add({.name = "fit", .add = add_calibrate_fit});

}  // namespace
}  // namespace forescale
