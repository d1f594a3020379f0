#include "cli/calibrate/calibrate_fit_gpu.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/units.hpp"
#include "calibrate/fit/fit_gpu.hpp"
#include "cli/catalogue/catalogue.hpp"
#include "cli/text.hpp"

namespace forescale {
namespace {

using nlohmann::json;

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string rate_text(double per_s, const char* unit) {
  return fmt::format("{:.4g} {}/s", per_s / 1e9, unit);
}

void print_numbers(const FittedGpu& gpu) {
  Table table({"<number", "value", "low", "high", "<from"});
  const auto add_time = [&](const std::string& what, const RangedNumber& number) {
    table.add({what, to_text(Seconds{number.value}), to_text(Seconds{number.low}),
               to_text(Seconds{number.high}), number.source});
  };
  if (gpu.launch_s) add_time("launch", *gpu.launch_s);
  if (gpu.synchronize_s) add_time("synchronize", *gpu.synchronize_s);
  for (const CopyPath& copy : gpu.copies)
    for (const CopySegment& segment : copy.segments) {
      const std::string up_to = fmt::format("up to {}", to_text(Bytes{segment.up_to_bytes}));
      add_time(fmt::format("{}: alpha {}", copy.path, up_to), segment.alpha_s);
      const RangedNumber& slope = segment.seconds_per_byte;
      const auto rate = [](double value) {
        return value > 0 ? rate_text(1 / value, "GB") : std::string("unlimited");
      };
      table.add({fmt::format("{}: bandwidth {}", copy.path, up_to), rate(slope.value),
                 rate(slope.high), rate(slope.low), slope.source});
    }
  if (gpu.launch_s || gpu.synchronize_s || !gpu.copies.empty()) fmt::print("{}\n", table.text());
}

void print_kernels(const FittedGpu& gpu) {
  Table table({"<kernels", "shapes", "launch", "GFLOP/s", "GB/s", "median error", "90 %"});
  for (const KernelFit& fit : gpu.kernels)
    table.add({to_text(fit.kind), std::to_string(fit.count),
               to_text(Seconds{fit.roofline.launch_s}),
               fmt::format("{:.4g}", fit.roofline.flops_per_s / 1e9),
               fmt::format("{:.4g}", fit.roofline.bytes_per_s / 1e9), percent(fit.median_error),
               percent(fit.p90_error)});
  if (gpu.kernels.empty()) return;
  fmt::print("{}errors: of each shape predicted without itself\n", table.text());
  if (!gpu.layers.empty())
    fmt::print("{} passes of layers as t0 + batch * t1\n", gpu.layers.size());
}

json to_json(const std::vector<HeldOutKernels>& rows) {
  json all = json::array();
  for (const HeldOutKernels& row : rows)
    all.push_back({{"gpu", row.gpu},
                   {"kernels", row.kernels},
                   {"count", row.count},
                   {"median_abs_error", row.median},
                   {"p90_abs_error", row.p90},
                   {"roofline_median_abs_error", row.roofline_median}});
  return all;
}

void print_held_out(const std::vector<HeldOutKernels>& rows, const GpuFitRequest& request) {
  const HoldOutOptions& splits = request.splits;
  if (request.output.csv) {
    print_rows(to_json(rows),
               {{.key = "gpu", .heading = ""},
                {.key = "kernels", .heading = ""},
                {.key = "count", .heading = ""},
                {.key = "median_abs_error", .heading = ""},
                {.key = "p90_abs_error", .heading = ""},
                {.key = "roofline_median_abs_error", .heading = ""}},
               request.output);
    return;
  }
  fmt::print(
      "{:.0f} % of the {} predicted from the others, |predicted / measured - 1|; medians over {} "
      "splits from seed {}\n",
      100 * splits.share, splits.by_layer ? "layers (all their batches together)" : "shapes",
      splits.splits, splits.seed);
  Table table({"<GPU", "<kernels", "count", "median", "90 %", "roofline alone"});
  for (const HeldOutKernels& row : rows)
    table.add({row.gpu.empty() ? "all" : row.gpu, row.kernels, fmt::format("{:.0f}", row.count),
               percent(row.median), percent(row.p90), percent(row.roofline_median)});
  fmt::print("{}", table.text());
}

// Lists of numbers on one line each: a model has thousands of them.
std::string with_short_lists(const std::string& text) {
  std::string shorter;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find_first_not_of("0123456789+-.e, \n", at + 1);
    const bool is_list = text[at] == '[' && end != std::string::npos && text[end] == ']' &&
                         text.find_first_of("0123456789", at) < end;
    if (!is_list) {
      shorter += text[at++];
      continue;
    }
    for (; at < end; ++at)
      if (text[at] != ' ' && text[at] != '\n')
        shorter += text[at] == ',' ? ", " : text.substr(at, 1);
  }
  return shorter;
}

void fit_one(const GpuFitRequest& request, const Measurement& measurement) {
  const std::string file = request.out.empty() ? request.name + "-gpu.json" : request.out;
  if (!request.force && std::filesystem::exists(file))
    throw InputError({.source = "--out",
                      .path = "",
                      .value = file,
                      .constraint = "exists already; --force replaces it"});
  FittedGpu gpu = fit_gpu(measurement, request.files.front(),
                          {.name = request.name, .seed = request.splits.seed});
  if (!measurement.machine.empty()) gpu.facts.emplace("name", measurement.machine);
  const json document = to_json(gpu);
  write_file(file, with_short_lists(document.dump(1)) + "\n", "--out");
  if (request.output.json) {
    json answer = document;
    answer["format"] = "forescale-gpu-fit-1";
    answer["command"] = request.line;
    fmt::print("{}\n", answer.dump(2));
    return;
  }
  print_numbers(gpu);
  print_kernels(gpu);
  for (const std::string& note : gpu.notes) fmt::print("note: {}\n", note);
  fmt::print("\nGPU model: {}\n", file);
}

}  // namespace

void fit_gpu_measurements(const GpuFitRequest& request) {
  if (request.hold_out) {
    std::vector<GpuMeasurement> all;
    for (size_t i = 0; i < request.files.size(); ++i)
      all.push_back({.name = std::filesystem::path(request.files[i]).stem().string(),
                     .measurement = &request.measurements[i]});
    const std::vector<HeldOutKernels> rows = hold_out_kernels(all, request.splits);
    if (rows.empty())
      throw InputError({.source = request.files.front(),
                        .path = "/kernels",
                        .value = "",
                        .constraint = "must have enough kernels of a kind to hold some out"});
    if (request.output.json)
      fmt::print("{}\n", json{{"format", "forescale-gpu-fit-1"},
                              {"command", request.line},
                              {"held_out", to_json(rows)}}
                             .dump(2));
    else
      print_held_out(rows, request);
    if (request.out.empty()) return;
  }
  if (request.files.size() > 1)
    throw InputError({.source = "measurement",
                      .path = "",
                      .value = request.files[1],
                      .constraint = "must be one file: a GPU model is fitted to one measurement"});
  fit_one(request, request.measurements.front());
}

}  // namespace forescale
