// What operators of PyTorch ask a GPU for: shapes of products, convolutions and attention, and how
// kernels come by them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/registry.hpp"
#include "tests/traces/trace_files.hpp"
#include "traces/formats/trace_format.hpp"
#include "traces/program/program.hpp"

namespace forescale::testing {
namespace {

struct TracedOperator {
  std::string name;
  std::string dims;
  std::string types;
  std::string values = "";  // empty: not recorded
  std::string kernel = "ampere_sgemm_128x64_tn";
};

// A step of one operator with one kernel, which it launches.
Program program_of(const TracedOperator& one) {
  const TraceFolder folder;
  const std::string values =
      one.values.empty() ? "" : fmt::format(R"(,"Concrete Inputs":{})", one.values);
  const std::string file =
      folder.write("t.json", fmt::format(
                                 R"({{"distributedInfo":{{"rank":0,"world_size":1}},"traceEvents":[
{{"ph":"X","cat":"cpu_op","name":"aten::linear","tid":1,"ts":90,"dur":40,"args":{{}}}},
{{"ph":"X","cat":"cpu_op","name":"{}","tid":1,"ts":100,"dur":20,
 "args":{{"Input Dims":{},"Input type":{}{}}}}},
{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","tid":1,"ts":105,"dur":5,
 "args":{{"correlation":7}}}},
{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","tid":1,"ts":140,"dur":5,
 "args":{{"correlation":8}}}},
{{"ph":"X","cat":"kernel","name":"{}","tid":2,"ts":120,"dur":30,
 "args":{{"stream":7,"correlation":7}}}},
{{"ph":"X","cat":"kernel","name":"elementwise","tid":2,"ts":160,"dur":30,
 "args":{{"stream":7,"correlation":8}}}}]}})",
                                 one.name, one.dims, one.types, values, one.kernel));
  return Registry<TraceFormat>::find("kineto", "test").import({file}, {}).program;
}

// Of the first kernel; the second was launched behind the operator, and has none.
KernelWork work_of(const Program& program) {
  KernelWork work;
  int kernels = 0;
  for (const ProgramThread& thread : program.ranks.front().threads)
    for (const Action& action : thread.actions)
      if (const auto* kernel = std::get_if<Kernel>(&action.what)) {
        if (++kernels == 1 && kernel->work != nullptr) work = *kernel->work;
        if (kernels == 2) {
          EXPECT_EQ(kernel->work, nullptr);
        }
      }
  EXPECT_EQ(kernels, 2);
  return work;
}

KernelWork asked_by(const TracedOperator& one) { return work_of(program_of(one)); }

GpuKernel product(GemmShape shape, Precision precision) {
  shape.transpose_a = true;
  return {.shape = shape, .precision = precision};
}

TEST(KinetoWork, ProductsAreColumnMajor) {
  const GpuKernel linear = product({.m = 3, .n = 5, .k = 7}, Precision::kBf16);
  EXPECT_EQ(asked_by({"aten::addmm", "[[3],[5,7],[7,3],[],[]]",
                      R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","Scalar","Scalar"])"}),
            KernelWork{linear});
  EXPECT_EQ(asked_by({"aten::mm", "[[5,7],[7,3]]", R"(["float","float"])"}),
            KernelWork{product({.m = 3, .n = 5, .k = 7}, Precision::kFp32)});
  EXPECT_EQ(asked_by({"aten::bmm", "[[9,5,7],[9,7,3]]", R"(["c10::Half","c10::Half"])"}),
            KernelWork{product({.m = 3, .n = 5, .k = 7, .count = 9}, Precision::kFp16)});
}

