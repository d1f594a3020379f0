// Grouped products against times of SimuMax's B200 (configs/system/b200_bf16_ceperm.json, commit
// 4dcaae51): estimated from single ones of the same machine, and what each one's weights add.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "base/csv.hpp"
#include "base/median.hpp"
#include "models/compute/fitted_gpu.hpp"
#include "models/hardware.hpp"
#include "models/workload/matrix_work.hpp"

namespace forescale {
namespace {

constexpr double kShareOf = 2250e12;

struct TimedGroup {
  GpuKernel kernel;
  double time_s = 0;
};

std::vector<TimedGroup> timed_groups() {
  std::ifstream file(FORESCALE_SOURCE_DIR "/tests/models/data/grouped_gemm_b200.csv");
  std::string line;
  std::getline(file, line);
  std::vector<TimedGroup> groups;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = csv_cells(line);
    const LinearShape shape{.outputs = std::stoll(cells[2]),
                            .inputs = std::stoll(cells[3]),
                            .vectors = std::stoll(cells[0]) * std::stoll(cells[1]),
                            .groups = std::stoll(cells[0])};
    for (const GpuKernel& kernel : kernels_of(shape, 1, Precision::kBf16))
      if (name_of(kernel.pass) == cells[4])
        groups.push_back({kernel, flops_of(kernel) / (std::stod(cells[5]) * kShareOf)});
  }
  return groups;
}

TEST(GroupedGemm, MovesTheWeightsOfEachOfItsProducts) {
  const GpuKernel forward{
      .shape = GemmShape{.m = 8, .n = 2, .k = 4, .count = 3, .is_grouped = true},
      .pass = KernelPass::kForward,
      .precision = Precision::kBf16};
  EXPECT_EQ(grouped_bytes(forward), 2 * 2 * 8 * 4);  // one product has those of one
  GpuKernel weights = forward;
  weights.pass = KernelPass::kBackwardWeights;
  EXPECT_EQ(grouped_bytes(weights), 6 * 3 * 8 * 2);
  GpuKernel scores = forward;
  std::get<GemmShape>(scores.shape).is_grouped = false;
  EXPECT_EQ(grouped_bytes(scores), 0);
}

TEST(GroupedGemm, TakesWhatWasMeasured) {
  const FittedGpu fitted = load_fitted_gpu("b200-simumax", "--gpu-model", nullptr);
  const double bytes_per_s = 7.2e12;
  std::vector<double> errors;
  std::vector<double> without;
  for (const TimedGroup& group : timed_groups()) {
    const GpuKernel product = as_one_product(group.kernel).value();
    const KernelFit* fit = fitted.find_kernels(kind_of(product));
    ASSERT_NE(fit, nullptr);
    const double time_s = fit->estimate(product).time_s;
    const double error = (time_s + grouped_bytes(group.kernel) / bytes_per_s) / group.time_s - 1;
    errors.push_back(std::abs(error));
    without.push_back(std::abs(time_s / group.time_s - 1));
  }
  EXPECT_EQ(errors.size(), 60u);
  EXPECT_LT(median(errors), 0.12);
  EXPECT_GT(median(without), 2 * median(errors));
}

}  // namespace
}  // namespace forescale
