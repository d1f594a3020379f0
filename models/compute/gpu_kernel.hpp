// What one call into a GPU's library is asked to do: a matrix product, a convolution, attention, or
// a layer that a framework times as a whole. Shapes as the libraries state them.
//
// FLOP of a call: GEMM 2 m n k; convolution 2 * outputs * channels/groups * filter area, the same
// in each pass; attention 4 * batch * heads * sequence^2 * head size, half of it where causal.
// Bytes: every operand once, in the precision's width. Both gradients together ("backward") are
// twice as much, and m, n, k those of the forward pass; of attention 2.5 times the FLOP, as the
// scores are computed again (Dao, FlashAttention-2, 2023, section 4.1). Limits: direct convolution;
// what Winograd or a Fourier transform saves is left to a fitted efficiency.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace forescale {

// C (m x n) = A (m x k) B (k x n), column-major as cuBLAS has it; `count` of them in one kernel, of
// which each may have weights of its own ("grouped", as experts).
struct GemmShape {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  bool transpose_a = false;
  bool transpose_b = false;
  std::int64_t count = 1;
  bool is_grouped = false;
  bool operator==(const GemmShape&) const = default;
};

struct ConvolutionShape {
  std::int64_t batch = 1;
  std::int64_t channels = 1;
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t filters = 1;
  std::int64_t filter_height = 1;
  std::int64_t filter_width = 1;
  std::int64_t pad_height = 0;
  std::int64_t pad_width = 0;
  std::int64_t stride_height = 1;
  std::int64_t stride_width = 1;
  std::int64_t groups = 1;
  std::int64_t output_height() const;
  std::int64_t output_width() const;
  bool operator==(const ConvolutionShape&) const = default;
};

// Scaled dot-product attention of sequences of one length, fused: no scores in memory.
struct AttentionShape {
  std::int64_t batch = 1;
  std::int64_t sequence = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;  // of keys and values; fewer than heads where queries are grouped
  std::int64_t head_size = 1;
  bool is_causal = true;
  std::int64_t parts = 1;  // equal ones of the queries, of which this is one; all keys and values
  bool operator==(const AttentionShape&) const = default;
};

// For the whole batch; 0 where it is not known.
struct LayerShape {
  std::string type;  // of models/workload: "pooling"
  std::int64_t batch = 1;
  double input_bytes = 0;
  double output_bytes = 0;
  double parameter_bytes = 0;
  double flops = 0;  // of the pass
  bool operator==(const LayerShape&) const = default;
};

// kBackward: all gradients together.
enum class KernelPass { kForward, kBackwardData, kBackwardWeights, kBackward };
// Of operands; TF32 operands are stored as FP32. FP8 has one scale a tensor, MXFP8 one byte of it
// for 32 values (OCP Microscaling Formats 1.0), NVFP4 one for 16 (docs.nvidia.com, Transformer
// Engine); results of all three have 2 bytes a value.
enum class Precision { kFp32, kTf32, kFp16, kBf16, kFp8, kMxfp8, kNvfp4 };
inline constexpr std::array kPrecisions{Precision::kFp32, Precision::kTf32, Precision::kFp16,
                                        Precision::kBf16, Precision::kFp8,  Precision::kMxfp8,
                                        Precision::kNvfp4};

// How a framework keeps images in memory: channels first or last.
enum class MemoryFormat { kNchw, kNhwc };

// Which layers run within the kernel of the layer before them: none; activations, as by XLA; all
// that change each value by itself, as cuDNN's BatchNorm with sum and activation.
enum class Fusion { kNone, kActivations, kPointwise };
inline constexpr std::array kFusions{Fusion::kNone, Fusion::kActivations, Fusion::kPointwise};

const char* name_of(MemoryFormat format);  // "nchw"
const char* name_of(Fusion fusion);        // "activations"
const char* name_of(KernelPass pass);      // "backward-data"
const char* name_of(Precision precision);  // "fp32"
std::vector<std::string> precision_names();
// Of the products within a transformer's layers alone: all else there is BF16.
bool is_quantised(Precision precision);
// By which kernels' times it goes. No MXFP8 product was measured; the units give it FP8's rate.
Precision timed_as(Precision precision);
double bytes_a_value(Precision precision);              // with its scales'
std::int64_t whole_bytes_a_value(Precision precision);  // of one that is not quantised

struct GpuKernel {
  std::variant<GemmShape, ConvolutionShape, AttentionShape, LayerShape> shape;
  KernelPass pass = KernelPass::kForward;
  Precision precision = Precision::kFp32;
  bool operator==(const GpuKernel&) const = default;
};

const char* operation_of(const GpuKernel& kernel);  // "gemm", "convolution", "attention", "layer"
double flops_of(const GpuKernel& kernel);
double bytes_moved_by(const GpuKernel& kernel);
// Several products as one of as many columns. Nothing for one.
std::optional<GpuKernel> as_one_product(const GpuKernel& kernel);
// What a grouped GEMM moves beyond the same work as one product: everyone's weights, or their
// gradients, which are added up in FP32 in memory. The product's time and theirs add up: of
// SimuMax's 60 on B200, 128 to 9,832 rows each (4dcaae51, configs/system/b200_bf16_ceperm.json),
// the median is off by 11 %, without what is added by 34 % (tests/models/grouped_gemm_test.cpp).
double grouped_bytes(const GpuKernel& kernel);
// The shape alone, for people and as a key: "gemm 5124x700x2048 NN", "convolution 16x64x112x112
// ...".
std::string to_text(const GpuKernel& kernel);

}  // namespace forescale
