#include "calibrate/fit/fit_gpu_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "base/median.hpp"
#include "calibrate/fit/fit_gpu_roofline.hpp"
#include "calibrate/fit/fit_gpu_shape.hpp"
#include "calibrate/fit/quantile.hpp"

namespace forescale {
namespace {

// The kernels of a kind, each shape once, in an order that does not depend on the file's.
std::vector<TimedKernel> distinct(const std::vector<const MeasuredKernel*>& kernels) {
  std::map<std::string, std::pair<TimedKernel, int>> shapes;
  for (const MeasuredKernel* each : kernels) {
    auto& [timed, count] = shapes[to_text(each->kernel)];
    timed.kernel = each->kernel;
    timed.time_s += std::log(each->time_s);
    ++count;
  }
  std::vector<TimedKernel> timed;
  for (const auto& [text, shape] : shapes)
    timed.push_back(
        {.kernel = shape.first.kernel, .time_s = std::exp(shape.first.time_s / shape.second)});
  return timed;
}

void add_intervals(KernelFit& fit, const std::vector<TimedKernel>& kernels,
                   const std::vector<double>& left_out, const KernelFitOptions& options) {
  std::mt19937_64 random(options.seed);
  std::uniform_int_distribution<size_t> pick(0, kernels.size() - 1);
  std::vector<double> launches;
  std::vector<double> flop_rates;
  std::vector<double> byte_rates;
  std::vector<double> means;
  for (int sample = 0; sample < options.bootstrap_samples; ++sample) {
    std::vector<TimedKernel> drawn;
    double sum = 0;
    for (size_t i = 0; i < kernels.size(); ++i) {
      const size_t place = pick(random);
      drawn.push_back(kernels[place]);
      sum += left_out[place];
    }
    const KernelRoofline roofline = fit_roofline(drawn);
    launches.push_back(roofline.launch_s);
    flop_rates.push_back(roofline.flops_per_s);
    byte_rates.push_back(roofline.bytes_per_s);
    means.push_back(std::exp(sum / static_cast<double>(kernels.size())));
  }
  const auto ends = [&](const std::vector<double>& values, double share) {
    return quantile(values, share);
  };
  constexpr double kLow = 0.025;
  constexpr double kHigh = 0.975;
  fit.ends.low = {.launch_s = std::min(fit.roofline.launch_s, ends(launches, kLow)),
                  .flops_per_s = std::min(fit.roofline.flops_per_s, ends(flop_rates, kLow)),
                  .bytes_per_s = std::min(fit.roofline.bytes_per_s, ends(byte_rates, kLow))};
  fit.ends.high = {.launch_s = std::max(fit.roofline.launch_s, ends(launches, kHigh)),
                   .flops_per_s = std::max(fit.roofline.flops_per_s, ends(flop_rates, kHigh)),
                   .bytes_per_s = std::max(fit.roofline.bytes_per_s, ends(byte_rates, kHigh))};
  fit.ratio_low = std::min(1.0, ends(means, kLow));
  fit.ratio_high = std::max(1.0, ends(means, kHigh));
}

KernelFit fit_kind(const KernelKind& kind, const std::vector<TimedKernel>& kernels,
                   const KernelFitOptions& options) {
  KernelFit fit;
  fit.kind = kind;
  fit.count = static_cast<int>(kernels.size());
  fit.roofline = fit_roofline(kernels);
  fit.ends = {.low = fit.roofline, .high = fit.roofline};
  std::vector<ShapeResidual> residuals;
  for (const TimedKernel& each : kernels)
    residuals.push_back({.features = shape_features(each.kernel),
                         .log_ratio = std::log(each.time_s / fit.roofline.time_s(each.kernel))});
  ShapeFit shape = fit_shape(residuals);
  fit.shape = std::move(shape.factor);
  std::vector<double> errors;
  for (const double left_out : shape.left_out) errors.push_back(std::abs(std::expm1(-left_out)));
  fit.median_error = median(errors);
  fit.p90_error = quantile(errors, 0.9);
  if (options.bootstrap_samples > 0) add_intervals(fit, kernels, shape.left_out, options);
  return fit;
}

}  // namespace

std::vector<KernelFit> fit_kernels(const std::vector<MeasuredKernel>& kernels,
                                   const KernelFitOptions& options) {
  std::map<KernelKind, std::vector<const MeasuredKernel*>> kinds;
  for (const MeasuredKernel& each : kernels)
    if (bytes_moved_by(each.kernel) > 0) kinds[kind_of(each.kernel)].push_back(&each);
  std::vector<KernelFit> fits;
  for (const auto& [kind, members] : kinds)
    fits.push_back(fit_kind(kind, distinct(members), options));
  return fits;
}

}  // namespace forescale
