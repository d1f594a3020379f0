// Kernels of a measurement: what is written is read back, FLOP and bytes are those of the shapes,
// and what is wrong is refused by its place.
#include "calibrate/measure/measured_kernel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "calibrate/measure/measurement.hpp"
#include "tests/calibrate/json_forms.hpp"

namespace forescale {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::measurement_refusal;

json measured_gemm() {
  return {{"operation", "gemm"},
          {"m", 1760},
          {"n", 16},
          {"k", 880},
          {"transposes", "TN"},
          {"pass", "forward"},
          {"precision", "fp16"},
          {"time_s", 2e-4},
          {"low_s", 1e-4},
          {"high_s", 3e-4},
          {"samples", 50}};
}

json convolution() {
  return {{"operation", "convolution"},
          {"batch", 8},
          {"channels", 64},
          {"height", 56},
          {"width", 28},
          {"filters", 128},
          {"filter_height", 3},
          {"filter_width", 5},
          {"pad_height", 1},
          {"pad_width", 2},
          {"stride_height", 2},

          {"groups", 2},
          {"pass", "backward"},
          {"precision", "fp32"},
          {"time_s", 1e-3},
          {"network", "net"},
          {"layer", "conv2"},
          {"algorithm", "winograd"}};
}

json layer() {
  return {{"operation", "layer"}, {"type", "pooling"},     {"batch", 32},
          {"input_bytes", 4000.}, {"output_bytes", 1000.}, {"flops", 900.},
          {"pass", "forward"},    {"precision", "fp32"},   {"time_s", 1e-5}};
}

json attention() {
  return {{"operation", "attention"},
          {"batch", 2},
          {"sequence", 512},
          {"heads", 32},
          {"kv_heads", 8},
          {"head_size", 128},
          {"causal", true},
          {"time_s", 1e-4},
          {"pass", "forward"},
          {"precision", "bf16"}};
}

json kernels_document() {
  return {{"format", "forescale-measurement-1"},
          {"provenance", {{"gpu", {{"name", "Tesla V100"}, {"sm_count", 80}}}, {"date", "d"}}},
          {"kernels", {measured_gemm(), convolution(), layer(), attention()}}};
}

std::string kernel_refusal_with(const std::string& pointer, const json& value) {
  json changed = kernels_document();
  changed[json::json_pointer(pointer)] = value;
  return measurement_refusal(changed);
}

std::string refusal_without(const std::string& pointer, const std::string& key) {
  json changed = kernels_document();
  changed[json::json_pointer(pointer)].erase(key);
  return measurement_refusal(changed);
}

TEST(MeasuredKernel, WhatIsWrittenIsReadBack) {
  const Measurement read = read_measurement_text(kernels_document().dump(), "m.json");
  ASSERT_EQ(read.kernels.size(), 4U);
  EXPECT_TRUE(read.series.empty());
  EXPECT_EQ(read.gpu.at("name"), "Tesla V100");
  EXPECT_EQ(read.gpu.at("sm_count"), "80");
  EXPECT_EQ(to_json(read.kernels[0]), measured_gemm());
  EXPECT_EQ(to_json(read.kernels[1]), convolution());
  EXPECT_EQ(to_json(read.kernels[2]), layer());
  EXPECT_EQ(to_json(read.kernels[3]), attention());
  const Measurement again = read_measurement_text(to_json(read).dump(), "m.json");
  EXPECT_EQ(to_json(again), to_json(read));
  EXPECT_EQ(again.gpu, read.gpu);
}

TEST(MeasuredKernel, FlopAndBytesAreThoseOfTheShape) {
  const Measurement read = read_measurement_text(kernels_document().dump(), "m.json");
  const GpuKernel& product = read.kernels[0].kernel;
  EXPECT_EQ(flops_of(product), 2.0 * 1760 * 16 * 880);
  EXPECT_EQ(bytes_moved_by(product), 2.0 * (1760 * 880 + 880 * 16 + 1760 * 16));
  // 56 rows padded by 1 in steps of 2 make 28, 28 columns padded by 2 stay 28; two gradients.
  const GpuKernel& conv = read.kernels[1].kernel;
  const auto& shape = std::get<ConvolutionShape>(conv.shape);
  EXPECT_EQ(shape.output_height(), 28);
  EXPECT_EQ(shape.output_width(), 28);
  EXPECT_EQ(flops_of(conv), 2 * 2.0 * 8 * 128 * 28 * 28 * (64.0 / 2) * 3 * 5);
  EXPECT_EQ(bytes_moved_by(conv),
            2 * 4.0 * (8 * 64 * 56 * 28 + 128 * 32 * 3 * 5 + 8 * 128 * 28 * 28));
  EXPECT_EQ(flops_of(read.kernels[2].kernel), 900);
  EXPECT_EQ(bytes_moved_by(read.kernels[2].kernel), 5000);
}

TEST(MeasuredKernel, AttentionComputesHalfWhereCausalAndItsScoresAgainBackward) {
  GpuKernel kernel = read_measurement_text(kernels_document().dump(), "m.json").kernels[3].kernel;
  const double products = 2 * 2.0 * 2 * 32 * 512 * 512 * 128;  // scores, and their sum of values
  EXPECT_EQ(flops_of(kernel), products / 2);
  const double operands = 2.0 * 2 * 512 * 128 * (32 + 8 + 8 + 32);
  EXPECT_EQ(bytes_moved_by(kernel), operands);
  kernel.pass = KernelPass::kBackward;
  EXPECT_EQ(flops_of(kernel), 2.5 * products / 2);
  EXPECT_EQ(bytes_moved_by(kernel), 2 * operands);
  std::get<AttentionShape>(kernel.shape).is_causal = false;
  EXPECT_EQ(flops_of(kernel), 2.5 * products);
}

TEST(MeasuredKernel, ProductsOfFp8HaveResultsOfTwoBytes) {
  GpuKernel product = read_measurement_text(kernels_document().dump(), "m.json").kernels[0].kernel;
  product.precision = Precision::kFp8;
  EXPECT_EQ(bytes_moved_by(product), 1760 * 880 + 880 * 16 + 2.0 * 1760 * 16);
}

TEST(MeasuredKernel, RefusesByPlaceValueAndConstraint) {
  EXPECT_THAT(kernel_refusal_with("/kernels/0/operation", "sort"),
              HasSubstr("/kernels/0/operation"));
  EXPECT_THAT(kernel_refusal_with("/kernels/0/batch", 1), HasSubstr("batch"));
  EXPECT_THAT(kernel_refusal_with("/kernels/0/m", 0),
              HasSubstr("m.json:/kernels/0/m = 0: must be >= 1"));
  EXPECT_THAT(kernel_refusal_with("/kernels/0/transposes", "NX"),
              HasSubstr("/transposes = \"NX\""));
  EXPECT_THAT(kernel_refusal_with("/kernels/0/time_s", 0), HasSubstr("/time_s = 0: must be > 0"));
  EXPECT_THAT(kernel_refusal_with("/kernels/0/low_s", 1e-3), HasSubstr("must be <= time_s"));
  EXPECT_THAT(kernel_refusal_with("/kernels/0/samples", 0), HasSubstr("must be >= 1"));
  EXPECT_THAT(kernel_refusal_with("/kernels/0/precision", "fp4"),
              HasSubstr("must be one of fp32, tf32, fp16, bf16, fp8"));
  EXPECT_THAT(kernel_refusal_with("/kernels/1/pass", "back"), HasSubstr("backward-data"));
  EXPECT_THAT(kernel_refusal_with("/kernels/1/groups", 3),
              HasSubstr("must divide the 64 channels and the 128 filters"));
  EXPECT_THAT(kernel_refusal_with("/kernels/1/filter_height", 59),
              HasSubstr("height with its padding"));
  EXPECT_THAT(kernel_refusal_with("/kernels/3/kv_heads", 5), HasSubstr("must divide the 32 heads"));
  EXPECT_THAT(refusal_without("/kernels/3", "causal"), HasSubstr("/causal: is required"));
  EXPECT_THAT(kernel_refusal_with("/kernels/2/type", ""), HasSubstr("must not be empty"));
  EXPECT_THAT(kernel_refusal_with("/kernels/2/input_bytes", -1), HasSubstr("must be >= 0"));
  EXPECT_THAT(kernel_refusal_with("/provenance/gpu/name", json::array()),
              HasSubstr("/provenance/gpu/name"));
  EXPECT_THAT(kernel_refusal_with("/kernels", json::array()), HasSubstr("/series: is required"));
  EXPECT_THAT(refusal_without("/kernels/1", "filters"), HasSubstr("/filters: is required"));
  EXPECT_THAT(refusal_without("/kernels/0", "pass"), HasSubstr("/pass: is required"));
}

TEST(MeasuredKernel, APatternOfAGpuIsOnOneGpu) {
  json changed = kernels_document();
  changed["series"] = {
      {{"pattern", "launch"}, {"ranks", 1}, {"points", {{{"bytes", 0}, {"time_s", 5e-6}}}}}};
  const auto refusal = [&](const std::string& key, const json& value) {
    json wrong = changed;
    wrong["series"][0][key] = value;
    return measurement_refusal(wrong);
  };
  const Measurement read = read_measurement_text(changed.dump(), "m.json");
  EXPECT_EQ(read.series.at(0).pattern, Pattern::kLaunch);
  EXPECT_EQ(read.series.at(0).place, "gpu");
  EXPECT_THAT(refusal("ranks", 2), HasSubstr("must be 1"));
  EXPECT_THAT(refusal("place", "host"), HasSubstr("must be \"gpu\" for this pattern"));
  EXPECT_THAT(refusal("points", {{{"bytes", 4}, {"time_s", 5e-6}}}),
              HasSubstr("must be 0 for a launch"));
  EXPECT_THAT(refusal("pattern", "peer-copy"), HasSubstr("must be 2"));
}

}  // namespace
}  // namespace forescale
