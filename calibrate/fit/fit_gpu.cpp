#include "calibrate/fit/fit_gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.hpp"
#include "calibrate/fit/fit_gpu_kernels.hpp"
#include "calibrate/fit/segmented_fit.hpp"
#include "models/compute/line_fit.hpp"

namespace forescale {
namespace {

bool is_path(const Series& series) {
  if (series.place != "gpu" || series.pattern == Pattern::kLaunch ||
      series.pattern == Pattern::kSynchronize)
    return false;
  const std::vector<Pattern>& own = gpu_patterns();
  return series.pattern == Pattern::kReduction || series.pattern == Pattern::kMemoryCopy ||
         std::find(own.begin(), own.end(), series.pattern) != own.end();
}

std::string source_text(const Series& series) {
  return fmt::format("{}, {} sizes", name_of(series.pattern), series.points.size());
}

CopyPath fit_path(const Series& series, const std::string& source, const GpuFitOptions& options) {
  const SegmentedFit fit =
      fit_segments(series.points, source,
                   {.segments_max = 3,
                    .bootstrap_samples = std::max(40, options.bootstrap_samples),
                    .seed = options.seed});
  CopyPath path{.path = name_of(series.pattern), .segments = {}};
  const auto ranged = [&](double value, const Interval& interval) {
    return RangedNumber{.value = value,
                        .low = std::min(value, interval.low),
                        .high = std::max(value, interval.high),
                        .source = source_text(series)};
  };
  for (const AlphaBeta& segment : fit.segments)
    path.segments.push_back(
        {.up_to_bytes = segment.up_to_bytes,
         .alpha_s = ranged(segment.alpha_s, segment.alpha_interval_s),
         .seconds_per_byte = ranged(segment.beta_s_per_byte, segment.beta_interval_s_per_byte)});
  return path;
}

void fit_series(const Measurement& measurement, const std::string& source,
                const GpuFitOptions& options, FittedGpu& gpu) {
  for (const Series& series : measurement.series) {
    const MeasuredPoint& first = series.points.front();
    const RangedNumber single{
        .value = first.time_s,
        .low = first.low_s,
        .high = first.high_s,
        .source = fmt::format("{}, {} times", name_of(series.pattern), first.samples)};
    if (series.pattern == Pattern::kLaunch) gpu.launch_s = single;
    if (series.pattern == Pattern::kSynchronize) gpu.synchronize_s = single;
    if (!is_path(series) || gpu.find_copy(name_of(series.pattern)) != nullptr) continue;
    try {
      gpu.copies.push_back(fit_path(series, source, options));
    } catch (const InputError& error) {
      gpu.notes.push_back(
          fmt::format("{} is not fitted: {}", name_of(series.pattern), error.parts().constraint));
    }
  }
}

// All gradients of a convolution that was timed by its parts stay apart.
using LayerKey = std::tuple<std::string, std::string, KernelPass, Precision>;

std::int64_t batch_of(const GpuKernel& kernel) {
  if (const auto* convolution = std::get_if<ConvolutionShape>(&kernel.shape))
    return convolution->batch;
  if (const auto* gemm = std::get_if<GemmShape>(&kernel.shape))
    return kernel.pass == KernelPass::kBackwardWeights ? gemm->k : gemm->n;
  if (const auto* attention = std::get_if<AttentionShape>(&kernel.shape)) return attention->batch;
  return std::get<LayerShape>(kernel.shape).batch;
}

BatchLine line_through(const std::vector<const MeasuredKernel*>& members,
                       double MeasuredKernel::*time_s) {
  std::vector<TimedBatch> points;
  for (const MeasuredKernel* each : members)
    points.push_back(
        {.batch = static_cast<double>(batch_of(each->kernel)), .time_s = each->*time_s});
  return has_several_batches(points) ? fit_line(points) : fit_slope(points, 0);
}

void fit_layers(const Measurement& measurement, FittedGpu& gpu) {
  std::map<LayerKey, std::vector<const MeasuredKernel*>> layers;
  for (const MeasuredKernel& each : measurement.kernels)
    if (!each.network.empty() && !each.layer.empty())
      layers[{each.network, each.layer, each.kernel.pass, each.kernel.precision}].push_back(&each);
  for (const auto& [key, members] : layers) {
    const BatchLine line = line_through(members, &MeasuredKernel::time_s);
    const BatchLine low = line_through(members, &MeasuredKernel::low_s);
    const BatchLine high = line_through(members, &MeasuredKernel::high_s);
    const std::string source = fmt::format("{} batches of the layer", members.size());
    const auto [least, most] = std::minmax_element(
        members.begin(), members.end(), [](const MeasuredKernel* a, const MeasuredKernel* b) {
          return batch_of(a->kernel) < batch_of(b->kernel);
        });
    const auto ranged = [&](double BatchLine::*number) {
      return RangedNumber{.value = line.*number,
                          .low = std::min({line.*number, low.*number, high.*number}),
                          .high = std::max({line.*number, low.*number, high.*number}),
                          .source = source};
    };
    gpu.layers.push_back({.network = std::get<0>(key),
                          .layer = std::get<1>(key),
                          .pass = std::get<2>(key),
                          .precision = std::get<3>(key),
                          .batch_min = batch_of((*least)->kernel),
                          .batch_max = batch_of((*most)->kernel),
                          .t0_s = ranged(&BatchLine::t0_s),
                          .t1_s = ranged(&BatchLine::t1_s)});
  }
}

}  // namespace

bool is_gpu_measurement(const Measurement& measurement) {
  if (!measurement.kernels.empty()) return true;
  const std::vector<Pattern>& own = gpu_patterns();
  return std::any_of(measurement.series.begin(), measurement.series.end(),
                     [&](const Series& series) {
                       return std::find(own.begin(), own.end(), series.pattern) != own.end();
                     });
}

FittedGpu fit_gpu(const Measurement& measurement, const std::string& source,
                  const GpuFitOptions& options) {
  FittedGpu gpu;
  gpu.name = options.name;
  gpu.facts = measurement.gpu;
  gpu.provenance = measurement.provenance;
  gpu.notes = measurement.notes;
  fit_series(measurement, source, options, gpu);
  gpu.kernels = fit_kernels(measurement.kernels,
                            {.bootstrap_samples = options.bootstrap_samples, .seed = options.seed});
  fit_layers(measurement, gpu);
  if (gpu.copies.empty() && gpu.kernels.empty() && !gpu.launch_s && !gpu.synchronize_s)
    throw InputError({.source = source,
                      .path = "/series",
                      .value = "",
                      .constraint = "must hold kernels or patterns of a GPU that carry a line"});
  return gpu;
}

}  // namespace forescale
