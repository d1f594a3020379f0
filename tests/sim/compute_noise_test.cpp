// Seeded noise and stragglers.
#include "sim/run/compute_noise.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;

TEST(ComputeNoise, NoneChangesNothing) {
  const ComputeNoise none;
  EXPECT_TRUE(none.none());
  EXPECT_EQ(none.factor(3, 17, 0), 1);
}

TEST(ComputeNoise, HasMeanOneAndTheSpreadAskedFor) {
  const ComputeNoise noise = parse_noise("sigma=0.2,seed=7", "");
  constexpr int kDraws = 100'000;
  double sum = 0;
  double sum_of_logs = 0;
  double sum_of_squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double factor = noise.factor(i % 8, static_cast<std::uint64_t>(i / 8), 0);
    sum += factor;
    sum_of_logs += std::log(factor);
    sum_of_squares += std::log(factor) * std::log(factor);
  }
  // Five standard errors: sigma / sqrt(n) of the mean, sigma / sqrt(2 n) of the deviation.
  const double mean_log = sum_of_logs / kDraws;
  EXPECT_NEAR(sum / kDraws, 1, 5 * 0.2 / std::sqrt(kDraws));
  EXPECT_NEAR(mean_log, -0.02, 5 * 0.2 / std::sqrt(kDraws));
  EXPECT_NEAR(std::sqrt(sum_of_squares / kDraws - mean_log * mean_log), 0.2,
              5 * 0.2 / std::sqrt(2.0 * kDraws));
}

TEST(ComputeNoise, DependsOnSeedRankAndKernelOnly) {
  const ComputeNoise a = parse_noise("sigma=0.1,seed=1", "");
  const ComputeNoise b = parse_noise("sigma=0.1,seed=2", "");
  EXPECT_EQ(a.factor(1, 2, 0), parse_noise("sigma=0.1", "").factor(1, 2, 0));
  EXPECT_NE(a.factor(1, 2, 0), b.factor(1, 2, 0));
  EXPECT_NE(a.factor(1, 2, 0), a.factor(2, 2, 0));
  EXPECT_NE(a.factor(1, 2, 0), a.factor(1, 3, 0));
}

TEST(ComputeNoise, StragglersAreAlwaysSlow) {
  const ComputeNoise noise = parse_noise("", "3:1.5,5:2");
  EXPECT_FALSE(noise.none());
  EXPECT_EQ(noise.factor(3, 0, 0), 1.5);
  EXPECT_EQ(noise.factor(5, 9, 0), 2);
  EXPECT_EQ(noise.factor(4, 0, 0), 1);
}

std::string error_of(const std::string& noise, const std::string& stragglers) {
  try {
    parse_noise(noise, stragglers);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ComputeNoise, BadTextNamesTheOption) {
  EXPECT_THAT(error_of("sigma=-1", ""), HasSubstr("--noise"));
  EXPECT_THAT(error_of("sigma=big", ""), HasSubstr("big"));
  EXPECT_THAT(error_of("seed=3", ""), HasSubstr("sigma"));
  EXPECT_THAT(error_of("sigma=0.1,sede=3", ""), HasSubstr("sede"));
  EXPECT_THAT(error_of("", "3"), HasSubstr("--straggler"));
  EXPECT_THAT(error_of("", "3:0"), HasSubstr("0.01"));
  EXPECT_THAT(error_of("", "3:2,3:4"), HasSubstr("second time"));
  EXPECT_THAT(error_of("sigma=2", ""), HasSubstr("to 1"));
  EXPECT_THAT(error_of("", "x:2"), HasSubstr("x"));
}

}  // namespace
}  // namespace forescale
