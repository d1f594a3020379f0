#include "calibrate/fit/fit_gpu_hold_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/median.hpp"
#include "calibrate/fit/fit_gpu_kernels.hpp"
#include "calibrate/fit/quantile.hpp"

namespace forescale {
namespace {

// What one split says of some kernels.
struct Errors {
  std::vector<double> whole;
  std::vector<double> roofline;
};

struct SplitFigures {
  std::vector<double> counts;
  std::vector<double> medians;
  std::vector<double> p90s;
  std::vector<double> rooflines;
};

constexpr const char* kAll = "all";

// GPU, kernels: HeldOutKernels' names.
using Label = std::pair<std::string, std::string>;

// FNV-1a, then mixed: the same on every machine.
std::uint64_t hash_of(const std::string& text, std::uint64_t seed) {
  std::uint64_t hash = 14695981039346656037ULL ^ (seed * 0x9E3779B97F4A7C15ULL);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  hash ^= hash >> 33;
  hash *= 0xFF51AFD7ED558CCDULL;
  return hash ^ (hash >> 33);
}

std::string split_key(GpuKernel kernel, bool by_layer) {
  if (!by_layer) return to_text(kernel);
  if (auto* gemm = std::get_if<GemmShape>(&kernel.shape)) gemm->n = 1;
  if (auto* convolution = std::get_if<ConvolutionShape>(&kernel.shape)) convolution->batch = 1;
  if (auto* attention = std::get_if<AttentionShape>(&kernel.shape)) attention->batch = 1;
  return to_text(kernel);
}

bool is_held_out(const GpuKernel& kernel, const HoldOutOptions& options, int split) {
  constexpr double kRange = 18446744073709551616.0;  // 2^64
  const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(split) * 1000003;
  return static_cast<double>(hash_of(split_key(kernel, options.by_layer), seed)) <
         options.share * kRange;
}

void predict(const GpuMeasurement& from, const HoldOutOptions& options, int split,
             std::map<Label, Errors>& errors) {
  std::vector<MeasuredKernel> fitted;
  std::vector<const MeasuredKernel*> held_out;
  for (const MeasuredKernel& each : from.measurement->kernels)
    if (is_held_out(each.kernel, options, split))
      held_out.push_back(&each);
    else
      fitted.push_back(each);
  std::map<KernelKind, KernelFit> fits;
  for (KernelFit& fit : fit_kernels(fitted, {.bootstrap_samples = 0}))
    if (fit.count >= 2) fits.emplace(fit.kind, std::move(fit));
  for (const MeasuredKernel* each : held_out) {
    const auto fit = fits.find(kind_of(each->kernel));
    if (fit == fits.end() || bytes_moved_by(each->kernel) <= 0) continue;
    const double whole = std::abs(fit->second.estimate(each->kernel).time_s / each->time_s - 1);
    const double roofline = std::abs(fit->second.roofline.time_s(each->kernel) / each->time_s - 1);
    for (const std::string& gpu : {from.name, std::string()})
      for (const std::string& kernels :
           {to_text(fit->first), fit->first.operation, std::string(kAll)}) {
        Errors& of = errors[{gpu, kernels}];
        of.whole.push_back(whole);
        of.roofline.push_back(roofline);
      }
  }
}

HeldOutKernels row(const Label& label, const SplitFigures& figures) {
  return {.gpu = label.first,
          .kernels = label.second,
          .count = median(figures.counts),
          .median = median(figures.medians),
          .p90 = median(figures.p90s),
          .roofline_median = median(figures.rooflines)};
}

// GPUs, then all of them; of each its kinds and operations, then all.
bool comes_before(const Label& a, const Label& b) {
  if (a.first != b.first) return b.first.empty() || (!a.first.empty() && a.first < b.first);
  if ((a.second == kAll) != (b.second == kAll)) return b.second == kAll;
  return a.second < b.second;
}

}  // namespace

std::vector<HeldOutKernels> hold_out_kernels(const std::vector<GpuMeasurement>& measurements,
                                             const HoldOutOptions& options) {
  if (!(options.share > 0 && options.share < 1))
    throw InputError({.source = "--hold-out",
                      .path = "",
                      .value = fmt::format("{}", options.share),
                      .constraint = "must be above 0 and below 1"});
  if (options.splits < 1)
    throw InputError({.source = "--splits",
                      .path = "",
                      .value = std::to_string(options.splits),
                      .constraint = "must be >= 1"});
  std::map<Label, SplitFigures> figures;
  for (int split = 0; split < options.splits; ++split) {
    std::map<Label, Errors> errors;
    for (const GpuMeasurement& each : measurements) predict(each, options, split, errors);
    for (const auto& [label, of] : errors) {
      SplitFigures& all = figures[label];
      all.counts.push_back(static_cast<double>(of.whole.size()));
      all.medians.push_back(median(of.whole));
      all.p90s.push_back(quantile(of.whole, 0.9));
      all.rooflines.push_back(median(of.roofline));
    }
  }
  std::vector<Label> labels;
  for (const auto& [label, each] : figures) labels.push_back(label);
  std::sort(labels.begin(), labels.end(), comes_before);
  std::vector<HeldOutKernels> rows;
  for (const Label& label : labels) rows.push_back(row(label, figures.at(label)));
  return rows;
}

}  // namespace forescale
