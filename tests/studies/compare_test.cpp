// Comparisons against single predictions and against what arithmetic says.
#include "studies/predict/compare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;
using testing::refusal;
using ::testing::SizeIs;

CompareSettings compare_settings(const std::vector<std::string>& systems) {
  CompareSettings settings;
  settings.question = {
      .model = "alexnet", .gpus = {1, 4, 16}, .batch = 32, .scaling = Scaling::kWeak};
  settings.draws = Draws::kNominal;
  settings.platforms = {"ri2"};
  settings.systems = systems;
  settings.sensitivity = false;
  settings.network = false;
  return settings;
}

Question single(const CompareSettings& settings, const std::string& system) {
  Question one = settings.question;
  one.platform = settings.platforms.front();
  one.system = system;
  return one;
}

TEST(Compare, EachContenderIsItsPrediction) {
  const CompareSettings settings = compare_settings({"horovod-mpi", "horovod-mpi-opt"});
  const Comparison comparison = compare(settings);
  ASSERT_THAT(comparison.contenders, SizeIs(2));
  for (const Contender& one : comparison.contenders) {
    const Prediction alone =
        run_prediction(single(settings, one.system), {.draws = Draws::kNominal});
    for (size_t i = 0; i < alone.rows.size(); ++i)
      EXPECT_EQ(one.prediction.rows[i].point.iteration_s, alone.rows[i].point.iteration_s);
  }
}

// The next whole node is below what is wanted, the last one is not.
TEST(Compare, StopsPayingWhereTheEfficiencyCrosses) {
  CompareSettings settings = compare_settings({"s-caffe-b-hr"});
  settings.platforms = {"kesch"};
  settings.question.batch = 256;
  settings.question.scaling = Scaling::kStrong;
  settings.question.gpus = {16, 32, 64};
  settings.efficiency_min = 0.7;
  const Contender one = compare(settings).contenders.front();
  ASSERT_GT(one.pays_up_to_gpus, 0);
  ASSERT_FALSE(one.pays_to_the_end);
  EXPECT_EQ(one.pays_up_to_gpus % 16, 0);
  Question check = single(settings, "s-caffe-b-hr");
  check.gpus = {16, one.pays_up_to_gpus + 16};
  EXPECT_LT(run_prediction(check, {.draws = Draws::kNominal}).rows.back().efficiency, 0.7);
  if (one.pays_up_to_gpus > 16) {
    check.gpus = {16, one.pays_up_to_gpus};
    EXPECT_GE(run_prediction(check, {.draws = Draws::kNominal}).rows.back().efficiency, 0.7);
  }
}

TEST(Compare, TheCheapestCountFollowsThePrice) {
  CompareSettings settings = compare_settings({"horovod-mpi-opt"});
  settings.node_prices_per_h = {10};
  const Contender patient = compare(settings).contenders.front();
  EXPECT_EQ(patient.cheapest_gpus, 1);  // time is worth nothing: fewest nodes
  const double epoch_s = patient.prediction.rows.front().epoch_s;
  EXPECT_NEAR(patient.cheapest_epoch_cost, epoch_s / 3600 * 10, 1e-9);
  settings.time_value_per_h = 1e6;
  const Contender hasty = compare(settings).contenders.front();
  EXPECT_EQ(hasty.cheapest_gpus, 16);
}

TEST(Compare, EachPlatformHasItsPrice) {
  CompareSettings settings = compare_settings({"horovod-mpi-opt"});
  settings.platforms = {"ri2", "owens"};
  settings.question.gpus = {4};
  settings.node_prices_per_h = {10, 30};
  const Comparison comparison = compare(settings);
  ASSERT_THAT(comparison.contenders, SizeIs(2));
  for (size_t i = 0; i < 2; ++i) {
    const Row& row = comparison.contenders[i].prediction.rows.front();
    EXPECT_NEAR(comparison.contenders[i].cheapest_epoch_cost,
                row.epoch_s / 3600 * row.nodes * settings.node_prices_per_h[i], 1e-9);
  }
  settings.node_prices_per_h = {10, 30, 40};
  EXPECT_THAT(testing::refusal([&] { compare(settings); }),
              HasSubstr("--node-price = 10,30,40: must be one for all, or one for each of 2"));
}

