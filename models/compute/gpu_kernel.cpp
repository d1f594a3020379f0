#include "models/compute/gpu_kernel.hpp"

#include <fmt/format.h>

namespace forescale {
namespace {

// FLOP of the backward pass over those of the forward pass.
constexpr double kAttentionBackward = 2.5;

// Gradients are added up in FP32: read and written, less the two bytes of a BF16 result.
constexpr double kAddedGradientBytes = 6;

double real(std::int64_t value) { return static_cast<double>(value); }

double weight_count(const ConvolutionShape& c) {
  return real(c.filters) * real(c.channels / c.groups) * real(c.filter_height) *
         real(c.filter_width);
}

double output_count(const ConvolutionShape& c) {
  return real(c.batch) * real(c.filters) * real(c.output_height()) * real(c.output_width());
}

double input_count(const ConvolutionShape& c) {
  return real(c.batch) * real(c.channels) * real(c.height) * real(c.width);
}

std::int64_t output_size(std::int64_t input, std::int64_t filter, std::int64_t pad,
                         std::int64_t stride) {
  return (input + 2 * pad - filter) / stride + 1;
}

}  // namespace

std::int64_t ConvolutionShape::output_height() const {
  return output_size(height, filter_height, pad_height, stride_height);
}

std::int64_t ConvolutionShape::output_width() const {
  return output_size(width, filter_width, pad_width, stride_width);
}

const char* name_of(KernelPass pass) {
  switch (pass) {
    case KernelPass::kForward:
      return "forward";
    case KernelPass::kBackwardData:
      return "backward-data";
    case KernelPass::kBackwardWeights:
      return "backward-weights";
    case KernelPass::kBackward:
      return "backward";
  }
  return "";
}

const char* name_of(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return "fp32";
    case Precision::kTf32:
      return "tf32";
    case Precision::kFp16:
      return "fp16";
    case Precision::kBf16:
      return "bf16";
    case Precision::kFp8:
      return "fp8";
    case Precision::kMxfp8:
      return "mxfp8";
    case Precision::kNvfp4:
      return "nvfp4";
  }
  return "";
}

const char* name_of(MemoryFormat format) { return format == MemoryFormat::kNchw ? "nchw" : "nhwc"; }

const char* name_of(Fusion fusion) {
  switch (fusion) {
    case Fusion::kNone:
      return "none";
    case Fusion::kActivations:
      return "activations";
    case Fusion::kPointwise:
      return "pointwise";
  }
  return "";
}

std::vector<std::string> precision_names() {
  std::vector<std::string> names;
  for (const Precision precision : kPrecisions) names.emplace_back(name_of(precision));
  return names;
}

bool is_quantised(Precision precision) {
  return precision == Precision::kFp8 || precision == Precision::kMxfp8 ||
         precision == Precision::kNvfp4;
}

Precision timed_as(Precision precision) {
  return precision == Precision::kMxfp8 ? Precision::kFp8 : precision;
}

double bytes_a_value(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
    case Precision::kTf32:
      return 4;
    case Precision::kFp16:
    case Precision::kBf16:
      return 2;
    case Precision::kFp8:
      return 1;
    case Precision::kMxfp8:
      return 1 + 1.0 / 32;
    case Precision::kNvfp4:
      return 0.5 + 1.0 / 16;
  }
  return 0;
}

std::int64_t whole_bytes_a_value(Precision precision) {
  return static_cast<std::int64_t>(bytes_a_value(precision));
}

const char* operation_of(const GpuKernel& kernel) {
  if (std::holds_alternative<GemmShape>(kernel.shape)) return "gemm";
  if (std::holds_alternative<ConvolutionShape>(kernel.shape)) return "convolution";
  if (std::holds_alternative<AttentionShape>(kernel.shape)) return "attention";
  return "layer";
}

