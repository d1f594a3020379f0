// The slowest of GPUs of one kind.
#include "models/compute/gpu_variation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

namespace forescale {
namespace {

// Of two and three in closed form; of more as tables of order statistics have it (Harter, 1961).
TEST(GpuVariation, TheLargestOfSomeNormalNumbers) {
  EXPECT_NEAR(expected_largest(1), 0, 1e-9);
  EXPECT_NEAR(expected_largest(2), 1 / std::sqrt(std::numbers::pi), 1e-6);
  EXPECT_NEAR(expected_largest(3), 1.5 / std::sqrt(std::numbers::pi), 1e-6);
  EXPECT_NEAR(expected_largest(8), 1.42360, 1e-5);
  EXPECT_NEAR(expected_largest(100), 2.50759, 1e-5);
}

TEST(GpuVariation, TheLargestIsWhatDrawsSay) {
  constexpr int kGpus = 1000;
  constexpr int kDraws = 2000;
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  double sum = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    double largest = -10;
    for (int gpu = 0; gpu < kGpus; ++gpu) largest = std::max(largest, normal(random));
    sum += largest;
  }
  EXPECT_NEAR(expected_largest(kGpus), sum / kDraws, 0.03);
}

TEST(GpuVariation, TheSlowestIsSlowerTheMoreThereAre) {
  EXPECT_EQ(slowest_of(1, 0.015), 1);
  EXPECT_EQ(slowest_of(1000, 0), 1);
  EXPECT_NEAR(slowest_of(8, 0.015), 1.02135, 1e-5);
  double before = 1;
  for (int gpus = 2; gpus <= 65536; gpus *= 2) {
    EXPECT_GT(slowest_of(gpus, 0.015), before);
    before = slowest_of(gpus, 0.015);
  }
  EXPECT_LT(before, 1.07);
}

}  // namespace
}  // namespace forescale