// What is hidden or not there cannot matter; what is faster never harms by more than rounding; the
// shares of all that an iteration consists of add up to it.
TEST(Compare, SensitivitiesAreShares) {
  CompareSettings settings = compare_settings({"horovod-mpi-opt"});
  settings.question.gpus = {4};
  settings.sensitivity = true;
  const Contender one = compare(settings).contenders.front();
  ASSERT_FALSE(one.sensitivities.empty());
  const double sum = std::accumulate(
      one.sensitivities.begin(), one.sensitivities.end(), 0.0,
      [](double total, const Sensitivity& each) { return total + each.gain_percent; });
  EXPECT_GT(sum, 0.5);
  EXPECT_LT(sum, 1.5);
  const auto gpu = std::find_if(one.sensitivities.begin(), one.sensitivities.end(),
                                [](const Sensitivity& each) { return each.what == "GPU compute"; });
  ASSERT_NE(gpu, one.sensitivities.end());
  EXPECT_GT(gpu->gain_percent, 0);
  EXPECT_LT(gpu->gain_percent, 1);
}

// Numbers are asked in groups first; what is told of one is what it gains alone.
TEST(Compare, ASensitivityIsThatOfItsNumberAlone) {
  CompareSettings settings = compare_settings({"horovod-mpi-opt"});
  settings.question.gpus = {4};
  settings.question.batch = 2;  // where the network matters
  settings.sensitivity = true;
  const Contender one = compare(settings).contenders.front();
  const double base_s = one.prediction.rows.front().point.iteration_s;
  int told = 0;
  int silent = 0;
  for (const Sensitivity& each : one.sensitivities) {
    if (each.what == "GPU compute") continue;
    const bool is_told = each.gain_percent >= kNegligible_percent;
    if (++(is_told ? told : silent) > 5) continue;
    std::string number = each.what;
    number.replace(number.find(" /"), 2, ":/");
    Question alone = single(settings, "horovod-mpi-opt");
    alone.number_scales[number] = number.ends_with("per_s") ? 1.01 : 1 / 1.01;
    const double time_s =
        run_prediction(alone, {.draws = Draws::kNominal}).rows.front().point.iteration_s;
    EXPECT_NEAR(each.gain_percent, 100 * (1 - time_s / base_s),
                is_told ? 1e-9 : kNegligible_percent)
        << number;
  }
  EXPECT_GE(told, 3);
  EXPECT_GE(silent, 3);
}

// A network of that speed is nearly as good as one 64 times as fast; half of it is not.
TEST(Compare, TheNetworkNeededIsEnough) {
  CompareSettings settings = compare_settings({"horovod-mpi-opt"});
  settings.question.gpus = {4};
  settings.network = true;
  const Contender one = compare(settings).contenders.front();
  ASSERT_TRUE(one.network);
  EXPECT_GT(one.network->factor, 1.0 / 16);
  EXPECT_GE(one.network->gain_fastest, 0);
  // Bottleneck today if and only if more than today's is needed.
  EXPECT_EQ(one.network->gain_fastest > kNetworkFree - 1, one.network->factor > 1);
}

TEST(Compare, APlatformTooSmallForACountIsComparedWhereItCan) {
  CompareSettings settings = compare_settings({"horovod-mpi-opt"});
  settings.platforms = {"kesch", "ri2"};
  settings.question.gpus = {2, 16, 32};
  const Comparison comparison = compare(settings);
  EXPECT_THAT(comparison.contenders.at(0).prediction.rows, SizeIs(3));
  EXPECT_THAT(comparison.contenders.at(1).prediction.rows, SizeIs(2));  // of 20 GPUs
}

std::string compare_refusal(const CompareSettings& settings) {
  return refusal([&] { compare(settings); });
}

TEST(Compare, RefusesBeforeItSimulates) {
  CompareSettings settings = compare_settings({"horovod-mpi", "horovod-mpj"});
  EXPECT_THAT(compare_refusal(settings), HasSubstr("horovod-mpj"));
  settings = compare_settings({"horovod-mpi-opt"});
  settings.efficiency_min = 1.5;
  EXPECT_THAT(compare_refusal(settings), HasSubstr("--efficiency"));
  settings.efficiency_min = 0.5;
  settings.time_value_per_h = 3;
  EXPECT_THAT(compare_refusal(settings), HasSubstr("--node-price"));
  settings = compare_settings({"horovod-mpi-opt"});
  settings.question.gpus = {1000};
  EXPECT_THAT(compare_refusal(settings), HasSubstr("more than each of the platforms holds"));
  settings.platforms = {"kesch", "ri2"};  // and so is a count that only one of them holds
  settings.question.gpus = {160};
  EXPECT_THAT(compare_refusal(settings), HasSubstr("that ri2 holds: at most"));
}

}  // namespace
}  // namespace forescale