TEST(KinetoWork, ConvolutionsAndTheirGradients) {
  const ConvolutionShape shape{.batch = 8,
                               .channels = 64,
                               .height = 56,
                               .width = 28,
                               .filters = 128,
                               .filter_height = 3,
                               .filter_width = 3,
                               .pad_height = 1,
                               .pad_width = 1,
                               .stride_height = 2,
                               .stride_width = 1};
  EXPECT_EQ(asked_by({"aten::cudnn_convolution", "[[8,64,56,28],[128,64,3,3],[],[],[],[],[],[],[]]",
                      R"(["float","float","ScalarList","ScalarList","ScalarList","Scalar","Scalar",
                    "Scalar","Scalar"])",
                      R"(["","","[1]","[2, 1]","[1, 1]","1","False","False","True"])"}),
            KernelWork{GpuKernel{.shape = shape}});
  const auto gradients = [&](const char* mask) {
    return asked_by(
        {"aten::convolution_backward",
         "[[8,128,28,28],[8,64,56,28],[128,64,3,3],[],[],[],[],[],[],[],[]]",
         R"(["float","float","float","","","","","","","",""])",
         fmt::format(R"(["","","","[0]","[2, 1]","[1, 1]","[1, 1]","False","[0, 0]","1","{}"])",
                     mask)});
  };
  const GpuKernel data{.shape = shape, .pass = KernelPass::kBackwardData};
  const GpuKernel weights{.shape = shape, .pass = KernelPass::kBackwardWeights};
  EXPECT_EQ(gradients("[True, True, False]"), (KernelWork{data, weights}));
  EXPECT_EQ(gradients("[False, True, False]"), KernelWork{weights});
  EXPECT_EQ(gradients("[True, False, False]"), KernelWork{data});
}

TEST(KinetoWork, Attention) {
  const std::string types =
      R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","","","","","","",""])";
  EXPECT_EQ(asked_by({"aten::_flash_attention_forward",
                      "[[2,512,32,128],[2,512,8,128],[2,512,8,128],[],[],[],[],[],[],[]]", types,
                      R"(["","","","","","512","512","0.","True","False"])",
                      "flash_fwd_kernel<cutlass::bfloat16_t>"}),
            (KernelWork{GpuKernel{.shape = AttentionShape{.batch = 2,
                                                          .sequence = 512,
                                                          .heads = 32,
                                                          .kv_heads = 8,
                                                          .head_size = 128,
                                                          .is_causal = true},
                                  .precision = Precision::kBf16}}));
}

// Not wrong, but not known either: then there is none.
TEST(KinetoWork, WhatCannotBeToldIsLeftOut) {
  const KernelWork none;
  EXPECT_EQ(asked_by({"aten::mul", "[[5,7],[7,3]]", R"(["float","float"])"}), none);
  EXPECT_EQ(asked_by({"aten::mm", "[[5,7],[8,3]]", R"(["float","float"])"}), none);
  EXPECT_EQ(asked_by({"aten::mm", "[[5,0],[0,3]]", R"(["float","float"])"}), none);
  EXPECT_EQ(asked_by({"aten::mm", "[[5,7],[7,3]]", R"(["double","double"])"}), none);
  EXPECT_EQ(asked_by({"aten::mm", "[[5,7]]", R"(["float"])"}), none);
  EXPECT_EQ(
      asked_by({"aten::mm", "[[9000000000,9000000000],[9000000000,3]]", R"(["float","float"])"}),
      none);
  // Without values nobody knows the stride.
  EXPECT_EQ(asked_by({"aten::cudnn_convolution", "[[8,64,56,28],[128,64,3,3],[],[],[],[]]",
                      R"(["float","float","","","",""])"}),
            none);
  EXPECT_EQ(asked_by({"aten::_flash_attention_forward",
                      "[[2,1,32,128],[2,512,8,128],[2,512,8,128],[],[],[],[],[],[],[]]",
                      R"(["c10::Half","c10::Half","c10::Half","","","","","","",""])",
                      R"(["","","","","","1","512","0.","True","False"])"}),
            none);
}

TEST(KinetoWork, IsWrittenWithTheProgramAndReadAgain) {
  const TracedOperator one{"aten::bmm", "[[9,5,7],[9,7,3]]", R"(["c10::Half","c10::Half"])"};
  const Program program = program_of(one);
  std::stringstream text;
  write_program(program, text);
  EXPECT_EQ(work_of(read_program(text, "program")), work_of(program));
}

}  // namespace
}  // namespace forescale::testing
