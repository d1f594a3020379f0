// What stands in for kernels that were not measured.
#include "models/compute/nearest_kernel.hpp"

#include <gtest/gtest.h>

#include "models/hardware.hpp"

namespace forescale {
namespace {

double time_s(const char* gpu_name, const GpuKernel& kernel) {
  const GpuModel gpu = load_gpu(gpu_name, "test", nullptr);
  const FittedGpu fitted = load_fitted_gpu(gpu.fitted, "test", nullptr);
  return NearestKernels(fitted, gpu, nullptr).find(kernel)->time_s;
}

GpuKernel scores(std::int64_t head_size, Precision precision = Precision::kBf16) {
  return {.shape = GemmShape{.m = 2048, .n = 2048, .k = head_size, .count = 64},
          .precision = precision};
}

// Of 3 x 3, 64 images and as many filters as channels.
ConvolutionShape convolution(std::int64_t channels, std::int64_t size, std::int64_t groups = 1) {
  return {.batch = 64,
          .channels = channels,
          .height = size,
          .width = size,
          .filters = channels,
          .filter_height = 3,
          .filter_width = 3,
          .pad_height = 1,
          .pad_width = 1,
          .groups = groups};
}

// Heads of 108 values begin at 216 bytes, of 104 and 112 at a multiple of 16.
TEST(NearestKernel, ProductsThatTensorCoresCannotLoadTakeTenTimesAsLong) {
  const double aligned_s = (time_s("a100", scores(104)) + time_s("a100", scores(112))) / 2;
  EXPECT_NEAR(time_s("a100", scores(108)) / aligned_s, 10, 0.5);
  GpuKernel odd_sequence = scores(112);
  std::get<GemmShape>(odd_sequence.shape).n = 2050;
  EXPECT_NEAR(time_s("a100", odd_sequence) / time_s("a100", scores(112)), 1, 0.1)
      << "of the heads, not of the sequence";
}

// A convolution of each channel by itself reads and writes little: a multiple of its bytes' time
// (assumptions.json), in every pass and precision, whatever else was measured.
TEST(NearestKernel, ADepthwiseConvolutionTakesSixTimesItsBytes) {
  for (const char* gpu : {"a100", "h100", "v100-sxm2"})
    for (const KernelPass pass :
         {KernelPass::kForward, KernelPass::kBackwardData, KernelPass::kBackwardWeights}) {
      const GpuKernel kernel{
          .shape = convolution(96, 112, 96), .pass = pass, .precision = Precision::kFp16};
      const double bytes_s =
          bytes_moved_by(kernel) / load_gpu(gpu, "--gpu", nullptr).memory_bandwidth.value;
      EXPECT_NEAR(time_s(gpu, kernel), 6.5 * bytes_s, 1e-6 * bytes_s) << gpu << name_of(pass);
    }
}

// 19.5 TFLOP/s of an A100 over the 14 of the V100 that DeepBench timed; kernels that the FLOP
// bound.
TEST(NearestKernel, Fp32OnCudaCoresGoesByTheV100) {
  GpuKernel product{.shape = GemmShape{.m = 4096, .n = 4096, .k = 4096},
                    .precision = Precision::kFp32};
  GpuKernel layer{.shape = convolution(256, 28), .precision = Precision::kFp32};
  for (const GpuKernel& kernel : {product, layer})
    for (const char* gpu : {"a100", "a100-40gb"})
      EXPECT_NEAR(time_s("v100", kernel) / time_s(gpu, kernel), 19.5 / 14, 0.03) << gpu;
  const GpuModel a100 = load_gpu("a100", "test", nullptr);
  const FittedGpu fitted = load_fitted_gpu(a100.fitted, "test", nullptr);
  const NearestKernels kernels(fitted, a100, nullptr);
  const NearestKernel fp32 = *kernels.find(layer);
  EXPECT_TRUE(fp32.is_other_gpus);
  layer.precision = Precision::kTf32;
  const NearestKernel tf32 = *kernels.find(layer);
  EXPECT_FALSE(tf32.is_other_gpus);
  EXPECT_LT(tf32.time_s, fp32.time_s);
}

TEST(NearestKernel, SingleProductsGroupsAndFp32TakeNoLonger) {
  GpuKernel single = scores(108);
  std::get<GemmShape>(single.shape).count = 1;
  GpuKernel single_aligned = scores(112);
  std::get<GemmShape>(single_aligned.shape).count = 1;
  EXPECT_LT(time_s("a100", single) / time_s("a100", single_aligned), 1.1);
  GpuKernel group = scores(108);
  std::get<GemmShape>(group.shape).is_grouped = true;
  EXPECT_LT(time_s("a100", group) / time_s("a100", scores(112)), 1.5);
  EXPECT_LT(time_s("v100-sxm2", scores(108, Precision::kFp32)) /
                time_s("v100-sxm2", scores(112, Precision::kFp32)),
            1.1);
}

}  // namespace
}  // namespace forescale
