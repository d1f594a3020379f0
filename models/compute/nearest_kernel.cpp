#include "models/compute/nearest_kernel.hpp"

#include <algorithm>

#include "models/compute/roofline.hpp"

namespace forescale {
namespace {

bool is_half(Precision precision) {
  return precision == Precision::kBf16 || precision == Precision::kFp16;
}

// A convolution as the product of its filters and the inputs that each output sees; the passes'
// operands change places. Nothing for both gradients together, and for groups.
std::optional<GpuKernel> as_product(const GpuKernel& kernel) {
  if (std::holds_alternative<GemmShape>(kernel.shape)) return as_one_product(kernel);
  const auto* shape = std::get_if<ConvolutionShape>(&kernel.shape);
  if (shape == nullptr || shape->groups != 1) return std::nullopt;
  const std::int64_t outputs = shape->batch * shape->output_height() * shape->output_width();
  const std::int64_t seen = shape->channels * shape->filter_height * shape->filter_width;
  GpuKernel product{.shape = {}, .pass = KernelPass::kForward, .precision = kernel.precision};
  switch (kernel.pass) {
    case KernelPass::kForward:
      product.shape = GemmShape{.m = shape->filters, .n = outputs, .k = seen};
      return product;
    case KernelPass::kBackwardData:
      product.shape = GemmShape{.m = seen, .n = outputs, .k = shape->filters};
      return product;
    case KernelPass::kBackwardWeights:
      product.shape = GemmShape{.m = shape->filters, .n = seen, .k = outputs};
      return product;
    case KernelPass::kBackward:
      break;
  }
  return std::nullopt;
}

// Values of 2 bytes that a tensor core's operands are loaded by, 16 bytes at once.
constexpr std::int64_t kAlignedValues = 8;

// Several products of a kernel, as attention's with its scores in memory, of heads whose rows do
// not begin where tensor cores can load them. The heads' size is the least of the three; sequences
// of 197 words lose nothing that shows in the one table that has them (ViT-B/16, FlagPerf).
bool is_unaligned(const GpuKernel& kernel) {
  const auto* several = std::get_if<GemmShape>(&kernel.shape);
  return several != nullptr && !several->is_grouped && is_half(kernel.precision) &&
         std::min({several->m, several->n, several->k}) % kAlignedValues != 0;
}

// A convolution of each channel by itself: frameworks have kernels of their own for it. What
// calibrate measure times are cuDNN's general ones, in BF16 14 to 228 times its bytes' time
// (calibrate/measured_gpus/h100-convolutions.json), so no measured kernel stands in.
bool is_depthwise(const GpuKernel& kernel) {
  const auto* shape = std::get_if<ConvolutionShape>(&kernel.shape);
  return shape != nullptr && shape->groups > 1 && shape->groups == shape->channels;
}

// The last GPU whose CUDA cores a public table times in FP32.
constexpr const char* kCudaCores = "v100";

// The gradients of a product are products like any other where they were not measured apart.
const KernelFit* of_kind(const FittedGpu& gpu, KernelKind kind) {
  const KernelFit* own = gpu.find_kernels(kind);
  if (own != nullptr || kind.operation != "gemm" || kind.pass == KernelPass::kBackward) return own;
  kind.pass = KernelPass::kForward;
  return gpu.find_kernels(kind);
}

}  // namespace

// What was measured for a kernel, or stands in for it.
struct NearestKernels::Found {
  KernelFit fit;
  GpuKernel kernel;
  double factor = 1;
  bool is_scaled = false;
  bool is_other_gpus = false;
  double added_s = 0;
};

NearestKernels::NearestKernels(const FittedGpu& fitted, const GpuModel& gpu, Provenance* provenance)
    : fitted_(fitted),
      peaks_(peaks_of(gpu)),
      memory_bandwidth_(gpu.memory_bandwidth),
      products_elsewhere_(fitted.name == gpu.fitted ? gpu.products_elsewhere : 1),
      provenance_(provenance) {}

std::optional<NearestKernel> NearestKernels::find(const GpuKernel& kernel) const {
  if (is_depthwise(kernel))
    return NearestKernel{.time_s = factor_over_bytes(depthwise(), fitted_.memory_times) *
                                   bytes_moved_by(kernel) / memory_bandwidth_.value,
                         .is_near = false,
                         .is_scaled = true};
  const std::optional<Found> found = fit_for(kernel);
  if (!found) return std::nullopt;
  const KernelEstimate estimate = found->fit.estimate(found->kernel);
  return NearestKernel{
      .time_s = elsewhere(found->kernel) * found->factor * estimate.time_s + found->added_s,
      .is_near = estimate.is_near,
      .is_scaled = found->is_scaled,
      .is_other_gpus = found->is_other_gpus,
      .p90_error = found->fit.p90_error};
}

// Over the GPU's own model, which was measured on one machine.
double NearestKernels::elsewhere(const GpuKernel& kernel) const {
  const bool is_product = std::holds_alternative<GemmShape>(kernel.shape);
  return is_product && is_half(kernel.precision) ? products_elsewhere_ : 1;
}

std::optional<NearestKernels::Found> NearestKernels::fit_for(const GpuKernel& kernel) const {
  const std::optional<GpuKernel> product = as_product(kernel);
  const bool is_convolution = std::holds_alternative<ConvolutionShape>(kernel.shape);
  if (!product || is_convolution)
    if (auto same = in_any_precision(kernel)) return same;
  if (!product) return attention_backward(kernel);
  std::optional<Found> found = in_any_precision(*product);
  if (!found) return std::nullopt;
  if (is_convolution) found->factor = over_product(kernel.pass);
  if (is_unaligned(kernel)) found->factor = unaligned_products();
  found->added_s = grouped_bytes(kernel) / memory_bandwidth_.value;
  found->is_scaled = true;
  return found;
}

// From the forward pass, FLOP for FLOP.
std::optional<NearestKernels::Found> NearestKernels::attention_backward(
    const GpuKernel& kernel) const {
  if (!std::holds_alternative<AttentionShape>(kernel.shape)) return std::nullopt;
  GpuKernel forward = kernel;
  forward.pass = KernelPass::kForward;
  std::optional<Found> found = in_any_precision(forward);
  if (!found) return std::nullopt;
  if (!attention_backward_) attention_backward_ = read_attention_backward(provenance_);
  found->kernel = kernel;
  found->factor = *attention_backward_;
  found->is_scaled = true;
  return found;
}

std::optional<NearestKernels::Found> NearestKernels::in_any_precision(
    const GpuKernel& kernel) const {
  KernelKind kind = kind_of(kernel);
  if (const KernelFit* own = of_kind(fitted_, kind))
    return Found{.fit = *own, .kernel = kernel, .factor = 1, .is_scaled = false};
  const FlopsPerSecond wanted = peaks_.of(kernel.precision);
  if (wanted.value == 0 || kind.operation == "layer") return std::nullopt;
  if (kernel.precision == Precision::kFp32 && peaks_.tf32.value > 0)
    if (const KernelFit* other = of_kind(cuda_cores(), kind))
      return Found{
          .fit = *other, .kernel = kernel, .factor = 1, .is_scaled = true, .is_other_gpus = true};
  for (const Precision other : {Precision::kFp16, Precision::kBf16, Precision::kFp32}) {
    kind.precision = other;
    const KernelFit* measured = of_kind(fitted_, kind);
    if (measured == nullptr || peaks_.of(other).value == 0) continue;
    Found found{.fit = *measured, .kernel = kernel, .factor = 1, .is_scaled = true};
    found.fit.scale_flops(wanted.value / peaks_.of(other).value / other_precision());
    return found;
  }
  return std::nullopt;
}

const FittedGpu& NearestKernels::cuda_cores() const {
  if (cuda_cores_) return *cuda_cores_;
  const GpuModel measured = load_gpu(kCudaCores, "--gpu-model", nullptr);
  cuda_cores_ = load_fitted_gpu(measured.fitted, "--gpu-model", provenance_);
  cuda_cores_->scale_kernels(measured, peaks_.fp32, memory_bandwidth_);
  return *cuda_cores_;
}

double NearestKernels::other_precision() const {
  if (!other_precision_) other_precision_ = read_other_precision(provenance_);
  return *other_precision_;
}

double NearestKernels::unaligned_products() const {
  if (!unaligned_products_) unaligned_products_ = read_unaligned_products(provenance_);
  return *unaligned_products_;
}

double NearestKernels::depthwise() const {
  if (!depthwise_) depthwise_ = read_depthwise(provenance_);
  return *depthwise_;
}

double NearestKernels::over_product(KernelPass pass) const {
  if (over_product_.empty()) over_product_ = read_convolution_over_product(provenance_);
  return over_product_.at(pass);
}

}  // namespace forescale
