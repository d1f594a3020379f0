// The shipped GPU models against shapes that no fit has seen (calibrate/published_gpus/rebuild.py
// says which half is which).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/median.hpp"
#include "calibrate/measure/measurement.hpp"
#include "models/compute/fitted_gpu.hpp"

namespace forescale {
namespace {

constexpr double kLargeFlops = 1e9;

// |predicted / measured - 1| by operation and whether the kernel has 1 GFLOP.
std::map<std::pair<std::string, bool>, std::vector<double>> judged_errors(const std::string& gpu) {
  const FittedGpu fitted = load_fitted_gpu(gpu, "--gpu-model", nullptr);
  const Measurement judged =
      read_measurement(FORESCALE_SOURCE_DIR "/tests/calibrate/data/judged_gpus/" + gpu + ".json");
  std::map<std::pair<std::string, bool>, std::vector<double>> errors;
  for (const MeasuredKernel& each : judged.kernels) {
    const KernelFit* fit = fitted.find_kernels(kind_of(each.kernel));
    EXPECT_NE(fit, nullptr) << to_text(each.kernel);
    if (fit == nullptr) continue;
    errors[{operation_of(each.kernel), flops_of(each.kernel) > kLargeFlops}].push_back(
        std::abs(fit->estimate(each.kernel).time_s / each.time_s - 1));
  }
  return errors;
}

class JudgedKernels : public ::testing::TestWithParam<std::string> {};

// Shapes there are at least, and limit of the median error.
struct JudgedLimit {
  std::string operation;
  bool is_large = false;
  std::size_t shapes = 0;
  double limit = 0;
};

void expect_near(const std::string& gpu, const std::vector<JudgedLimit>& limits) {
  auto errors = judged_errors(gpu);
  for (const auto& [operation, is_large, shapes, limit] : limits) {
    const std::vector<double>& of = errors[{operation, is_large}];
    ASSERT_GE(of.size(), shapes) << operation;
    EXPECT_LE(median(of), limit) << operation << (is_large ? " from" : " below") << " 1 GFLOP, "
                                 << of.size() << " shapes";
    ::testing::Test::RecordProperty(operation + (is_large ? "_large" : "_small"),
                                    std::to_string(median(of)));
  }
}

TEST_P(JudgedKernels, ArePredictedByTheShippedModel) {
  expect_near(
      GetParam(),
      {{"gemm", true, 100, 0.08}, {"gemm", false, 50, 0.15}, {"attention", true, 30, 0.10}});
}

// Measured by this project (calibrate/measured_gpus/): both gradients of products, convolutions and
// attention, forward and backward.
TEST(JudgedTrainingKernels, OnH100ArePredicted) {
  expect_near("h100", {{"gemm", true, 300, 0.05},
                       {"convolution", true, 300, 0.12},
                       {"convolution", false, 10, 0.25},
                       {"attention", true, 30, 0.04}});
}

INSTANTIATE_TEST_SUITE_P(Gpus, JudgedKernels,
                         ::testing::Values("a100", "b200", "b300", "gb200", "h100", "l40s",
                                           "rtx-pro-6000"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace forescale
