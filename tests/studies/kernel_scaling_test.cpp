#include "studies/replay/kernel_scaling.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.hpp"
#include "base/scratch_folder.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;

TEST(RooflineSide, IsReadOffTheName) {
  const std::vector<std::pair<const char*, RooflineSide>> known{
      {"volta_sgemm_128x64_nn", RooflineSide::kMatrix},
      {"ampere_sgemm_64x32_sliced1x4_nn", RooflineSide::kMatrix},
      {"cudnn::winograd_nonfused::winogradForwardOutput4x4<float, float>", RooflineSide::kMatrix},
      {"void implicit_convolve_sgemm<float, float, 1024>", RooflineSide::kMatrix},
      {"volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_nn", RooflineSide::kMatrixHalf},
      {"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_32x6_tn", RooflineSide::kMatrixHalf},
      {"void flash::flash_fwd_kernel<cutlass::bfloat16_t>", RooflineSide::kMatrixHalf},
      {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x6_tn_align4>",
       RooflineSide::kMatrixTf32},
      {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw",
       RooflineSide::kMatrixTf32},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>",
       RooflineSide::kMemory},
      {"void at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda, "
       "at::native::LoadWithCast<1>, convert>",
       RooflineSide::kMemory},
      {"void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>", RooflineSide::kMemory}};
  for (const auto& [name, kind] : known) EXPECT_EQ(side_of_kernel(name), kind) << name;
}

std::string gpu_file(const ScratchFolder& folder, const std::string& name,
                     const std::string& bytes_per_s, const std::string& flops,
                     const std::string& more = "") {
  const std::string file = folder.file(name + ".json");
  std::ofstream(file) << R"({"memory_bytes": {"value": 1e9, "source": "t"},)"
                      << R"("memory_bandwidth_bytes_per_s": {"value": )" << bytes_per_s
                      << R"(, "source": "t"}, "peak_flops_per_s": {"value": )" << flops
                      << R"(, "source": "t"},)" << more
                      << R"("kernel_launch_s": {"value": 1e-6, "source": "t"},
                            "synchronize_s": {"value": 1e-6, "source": "t"},
                            "host_copy_bytes_per_s": {"value": 1e10, "source": "t"}})";
  return file;
}

TEST(KernelScaling, OneSideOfTheRooflineAKernel) {
  const ScratchFolder folder("gpus");
  const std::string slow = gpu_file(folder, "slow", "1e11", "1e12");
  const std::string fast = gpu_file(folder, "fast", "2e11", "8e12",
                                    R"("half_flops_per_s": {"value": 64e12, "source": "t"},)");
  KernelScaling nominal(slow, fast, Scenario::kNominal);
  // 2 us of every kernel stay.
  EXPECT_NEAR(nominal.scaled_s("vectorized_elementwise", 102e-6), 2e-6 + 100e-6 / 2, 1e-15);
  EXPECT_NEAR(nominal.scaled_s("volta_sgemm_128x64_nn", 102e-6), 2e-6 + 100e-6 / 8, 1e-15);
  EXPECT_NEAR(nominal.scaled_s("tf32gemm", 102e-6), 2e-6 + 100e-6 / 8, 1e-15);
  EXPECT_EQ(nominal.scaled_s("volta_sgemm_128x64_nn", 1e-6), 1e-6);
  KernelScaling likely_fast(slow, fast, Scenario::kFast);
  KernelScaling likely_slow(slow, fast, Scenario::kSlow);
  for (const char* kernel : {"vectorized_elementwise", "volta_sgemm_128x64_nn"}) {
    EXPECT_NEAR(likely_fast.scaled_s(kernel, 102e-6), 2e-6 + 100e-6 / 8, 1e-15);
    EXPECT_NEAR(likely_slow.scaled_s(kernel, 102e-6), 2e-6 + 100e-6 / 2, 1e-15);
  }
  try {
    nominal.scaled_s("volta_fp16_s884gemm_fp16", 1e-3);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("model of slow has no \"half_flops_per_s\""));
  }
}

TEST(KernelScaling, FindsTheModelOfTheDriversName) {
  EXPECT_EQ(gpu_model_of("Tesla V100-SXM2-16GB"), "v100-sxm2");
  EXPECT_EQ(gpu_model_of("Tesla V100-PCIE-16GB"), "v100");
  EXPECT_EQ(gpu_model_of("NVIDIA A100-SXM4-40GB"), "a100-40gb");
  EXPECT_EQ(gpu_model_of("NVIDIA A100-SXM4-80GB"), "a100");
  EXPECT_EQ(gpu_model_of("Tesla P100-PCIE-16GB"), "p100");
  EXPECT_EQ(gpu_model_of("NVIDIA GeForce RTX 2080 Ti"), "");
  EXPECT_EQ(gpu_model_of(""), "");
}

}  // namespace
}  // namespace forescale
