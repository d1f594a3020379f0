#include "models/compute/kernel_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace forescale {
namespace {

double log_of(std::int64_t value) { return std::log(static_cast<double>(value)); }
double flag(bool value) { return value ? 1 : 0; }

std::vector<double> features_of(const GemmShape& gemm) {
  return {log_of(gemm.m), log_of(gemm.n), log_of(gemm.k), flag(gemm.transpose_a),
          flag(gemm.transpose_b)};
}

// Libraries have kernels of their own for 1x1 filters (a plain GEMM) and for 3x3 at stride 1
// (Winograd).
std::vector<double> features_of(const ConvolutionShape& shape) {
  const double image = log_of(shape.output_height()) + log_of(shape.output_width());
  const double filter = log_of(shape.filter_height) + log_of(shape.filter_width);
  const double stride = log_of(shape.stride_height) + log_of(shape.stride_width);
  const bool is_3x3 = shape.filter_height == 3 && shape.filter_width == 3;
  return {log_of(shape.channels),
          log_of(shape.filters),
          log_of(shape.batch) + image,
          image,
          filter,
          stride,
          log_of(shape.groups),
          flag(filter == 0),
          flag(is_3x3 && stride == 0)};
}

std::vector<double> features_of(const AttentionShape& shape) {
  return {log_of(shape.batch),     log_of(shape.sequence),
          log_of(shape.heads),     log_of(shape.heads) - log_of(shape.kv_heads),
          log_of(shape.head_size), flag(shape.is_causal)};
}

std::vector<double> features_of(const LayerShape& layer) {
  return {log_of(layer.batch),
          std::log(1 + layer.input_bytes + layer.output_bytes + layer.parameter_bytes),
          std::log((1 + layer.input_bytes) / (1 + layer.output_bytes)),
          std::log(1 + layer.flops / (1 + layer.input_bytes + layer.output_bytes))};
}

}  // namespace

KernelKind kind_of(const GpuKernel& kernel) {
  const auto* layer = std::get_if<LayerShape>(&kernel.shape);
  return {.operation = operation_of(kernel),
          .type = layer != nullptr ? layer->type : "",
          .pass = kernel.pass,
          .precision = kernel.precision};
}

std::string to_text(const KernelKind& kind) {
  return fmt::format("{} {} {}", kind.type.empty() ? kind.operation : kind.type, name_of(kind.pass),
                     name_of(kind.precision));
}

std::vector<double> shape_features(const GpuKernel& kernel) {
  return std::visit([](const auto& shape) { return features_of(shape); }, kernel.shape);
}

double shape_correlation(std::span<const double> a, std::span<const double> b,
                         std::span<const double> lengths) {
  double sum = 0;
  for (size_t j = 0; j < lengths.size(); ++j) {
    const double part = (a[j] - b[j]) / lengths[j];
    sum += part * part;
  }
  const double distance = std::sqrt(3 * sum);
  return (1 + distance) * std::exp(-distance);
}

double KernelRoofline::time_s(const GpuKernel& kernel) const {
  return launch_s + flops_of(kernel) / flops_per_s + bytes_moved_by(kernel) / bytes_per_s;
}

double ShapeFactor::factor(std::span<const double> features) const {
  double sum = offset;
  for (const ShapePoint& point : points)
    sum +=
        point.weight * amplitude * amplitude * shape_correlation(features, point.features, lengths);
  return std::exp(sum);
}

double ShapeFactor::nearness(std::span<const double> features) const {
  double nearest = 0;
  for (const ShapePoint& point : points)
    nearest = std::max(nearest, shape_correlation(features, point.features, lengths));
  return nearest;
}

void KernelFit::scale_flops(double times) {
  for (KernelRoofline* each : {&roofline, &ends.low, &ends.high}) each->flops_per_s *= times;
}

void KernelFit::scale_memory(BytesPerSecond measured, BytesPerSecond wanted) {
  for (KernelRoofline* each : {&roofline, &ends.low, &ends.high})
    each->bytes_per_s =
        wanted.value / factor_over_bytes(measured.value / each->bytes_per_s, wanted / measured);
}

double factor_over_bytes(double factor, double memory_times) {
  return factor <= 1 ? factor : 1 + (factor - 1) * memory_times;
}

KernelEstimate KernelFit::estimate(const GpuKernel& kernel) const {
  const std::vector<double> features = shape_features(kernel);
  return {.time_s = ratio * roofline.time_s(kernel) * shape.factor(features),
          .is_near = shape.nearness(features) >= kNearShape};
}

}  // namespace forescale
