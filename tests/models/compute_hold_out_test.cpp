// Published times of networks, predicted from others' (the whole table: `forescale model
// hold-out`).
#include "models/compute/compute_hold_out.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/median.hpp"

namespace forescale {
namespace {

double median_error(const std::vector<HeldOutTime>& times) {
  std::vector<double> errors;
  for (const HeldOutTime& time : times) errors.push_back(std::abs(time.error()));
  return median(std::move(errors));
}

TEST(ComputeHoldOut, NetworksFromOtherNetworks) {
  const std::vector<HeldOutTime> times = predict_from_other_networks(
      {"k40", "k80", "p100", "v100"}, {"alexnet", "googlenet", "vgg-16", "resnet-50"});
  EXPECT_EQ(times.size(), 64U);
  EXPECT_LT(median_error(times), 0.15);
  for (const HeldOutTime& time : times) {
    EXPECT_GT(time.predicted_s, 0);
    // CaffeNet is AlexNet: k40 has two networks beside it, and three beside the others.
    if (time.gpu == "k40" && time.network == "alexnet") {
      EXPECT_EQ(time.fitted_on, "2 times of 2 other networks");
    }
  }
}

TEST(ComputeHoldOut, BatchesFromOtherBatches) {
  const std::vector<HeldOutTime> times = predict_from_other_batches({"v100"}, {"resnet-50"});
  EXPECT_EQ(times.size(), 12U);
  EXPECT_LT(median_error(times), 0.1);
  for (const HeldOutTime& time : times) EXPECT_LT(std::abs(time.error()), 0.25);
  EXPECT_TRUE(predict_from_other_batches({"v100"}, {"vgg-16"}).empty());  // one batch alone
}

}  // namespace
}  // namespace forescale
