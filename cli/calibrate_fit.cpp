// `forescale calibrate fit`: a measurement into a platform file and a stack file.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "calibrate/fit_cluster.hpp"
#include "cli/calibrate.hpp"
#include "cli/command.hpp"
#include "cli/text.hpp"
#include "models/error.hpp"
#include "models/units.hpp"

namespace forescale {
namespace {

using nlohmann::json;

struct Options {
  std::string measurement;
  std::string name = "measured";
  std::string emulated_gpu;
  std::vector<int> switches;
  std::string platform_file;
  std::string stack_file;
  bool force = false;
  OutputOptions output;
};

void write_file(const std::string& file, const json& content, const Options& options,
                const std::string& option) {
  if (!options.force && std::filesystem::exists(file))
    throw InputError({.source = option,
                      .path = "",
                      .value = file,
                      .constraint = "exists already; --force replaces it"});
  std::ofstream out(file);
  out << content.dump(2) << '\n';
  if (!out.flush())
    throw InputError(
        {.source = option, .path = "", .value = file, .constraint = "cannot be written"});
}

std::string value_text(const FittedNumber& number, double value) {
  if (number.unit == "s") return to_text(Seconds{value});
  if (number.unit == "bytes") return to_text(Bytes{std::llround(value)});
  return to_text(BytesPerSecond{value});
}

json to_json(const ClusterFit& fit, const Options& options) {
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
  return {{"platform", options.platform_file},
          {"stack", options.stack_file},
          {"numbers", numbers},
          {"residuals", residuals},
          {"warnings", fit.warnings}};
}

void print(const ClusterFit& fit, const Options& options) {
  Table table({"<number", "value", "low", "high", "<from"});
  for (const FittedNumber& number : fit.numbers)
    table.add({number.what, value_text(number, number.value),
               value_text(number, number.interval.low), value_text(number, number.interval.high),
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

void run(Options options) {
  if (options.platform_file.empty()) options.platform_file = options.name + "-platform.json";
  if (options.stack_file.empty()) options.stack_file = options.name + "-stack.json";
  const ClusterFit fit = fit_cluster(
      read_measurement(options.measurement), options.measurement,
      {.name = options.name, .emulated_gpu = options.emulated_gpu, .switches = options.switches});
  write_file(options.platform_file, fit.platform, options, "--platform-file");
  write_file(options.stack_file, fit.stack, options, "--stack-file");
  if (options.output.json)
    fmt::print("{}\n", to_json(fit, options).dump(2));
  else
    print(fit, options);
}

void add(CLI::App& calibrate) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      calibrate.add_subcommand("fit", "From a measurement to a platform file and a stack file");
  command->footer(
      "Every number gets an interval; `predict` and `collective --interval` carry it on.\n\n"
      "Examples:\n"
      "  forescale calibrate measure --testbed demo -o demo.json\n"
      "  forescale calibrate fit demo.json --name demo\n"
      "  forescale collective --platform demo-platform.json --stack demo-stack.json \\\n"
      "    --op all-reduce --algorithm ring --bytes 1MiB --interval");
  command->add_option("measurement", options->measurement, "What `calibrate measure` wrote")
      ->required();
  command->add_option("--name", options->name, "Name of platform and stack (default: measured)");
  command->add_option("--emulated-gpu", options->emulated_gpu,
                      "GPU whose compute times the hosts wait out, to predict training on them");
  command
      ->add_option("--switches", options->switches,
                   "Switch of each host where that is known: 0,0,1,1 (default: found from pairs)")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber);
  command->add_option("--platform-file", options->platform_file,
                      "Platform to write (default: NAME-platform.json)");
  command->add_option("--stack-file", options->stack_file,
                      "Stack to write (default: NAME-stack.json)");
  command->add_flag("--force", options->force, "Replace files that exist");
  add_output_options(*command, options->output);
  command->callback([options] { run(*options); });
}

const bool kRegistered = Registry<CalibrateCommand>::add({.name = "fit", .add = add});

}  // namespace
}  // namespace forescale