double flops_of(const GpuKernel& kernel) {
  const double gradients = kernel.pass == KernelPass::kBackward ? 2 : 1;
  if (const auto* gemm = std::get_if<GemmShape>(&kernel.shape))
    return gradients * 2 * real(gemm->count) * real(gemm->m) * real(gemm->n) * real(gemm->k);
  if (const auto* c = std::get_if<ConvolutionShape>(&kernel.shape))
    return gradients * 2 * output_count(*c) * weight_count(*c) / real(c->filters);
  if (const auto* a = std::get_if<AttentionShape>(&kernel.shape))
    return (kernel.pass == KernelPass::kBackward ? kAttentionBackward : 1) *
           (a->is_causal ? 2 : 4) * real(a->batch) * real(a->heads) * real(a->sequence) *
           real(a->sequence) * real(a->head_size) / real(a->parts);
  return std::get<LayerShape>(kernel.shape).flops;
}

double bytes_moved_by(const GpuKernel& kernel) {
  const double times = kernel.pass == KernelPass::kBackward ? 2 : 1;
  const double width = times * bytes_a_value(kernel.precision);
  const double result_width = is_quantised(kernel.precision) ? 2 * times : width;
  if (const auto* gemm = std::get_if<GemmShape>(&kernel.shape))
    return real(gemm->count) *
           (width * (real(gemm->m) * real(gemm->k) + real(gemm->k) * real(gemm->n)) +
            result_width * real(gemm->m) * real(gemm->n));
  if (const auto* c = std::get_if<ConvolutionShape>(&kernel.shape))
    return width * (input_count(*c) + weight_count(*c) + output_count(*c));
  if (const auto* a = std::get_if<AttentionShape>(&kernel.shape))
    return width * 2 * real(a->batch) * real(a->sequence) * real(a->head_size) *
           (real(a->heads) / real(a->parts) + real(a->kv_heads));
  const auto& layer = std::get<LayerShape>(kernel.shape);
  return layer.input_bytes + layer.output_bytes + layer.parameter_bytes;
}

std::optional<GpuKernel> as_one_product(const GpuKernel& kernel) {
  const auto* several = std::get_if<GemmShape>(&kernel.shape);
  if (several == nullptr || several->count == 1) return std::nullopt;
  GpuKernel product = kernel;
  product.shape = GemmShape{.m = several->m, .n = several->n * several->count, .k = several->k};
  return product;
}

double grouped_bytes(const GpuKernel& kernel) {
  const auto* gemm = std::get_if<GemmShape>(&kernel.shape);
  if (gemm == nullptr || !gemm->is_grouped) return 0;
  if (kernel.pass == KernelPass::kBackwardWeights)
    return kAddedGradientBytes * real(gemm->count) * real(gemm->m) * real(gemm->n);
  return bytes_a_value(kernel.precision) * real(gemm->count - 1) * real(gemm->m) * real(gemm->k);
}

std::string to_text(const GpuKernel& kernel) {
  if (const auto* gemm = std::get_if<GemmShape>(&kernel.shape))
    return fmt::format("gemm {}x{}x{} {}{}{}", gemm->m, gemm->n, gemm->k,
                       gemm->transpose_a ? 'T' : 'N', gemm->transpose_b ? 'T' : 'N',
                       gemm->count > 1 ? fmt::format(", {} of them", gemm->count) : "");
  if (const auto* c = std::get_if<ConvolutionShape>(&kernel.shape))
    return fmt::format(
        "convolution {}x{}x{}x{}, {} filters {}x{}, pad {}x{}, stride {}x{}, groups {}", c->batch,
        c->channels, c->height, c->width, c->filters, c->filter_height, c->filter_width,
        c->pad_height, c->pad_width, c->stride_height, c->stride_width, c->groups);
  if (const auto* a = std::get_if<AttentionShape>(&kernel.shape))
    return fmt::format("attention {}x{}, {} heads of {}, {} of keys{}{}", a->batch, a->sequence,
                       a->heads, a->head_size, a->kv_heads, a->is_causal ? ", causal" : "",
                       a->parts > 1 ? fmt::format(", one of {} parts", a->parts) : "");
  const auto& layer = std::get<LayerShape>(kernel.shape);
  return fmt::format("layer {}, batch {}, {:g} + {:g} + {:g} bytes, {:g} FLOP", layer.type,
                     layer.batch, layer.input_bytes, layer.output_bytes, layer.parameter_bytes,
                     layer.flops);
}

}  // namespace forescale
