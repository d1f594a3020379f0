// Kernels of one network on two GPUs, as traces of both have them: what --gpu makes of the one,
// held against the other. Products of a recommendation model (DLRM) on A100 (TF32) and on V100
// (FP32), medians of 6 to 78 calls in microseconds: facebookresearch/HolisticTraceAnalysis,
// tests/data/ trace_diff/{control,test} (MIT). Judged: no row is in a fit of either GPU's model.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/median.hpp"
#include "studies/replay/kernel_scaling.hpp"

namespace forescale {
namespace {

struct TracedProduct {
  std::int64_t rows;
  std::int64_t inner;
  std::int64_t columns;
  double a100_us;
  double v100_us;
};

constexpr TracedProduct kProducts[] = {
    {1024, 1705, 1024, 132.0, 314.5}, {1024, 512, 1705, 68.5, 154.5},
    {1024, 128, 512, 16.0, 24.5},     {1024, 1705, 512, 186.0, 194.0},
    {1024, 32, 512, 16.5, 14.0},      {1024, 64, 512, 20.5, 17.0},
    {1024, 1024, 96, 33.5, 46.0},     {1024, 512, 96, 19.0, 31.0},
    {1024, 1024, 1705, 97.0, 281.5},  {1024, 1705, 512, 66.0, 171.5},
    {1024, 96, 1024, 13.0, 29.0},     {1024, 96, 512, 13.0, 19.5},
    {1705, 1024, 512, 63.5, 157.0},   {512, 1024, 128, 15.0, 25.5},
    {512, 1024, 1705, 62.5, 149.5},   {512, 1024, 32, 15.0, 21.0},
    {512, 1024, 64, 9.5, 19.0},       {96, 1024, 1024, 13.5, 31.5},
    {96, 1024, 512, 13.5, 20.0}};

constexpr const char* kOnA100 =
    "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_32x3_tn>";

// Relative errors of A100's times carried over to V100.
std::vector<double> errors_on_v100(bool with_shapes) {
  KernelScaling scaling("a100", "v100-sxm2", Scenario::kNominal);
  std::vector<double> all;
  for (const TracedProduct& product : kProducts) {
    const KernelWork work{GpuKernel{
        .shape = GemmShape{
            .m = product.columns, .n = product.rows, .k = product.inner, .transpose_a = true}}};
    const double scaled_us =
        1e6 * scaling.scaled_s(kOnA100, product.a100_us * 1e-6, with_shapes ? &work : nullptr);
    all.push_back(std::abs(scaled_us / product.v100_us - 1));
  }
  return all;
}

// V100's FP32 products were measured by shape; by the peaks alone (156 TFLOP/s of TF32, 15.7 of
// FP32) they would take five times too long. Adjusted: that a stand-in for A100's TF32 kernels is
// no divisor was seen here.
TEST(TracedKernels, FromA100ToV100) {
  EXPECT_LT(median(errors_on_v100(true)), 0.15);
  EXPECT_GT(median(errors_on_v100(false)), 3);
}

// The ends hold the nominal, and the measured time of most.
TEST(TracedKernels, RangesHoldTheMeasurement) {
  KernelScaling fast("a100", "v100-sxm2", Scenario::kFast);
  KernelScaling nominal("a100", "v100-sxm2", Scenario::kNominal);
  KernelScaling slow("a100", "v100-sxm2", Scenario::kSlow);
  int held = 0;
  for (const TracedProduct& product : kProducts) {
    const KernelWork work{GpuKernel{
        .shape = GemmShape{
            .m = product.columns, .n = product.rows, .k = product.inner, .transpose_a = true}}};
    const double traced_s = product.a100_us * 1e-6;
    const double low_s = fast.scaled_s(kOnA100, traced_s, &work);
    const double high_s = slow.scaled_s(kOnA100, traced_s, &work);
    EXPECT_LT(low_s, nominal.scaled_s(kOnA100, traced_s, &work));
    EXPECT_GT(high_s, nominal.scaled_s(kOnA100, traced_s, &work));
    if (low_s <= product.v100_us * 1e-6 && product.v100_us * 1e-6 <= high_s) ++held;
  }
  EXPECT_GE(held, 17) << "of 19";
}

// Both measured: what the models do not know of the traced kernel is carried over.
TEST(TracedKernels, AreScaledByBothModels) {
  const KernelWork work{
      GpuKernel{.shape = GemmShape{.m = 1024, .n = 8944, .k = 2816, .transpose_a = true},
                .precision = Precision::kBf16}};
  const auto model_s = [&](const char* name) {
    const GpuModel gpu = load_gpu(name, "test", nullptr);
    const FittedGpu fitted = load_fitted_gpu(gpu.fitted, "test", nullptr);
    return NearestKernels(fitted, gpu, nullptr).find(work.front())->time_s;
  };
  KernelScaling scaling("h100", "b200", Scenario::kNominal);
  const char* kernel = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64";
  EXPECT_NEAR(scaling.scaled_s(kernel, 150e-6, &work), 150e-6 * model_s("b200") / model_s("h100"),
              1e-12);
  EXPECT_NEAR(scaling.scaled().by_models_s, 150e-6, 1e-12);
  // What is no product, and what has no shape, as before.
  scaling.scaled_s("splitKreduce_kernel<float>", 10e-6, &work);
  EXPECT_NEAR(scaling.scaled().by_memory_s, 10e-6, 1e-12);
  scaling.scaled_s(kernel, 20e-6);
  EXPECT_NEAR(scaling.scaled().by_roofline_s, 20e-6, 1e-12);
}

}  // namespace
}  // namespace forescale
