#include "models/compute/gpu_kernel.hpp"

#include <fmt/format.h>

namespace forescale {
namespace {

// FLOP of the backward pass over those of the forward pass.
constexpr double kAttentionBackward = 2.5;

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
  }
  return "";
}

const char* name_of(MemoryFormat format) { return format == MemoryFormat::kNchw ? "nchw" : "nhwc"; }

std::int64_t bytes_a_value(Precision precision) {
  if (precision == Precision::kFp8) return 1;
  return precision == Precision::kFp16 || precision == Precision::kBf16 ? 2 : 4;
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
  const double width = static_cast<double>(bytes_a_value(kernel.precision)) *
                       (kernel.pass == KernelPass::kBackward ? 2 : 1);
  if (const auto* gemm = std::get_if<GemmShape>(&kernel.shape))
    return width * real(gemm->count) *
           (real(gemm->m) * real(gemm->k) + real(gemm->k) * real(gemm->n) +
            (kernel.precision == Precision::kFp8 ? 2 : 1) * real(gemm->m) * real(gemm->n));
  if (const auto* c = std::get_if<ConvolutionShape>(&kernel.shape))
    return width * (input_count(*c) + weight_count(*c) + output_count(*c));
  if (const auto* a = std::get_if<AttentionShape>(&kernel.shape))
    return width * 2 * real(a->batch) * real(a->sequence) * real(a->head_size) *
           (real(a->heads) / real(a->parts) + real(a->kv_heads));
  const auto& layer = std::get<LayerShape>(kernel.shape);
  return layer.input_bytes + layer.output_bytes + layer.parameter_bytes;
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
