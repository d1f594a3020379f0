// What forescale-gpu reads, checks and says before it measures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "calibrate/bench/gpu/gpu_obstacle.hpp"
#include "calibrate/bench/gpu/gpu_request.hpp"
#include "calibrate/bench/gpu/reduction_check.hpp"
#include "tests/calibrate/json_forms.hpp"

namespace forescale::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json request_json() {
  return parse_json(R"({"format": "forescale-gpu-request-1", "device": 0, "budget_s": 100,
      "relative_interval": 0.03, "samples_max": 20, "layout": "nchw", "machine": "made-up",
      "provenance": {"command": "forescale"},
      "series": [{"pattern": "launch", "bytes": [0]}, {"pattern": "fill", "bytes": [256, 1024]}],
      "kernels": [{"operation": "gemm", "m": 2, "n": 4, "k": 5, "transposes": "TN",
                   "pass": "forward", "precision": "fp32"},
                  {"operation": "convolution", "batch": 2, "channels": 4, "height": 8, "width": 9,
                   "filters": 6, "filter_height": 3, "filter_width": 2, "groups": 2,
                   "pass": "backward-data", "precision": "bf16"}]})");
}

TEST(GpuRequest, ReadsShapesWithTheirDefaults) {
  const GpuRequest request = gpu_request_from(request_json());
  EXPECT_EQ(request.series[1].bytes.back(), 1024);
  EXPECT_EQ(request.kernels[0].kernel,
            (GpuKernel{.shape = GemmShape{.m = 2, .n = 4, .k = 5, .transpose_a = true}}));
  const ConvolutionShape shape{.batch = 2,
                               .channels = 4,
                               .height = 8,
                               .width = 9,
                               .filters = 6,
                               .filter_height = 3,
                               .filter_width = 2,
                               .groups = 2};
  EXPECT_EQ(request.kernels[1].kernel,
            (GpuKernel{
                .shape = shape, .pass = KernelPass::kBackwardData, .precision = Precision::kBf16}));
}

void expect_request_refused(const json& request, const std::string& path,
                            const std::string& constraint) {
  try {
    gpu_request_from(request);
    ADD_FAILURE() << path;
  } catch (const InputError& error) {
    EXPECT_EQ(error.parts().path, path);
    EXPECT_THAT(error.parts().constraint, HasSubstr(constraint));
  }
}

TEST(GpuRequest, RefusesWhatItCannotDo) {
  json request = request_json();
  request["series"][0]["pattern"] = "ping-pong";
  expect_request_refused(request, "/series/0/pattern", "no pattern of a GPU");
  request = request_json();
  request["series"][1]["bytes"] = {8, 4};
  expect_request_refused(request, "/series/1/bytes/1", "larger");
  request = request_json();
  request["kernels"][0]["k"] = 3'000'000'000;  // more than cuBLAS counts
  expect_request_refused(request, "/kernels/0/k", "must be");
  request = request_json();
  request["kernels"][0]["pass"] = "backward";
  expect_request_refused(request, "/kernels/0/pass", "\"backward-data\"");
  request = request_json();
  request["budget"] = 3;
  expect_request_refused(request, "/budget", "did you mean");
}

TEST(GpuObstacle, SaysWhatToDo) {
  const GpuSearch found{.driver_version = 12020, .runtime_version = 11080, .device_count = 2};
  EXPECT_EQ(gpu_obstacle(found), "");
  GpuSearch search = found;
  search.device = 2;
  EXPECT_EQ(gpu_obstacle(search), "there is no GPU 2: this machine has 2, numbered from 0");
  search = {.error_name = "cudaErrorInsufficientDriver", .runtime_version = 13000};
  EXPECT_THAT(gpu_obstacle(search), HasSubstr("no NVIDIA driver was found"));
  search.driver_version = 12020;
  EXPECT_THAT(gpu_obstacle(search), HasSubstr("too old: it supports CUDA up to 12.2, and "
                                              "forescale-gpu was built with CUDA 13.0"));
  search.error_name = "cudaErrorNoDevice";
  EXPECT_THAT(gpu_obstacle(search), HasSubstr("no GPU was found"));
  search.error_name = "cudaErrorSystemNotReady";
  search.error_text = "system not yet initialized";
  EXPECT_THAT(gpu_obstacle(search), HasSubstr("system not yet initialized"));
}

TEST(ReductionCheck, FindsTheFirstWrongSum) {
  const std::vector<float> a = reduction_values(1001, 17);
  const std::vector<float> b = reduction_values(1001, 29);
  std::vector<float> sums(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) sums[i] = a[i] + b[i];
  EXPECT_EQ(wrong_sum(a, b, sums), "");
  sums[1000] = std::nextafter(sums[1000], 0.0F);  // the last bit of the last one
  EXPECT_THAT(wrong_sum(a, b, sums), HasSubstr("value 1000 of 1001"));
  sums.pop_back();
  EXPECT_THAT(wrong_sum(a, b, sums), HasSubstr("1000 sums"));
}

// Sums that round, of both signs: a kernel that adds in another precision would be seen.
TEST(ReductionCheck, ValuesNeedEveryBit) {
  const std::vector<float> a = reduction_values(1000, 17);
  const std::vector<float> b = reduction_values(1000, 29);
  int rounded = 0;
  int negative = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double exact = static_cast<double>(a[i]) + static_cast<double>(b[i]);
    if (static_cast<double>(a[i] + b[i]) != exact) ++rounded;
    if (a[i] < 0) ++negative;
  }
  EXPECT_GT(rounded, 500);
  EXPECT_NEAR(negative, 500, 60);
}

}  // namespace
}  // namespace forescale::testing
