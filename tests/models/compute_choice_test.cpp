// Which times and precision count on a GPU, and ResNet-50 on one GPU as NVIDIA measured it.
#include "models/compute/compute_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;

GpuModel gpu_called(const std::string& name) { return load_gpu(name, "--gpu", nullptr); }

ComputeChoice in(std::optional<Precision> precision, const std::string& gpu_model = "") {
  return {.gpu_model = gpu_model, .option = "--gpu-model", .precision = precision};
}

std::string refusal_on(const std::string& gpu, const ComputeChoice& choice) {
  try {
    precision_on(gpu_called(gpu), choice);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ComputeChoice, PublishedTimesGoFirstInFp32AndTheGpusOwnModelElsewhere) {
  EXPECT_EQ(gpu_model_for(gpu_called("p100"), in({})), "");
  EXPECT_EQ(gpu_model_for(gpu_called("p100"), in(Precision::kFp16)), "p100");
  EXPECT_EQ(gpu_model_for(gpu_called("h200"), in({})), "h100");
  EXPECT_EQ(gpu_model_for(gpu_called("k80"), in({})), "");
  EXPECT_EQ(gpu_model_for(gpu_called("h100"), in({}, "mine.json")), "mine.json");
}

TEST(ComputeChoice, Tf32IsTheDefaultWhereFrameworksTakeIt) {
  EXPECT_EQ(precision_on(gpu_called("a100"), in({})), Precision::kTf32);
  EXPECT_EQ(precision_on(gpu_called("gb200"), in({})), Precision::kTf32);
  EXPECT_EQ(precision_on(gpu_called("a100"), in(Precision::kFp32)), Precision::kFp32);
  EXPECT_EQ(precision_on(gpu_called("v100-sxm2"), in({})), Precision::kFp32);
  EXPECT_EQ(precision_on(gpu_called("k80"), in({})), Precision::kFp32);
  EXPECT_EQ(memory_format_of(in({}), Precision::kTf32), MemoryFormat::kNchw);
  EXPECT_EQ(memory_format_of(in({}), Precision::kBf16), MemoryFormat::kNhwc);
}

TEST(ComputeChoice, RefusesWhatTheGpuHasNot) {
  EXPECT_THAT(refusal_on("v100", in(Precision::kBf16)), HasSubstr("bf16: is no precision of v100"));
  EXPECT_THAT(refusal_on("v100", in(Precision::kTf32)), HasSubstr("tf32: is no precision of v100"));
  EXPECT_THAT(refusal_on("p100", in(Precision::kBf16)), HasSubstr("is no precision of p100"));
  EXPECT_THAT(refusal_on("k80", in(Precision::kFp16)),
              HasSubstr("no kernels were measured on k80"));
  EXPECT_THAT(refusal_on("h100", in({}, "v100")),
              HasSubstr("v100: is the model of another GPU than h100, whose own is h100"));
  EXPECT_THAT(refusal_on("k80", in({}, "p100")),
              HasSubstr("is the model of another GPU than k80, which has none"));
  EXPECT_EQ(refusal_on("p100", in(Precision::kFp16)), "");
}

TEST(ComputeChoice, AnotherGpusKernelsAreScaledByTheDataSheets) {
  const GpuModel gh200 = gpu_called("gh200");
  const GpuModel h100 = gpu_called("h100");
  const FittedGpu own = model_on(h100, "h100", "--gpu", nullptr);
  const FittedGpu scaled = model_on(gh200, "h100", "--gpu", nullptr);
  ASSERT_EQ(own.kernels.size(), scaled.kernels.size());
  EXPECT_DOUBLE_EQ(scaled.kernels[0].roofline.bytes_per_s / own.kernels[0].roofline.bytes_per_s,
                   gh200.memory_bandwidth.value / h100.memory_bandwidth.value);
  EXPECT_THAT(scaled.notes.back(), HasSubstr("measured on h100"));
}

// NVIDIA/DeepLearningExamples 729963d, PyTorch/Classification/ConvNets/resnet50v1.5/README.md,
// "Training performance": one GPU. None of these is in a fit.
TEST(ComputeChoice, ResNet50OnOneGpuIsWithin15Percent) {
  struct Row {
    const char* gpu;
    std::optional<Precision> precision;
    std::int64_t batch;
    double images_per_s;
  };
  const Network network = load_network("resnet-50-v1.5", "--model");
  for (const Row& row :
       {Row{"a100", {}, 256, 938}, Row{"a100", Precision::kFp16, 256, 2470},
        Row{"v100-sxm2", {}, 112, 367}, Row{"v100-sxm2", Precision::kFp16, 256, 1200}}) {
    const GpuModel gpu = gpu_called(row.gpu);
    const ComputeChoice choice = in(row.precision);
    const Precision precision = precision_on(gpu, choice);
    const FittedGpu fitted = model_on(gpu, gpu_model_for(gpu, choice), "--gpu", nullptr);
    const FittedCompute compute = fitted_compute(
        fitted, gpu, network,
        {.precision = precision, .memory_format = memory_format_of(choice, precision)}, nullptr);
    const double predicted = static_cast<double>(row.batch) / compute.table.iteration_s(row.batch);
    EXPECT_NEAR(predicted / row.images_per_s, 1, 0.15) << row.gpu << " " << name_of(precision);
    RecordProperty(std::string(row.gpu) + "_" + name_of(precision), std::to_string(predicted));
  }
}

}  // namespace
}  // namespace forescale
