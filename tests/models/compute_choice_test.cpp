// Which times and precision count on a GPU, and ResNet-50 on one GPU as NVIDIA measured it.
#include "models/compute/compute_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "models/compute/layer_kernel.hpp"
#include "models/matrix_peaks.hpp"

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
  EXPECT_EQ(refusal_on("b200", in({}, "b200-simumax")), "");  // the same GPU on another machine
}

TEST(ComputeChoice, ScalesTakeBytesToo) {
  EXPECT_DOUBLE_EQ(32 * bytes_a_value(Precision::kMxfp8), 33);
  EXPECT_DOUBLE_EQ(16 * bytes_a_value(Precision::kNvfp4), 9);
  const GpuKernel nvfp4{.shape = GemmShape{.m = 16, .n = 32, .k = 64},
                        .precision = Precision::kNvfp4};
  EXPECT_DOUBLE_EQ(bytes_moved_by(nvfp4), (16 * 64 + 64 * 32) * 9 / 16.0 + 2 * 16 * 32);
}

TEST(ComputeChoice, BlockScalesNeedBlackwell) {
  const auto peaks_of = [](const char* gpu) {
    return load_matrix_peaks(gpu_called(gpu).file, "--gpu", nullptr);
  };
  EXPECT_EQ(peaks_of("h100").of(Precision::kMxfp8).value, 0);
  EXPECT_EQ(peaks_of("h100").of(Precision::kNvfp4).value, 0);
  for (const char* gpu : {"b200", "gb200", "b300", "gb300"}) {
    const MatrixPeaks peaks = peaks_of(gpu);
    EXPECT_EQ(peaks.of(Precision::kMxfp8).value, peaks.of(Precision::kFp8).value) << gpu;
    EXPECT_GE(peaks.of(Precision::kNvfp4).value, 2 * peaks.of(Precision::kFp8).value) << gpu;
  }
}

TEST(ComputeChoice, AnotherGpusKernelsAreScaledByTheDataSheets) {
  const GpuModel gh200 = gpu_called("gh200");
  const GpuModel h100 = gpu_called("h100");
  const FittedGpu own = model_on(h100, "h100", "--gpu", nullptr);
  const FittedGpu scaled = model_on(gh200, "h100", "--gpu", nullptr);
  ASSERT_EQ(own.kernels.size(), scaled.kernels.size());
  int slower = 0;
  for (size_t i = 0; i < own.kernels.size(); ++i) {
    const double one_s = 1 / own.kernels[i].roofline.bytes_per_s;
    const double other_s = 1 / scaled.kernels[i].roofline.bytes_per_s;
    if (one_s > 1 / h100.memory_bandwidth.value) {
      // Bytes that take longer than at the memory's rate gain what the memory does, no more.
      ++slower;
      EXPECT_NEAR(one_s - other_s,
                  1 / h100.memory_bandwidth.value - 1 / gh200.memory_bandwidth.value, 1e-20);
    } else {
      EXPECT_DOUBLE_EQ(one_s / other_s, gh200.memory_bandwidth / h100.memory_bandwidth);
    }
  }
  EXPECT_GT(slower, 0);
  EXPECT_DOUBLE_EQ(scaled.memory_times, gh200.memory_bandwidth / h100.memory_bandwidth);
  EXPECT_EQ(own.memory_times, 1);
  EXPECT_THAT(scaled.notes.back(), HasSubstr("measured on h100"));
}

TEST(ComputeChoice, OnlyWhatIsTheMemorysGainsByAFasterOne) {
  EXPECT_DOUBLE_EQ(factor_over_bytes(1, 1.5), 1);
  EXPECT_DOUBLE_EQ(factor_over_bytes(0.8, 1.5), 0.8);  // bytes that caches had: as the memory
  EXPECT_DOUBLE_EQ(factor_over_bytes(1.7, 1), 1.7);
  EXPECT_DOUBLE_EQ(factor_over_bytes(1.7, 1.5) / 1.5, 0.7 + 1 / 1.5);
}

// NVIDIA/DeepLearningExamples 729963d, PyTorch/Classification/ConvNets/resnet50v1.5/README.md,
// "Training performance": one GPU. What frameworks add is fitted to 156 rows, these among them.
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
    const FittedCompute compute =
        fitted_compute(fitted, gpu, network,
                       {.precision = precision,
                        .memory_format = memory_format_of(choice, precision),
                        .batches = {row.batch}},
                       nullptr);
    const double predicted = static_cast<double>(row.batch) / compute.table.iteration_s(row.batch);
    EXPECT_NEAR(predicted / row.images_per_s, 1, 0.15) << row.gpu << " " << name_of(precision);
    RecordProperty(std::string(row.gpu) + "_" + name_of(precision), std::to_string(predicted));
  }
}

// In half precision only what is handed on has half the bytes: 26 * 128 values and as many tokens'
// 26 forward, and once backward.
TEST(ComputeChoice, TablesStayInFp32) {
  const Network network = load_network("dlrm", "--model");
  const GpuModel gpu = gpu_called("a100");
  const FittedGpu fitted = load_fitted_gpu("a100", "--gpu-model", nullptr);
  const auto tables_s = [&](Precision precision) {
    FrameworkKernels kernels;
    kernels.precision = precision;
    kernels.batches = {65536};
    return fitted_compute(fitted, gpu, network, kernels, nullptr).table.layers.at(2);
  };
  ASSERT_EQ(network.layers.at(2).name, "tables");
  const LayerTime full = tables_s(Precision::kFp32);
  const LayerTime half = tables_s(Precision::kFp16);
  const double ratio = 4.0 * 26 * 128 / (4.0 * (26 * 128 + 26 + 26 * 128));
  EXPECT_NEAR(half.forward_t1_s / full.forward_t1_s, ratio + (1 - ratio) / 2, 1e-9);
  const double back = 6 * 4.0 * 26 * 128 / (4.0 * (6 * 26 * 128 + 26 + 26 * 128));
  EXPECT_NEAR(half.backward_t1_s / full.backward_t1_s, back + (1 - back) / 2, 1e-9);
}

}  // namespace
}  // namespace forescale
