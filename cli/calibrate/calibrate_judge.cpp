// `forescale calibrate judge`: a GPU model against kernels that were measured.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/median.hpp"
#include "base/units.hpp"
#include "calibrate/fit/quantile.hpp"
#include "calibrate/measure/measurement.hpp"
#include "cli/calibrate/calibrate.hpp"
#include "cli/catalogue/catalogue.hpp"
#include "cli/text.hpp"
#include "models/compute/compute_choice.hpp"
#include "models/compute/nearest_kernel.hpp"

namespace forescale {
namespace {

using nlohmann::json;

struct CalibrateJudgeOptions {
  std::string file;
  std::string gpu;
  std::string gpu_model;
  OutputOptions output;
};

struct JudgedKernel {
  MeasuredKernel measured;
  NearestKernel predicted;
  double ratio() const { return predicted.time_s / measured.time_s; }
};

struct Judged {
  std::string model;
  std::vector<JudgedKernel> kernels;
  int unknown = 0;  // kernels that the model has nothing for
};

Judged judge(const CalibrateJudgeOptions& options) {
  const Measurement measurement = read_measurement(options.file);
  const GpuModel gpu = load_gpu(options.gpu, "--gpu", nullptr);
  const std::string model = options.gpu_model.empty() ? gpu.fitted : options.gpu_model;
  if (model.empty())
    refuse("--gpu", options.gpu, "has no GPU model of its own: --gpu-model must name one");
  const FittedGpu fitted = model_on(gpu, model, "--gpu-model", nullptr);
  const NearestKernels nearest(fitted, gpu, nullptr);
  Judged judged{.model = model, .kernels = {}};
  for (const MeasuredKernel& each : measurement.kernels)
    if (const auto predicted = nearest.find(each.kernel))
      judged.kernels.push_back({.measured = each, .predicted = *predicted});
    else
      ++judged.unknown;
  if (judged.kernels.empty())
    throw InputError({.source = options.file,
                      .path = "/kernels",
                      .value = "",
                      .constraint = fmt::format("must have kernels that {} knows", model)});
  return judged;
}

const char* basis_of(const NearestKernel& predicted) {
  if (predicted.is_scaled) return "scaled";
  return predicted.is_near ? "near shapes" : "roofline";
}

json kernel_rows(const Judged& judged) {
  json rows = json::array();
  for (const JudgedKernel& each : judged.kernels)
    rows.push_back({{"kernel", to_text(each.measured.kernel)},
                    {"pass", name_of(each.measured.kernel.pass)},
                    {"precision", name_of(each.measured.kernel.precision)},
                    {"algorithm", each.measured.algorithm},
                    {"flops", flops_of(each.measured.kernel)},
                    {"measured_s", each.measured.time_s},
                    {"predicted_s", each.predicted.time_s},
                    {"ratio", each.ratio()},
                    {"basis", basis_of(each.predicted)}});
  return rows;
}

// By kind; attention by who runs it too (libraries name dozens of algorithms of convolutions).
std::string judged_kind(const MeasuredKernel& measured) {
  std::string group = to_text(kind_of(measured.kernel));
  if (std::holds_alternative<AttentionShape>(measured.kernel.shape) && !measured.algorithm.empty())
    group += ", " + measured.algorithm;
  return group;
}

json group_rows(const Judged& judged) {
  std::map<std::string, std::vector<double>> ratios;
  for (const JudgedKernel& each : judged.kernels)
    ratios[judged_kind(each.measured)].push_back(each.ratio());
  json rows = json::array();
  for (const auto& [group, of_group] : ratios) {
    std::vector<double> errors;
    for (const double ratio : of_group) errors.push_back(std::abs(ratio - 1));
    rows.push_back({{"kernels", group},
                    {"count", of_group.size()},
                    {"median_ratio", median(of_group)},
                    {"median_abs_error", median(errors)},
                    {"p90_abs_error", quantile(errors, 0.9)}});
  }
  return rows;
}

std::string error_percent_cell(const json& value) {
  return fmt::format("{:.1f} %", 100 * value.get<double>());
}

std::string two_digit_cell(const json& value) { return fmt::format("{:.2f}", value.get<double>()); }

void print_judged(const CalibrateJudgeOptions& options) {
  const Judged judged = judge(options);
  if (options.output.json) {
    fmt::print("{}\n", json{{"format", "forescale-gpu-judged-1"},
                            {"gpu", options.gpu},
                            {"gpu_model", judged.model},
                            {"unknown", judged.unknown},
                            {"groups", group_rows(judged)},
                            {"kernels", kernel_rows(judged)}}
                           .dump(2));
    return;
  }
  if (options.output.csv) {
    print_rows(kernel_rows(judged),
               {{.key = "kernel", .heading = ""},
                {.key = "pass", .heading = ""},
                {.key = "precision", .heading = ""},
                {.key = "algorithm", .heading = ""},
                {.key = "flops", .heading = ""},
                {.key = "measured_s", .heading = ""},
                {.key = "predicted_s", .heading = ""},
                {.key = "ratio", .heading = ""},
                {.key = "basis", .heading = ""}},
               options.output);
    return;
  }
  fmt::print(
      "{} on {} by the model {}: predicted over measured\n\n{}", options.file, options.gpu,
      judged.model,
      table_text(group_rows(judged),
                 {{.key = "kernels", .heading = "<kernels"},
                  {.key = "count", .heading = "count"},
                  {.key = "median_ratio", .heading = "median", .text = two_digit_cell},
                  {.key = "median_abs_error", .heading = "error", .text = error_percent_cell},
                  {.key = "p90_abs_error", .heading = "90 %", .text = error_percent_cell}}));
  if (judged.unknown > 0)
    fmt::print("note: {} kernels are left out, which the model has nothing for\n", judged.unknown);
}

void add_calibrate_judge(Subcommand calibrate) {
  auto options = std::make_shared<CalibrateJudgeOptions>();
  Subcommand verb = add_verb(
      calibrate,
      {.name = "judge",
       .summary = "A GPU model against measured kernels: how far off, by kind; with --csv each",
       .examples = {"calibrate judge gpu.json --gpu h100",
                    "calibrate judge gpu.json --gpu h100 --gpu-model my-gpu.json --csv"}});
  verb.add_option("FILE", options->file, "Measurement with kernels").required();
  verb.add_option("--gpu", options->gpu, "Of models/hardware/gpus: h100").required();
  verb.add_option("--gpu-model", options->gpu_model, "A name or a file (default: the GPU's own)");
  add_output_options(verb, options->output);
  verb.callback([options] { print_judged(*options); });
}

const bool kCalibrateJudgeRegistered =
    Registry<CalibrateCommand>::add({.name = "judge", .add = add_calibrate_judge});

}  // namespace
}  // namespace forescale
