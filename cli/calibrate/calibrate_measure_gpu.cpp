#include "cli/calibrate/calibrate_measure_gpu.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/units.hpp"
#include "calibrate/measure/measure_gpu.hpp"
#include "cli/text.hpp"

namespace forescale {
namespace {

constexpr const char* kNone = "none";
constexpr const char* kAll = "all";

[[noreturn]] void refuse_unknown(const std::string& option, const std::string& value,
                                 const std::vector<std::string>& known) {
  throw InputError(
      {.source = option, .path = "", .value = value, .constraint = unknown_name(value, known)});
}

bool is_only(const std::vector<std::string>& names, const char* word) {
  return names == std::vector<std::string>{word};
}

void read_gpu_patterns(const std::vector<std::string>& names, GpuMeasureOptions& options) {
  if (is_only(names, kNone)) {
    options.measures_patterns = false;
    return;
  }
  std::vector<std::string> known;
  for (const Pattern pattern : measurable_patterns()) known.emplace_back(name_of(pattern));
  for (const std::string& name : names) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end()) {
      known.emplace_back(kNone);
      refuse_unknown("--patterns", name, known);
    }
    options.patterns.push_back(
        measurable_patterns()[static_cast<std::size_t>(found - known.begin())]);
  }
}

std::vector<std::string> read_networks(const std::vector<std::string>& names) {
  if (is_only(names, kNone)) return {};
  if (names.empty() || is_only(names, kAll)) return measurable_networks();
  return names;
}

std::vector<Precision> read_precisions(const std::vector<std::string>& names) {
  std::vector<Precision> precisions;
  for (const std::string& name : names) {
    std::vector<std::string> known;
    const std::size_t before = precisions.size();
    for (const Precision one :
         {Precision::kFp32, Precision::kTf32, Precision::kFp16, Precision::kBf16}) {
      known.emplace_back(name_of(one));
      if (name == name_of(one)) precisions.push_back(one);
    }
    if (precisions.size() == before) refuse_unknown("--precisions", name, known);
  }
  return precisions;
}

// What to type to measure the same again.
std::string command_text(const GpuChoice& choice, const CommonChoice& common,
                         const GpuMeasureOptions& options) {
  std::string text = fmt::format("forescale calibrate measure --gpu --device {} --budget {}",
                                 options.device, common.budget.empty() ? "60s" : common.budget);
  if (!common.bytes_max.empty()) text += " --max-bytes " + common.bytes_max;
  const auto put = [&](const char* option, const auto& values) {
    if (!values.empty()) text += fmt::format(" {} {}", option, fmt::join(values, ","));
  };
  put("--patterns", common.patterns);
  put("--networks", choice.networks);
  put("--batches", choice.batches);
  put("--precisions", choice.precisions);
  if (options.layout != "nchw") text += " --layout " + options.layout;
  return text;
}

GpuMeasureOptions options_of(const GpuChoice& choice, const CommonChoice& common) {
  GpuMeasureOptions options;
  options.device = choice.device;
  if (!common.budget.empty()) options.budget_s = parse_seconds(common.budget, "--budget").value;
  if (!common.bytes_max.empty())
    options.bytes_max = parse_bytes(common.bytes_max, "--max-bytes").value;
  read_gpu_patterns(common.patterns, options);
  options.networks = read_networks(choice.networks);
  if (!choice.batches.empty()) options.batches = choice.batches;
  if (!choice.precisions.empty()) options.precisions = read_precisions(choice.precisions);
  options.layout = choice.layout;
  options.machine = common.machine;
  options.provenance["command"] = command_text(choice, common, options);
  if (!options.measures_patterns && options.networks.empty())
    throw InputError({.source = "--networks",
                      .path = "",
                      .value = kNone,
                      .constraint = "leaves nothing to measure beside --patterns none"});
  return options;
}

}  // namespace

void add_gpu_options(Subcommand command, GpuChoice& choice,
                     const std::vector<std::string>& others) {
  CommandOption gpu = command.add_flag(
      "--gpu", choice.is_wanted, "A GPU of this machine: copies, reductions, layers of networks");
  for (const std::string& other : others) gpu.excludes(command.get_option(other));
  command.add_option("--device", choice.device, "Which GPU (default 0)")
      .in_range(0, 1023)
      .needs(gpu);
  command
      .add_option("--networks", choice.networks,
                  "Whose layers are timed: alexnet,resnet-50,...; all (default, the smallest "
                  "first); none")
      .delimiter(',')
      .needs(gpu);
  command.add_option("--batches", choice.batches, "Batches of each layer (default 1,8,32)")
      .delimiter(',')
      .needs(gpu);
  command
      .add_option("--precisions", choice.precisions,
                  "The first is measured first (default fp32,tf32,fp16,bf16)")
      .delimiter(',')
      .needs(gpu);
  command.add_option("--layout", choice.layout, "Of convolutions: nchw (default) or nhwc")
      .one_of({"nchw", "nhwc"})
      .needs(gpu);
  command
      .add_option("--request", choice.request_file,
                  "Measure nothing: write what forescale-gpu is to be asked on another machine")
      .needs(gpu);
}

void measure_on_gpu(const GpuChoice& choice, const CommonChoice& common) {
  const GpuMeasureOptions options = options_of(choice, common);
  const std::string request =
      gpu_request(options);  // first, so that bad options are refused anywhere
  if (!choice.request_file.empty()) {
    write_file(choice.request_file, request + "\n", "--request");
    fmt::print("{}: forescale-gpu {} ANSWER.json\n", choice.request_file, choice.request_file);
    return;
  }
  const std::string program = gpu_program();
  check_writable(common.output.file, "-o");
  NotedSignals signals;
  const MeasureOutcome outcome = measure_gpu({program}, options, show_progress);
  show_progress("");
  conclude(outcome, common.output, signals);
}

}  // namespace forescale
