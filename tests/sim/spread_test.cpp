// What is made of answers at several ends: intervals that add up and cancel as their causes do.
#include "sim/ask/spread.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace forescale {
namespace {

Answer collective_of(double time_s, int nodes = 1) {
  Answer answer{.about = Question::About::kCollective, .nodes = nodes};
  answer.collective.time_s = time_s;
  return answer;
}

// Of an iteration, of which `passes_s` are computed.
Answer training_of(double time_s, double passes_s, double compute_ratio = 1) {
  Answer answer{.about = Question::About::kTraining, .compute_ratio = compute_ratio};
  answer.training.iteration_s = time_s;
  answer.training.images_per_iteration = 64;
  answer.training.images_per_s = 64 / time_s;
  answer.training.root_s = {{"forward", passes_s / 3}, {"backward", 2 * passes_s / 3}};
  return answer;
}

RangedAnswer ranged(const Answer& nominal, const Answer& fast, const Answer& slow) {
  return {.nominal = nominal, .fast = fast, .slow = slow};
}

// What the model leaves out, as logarithms: downwards and upwards.
std::pair<double, double> left_out(const RangedAnswer& answer) {
  const Unmodelled of = unmodelled(answer.nominal);
  return {-std::log1p(-of.faster), std::log1p(of.slower)};
}

double time_of_first(const std::vector<Answer>& answers) { return answers.front().time_s(); }
double ratio_of_two(const std::vector<Answer>& answers) {
  return answers[0].time_s() / answers[1].time_s();
}

TEST(Spread, MachineAndWhatIsLeftOutAddUpAsIndependentCauses) {
  const RangedAnswer answer =
      ranged(collective_of(1e-3), collective_of(0.8e-3), collective_of(1.5e-3));
  const auto [below, above] = left_out(answer);
  const Spread spread = spread_of({&answer}, time_of_first);
  EXPECT_TRUE(spread.is_known);
  EXPECT_DOUBLE_EQ(spread.value, 1e-3);
  EXPECT_NEAR(std::log(spread.low / 1e-3), -std::hypot(kJointShare * std::log(0.8), below), 1e-12);
  EXPECT_NEAR(std::log(spread.high / 1e-3), std::hypot(kJointShare * std::log(1.5), above), 1e-12);
  EXPECT_NEAR(spread.shares.at("machine") + spread.shares.at("unmodelled"), 1, 1e-12);
  const TimeRange time = answer.time();
  EXPECT_DOUBLE_EQ(time.low_s, spread.low);
  EXPECT_DOUBLE_EQ(time.high_s, spread.high);
}

TEST(Spread, WhatIsCommonToBothSidesOfARatioCancels) {
  const RangedAnswer one = ranged(collective_of(2), collective_of(1), collective_of(4));
  const RangedAnswer other = ranged(collective_of(1), collective_of(0.5), collective_of(2));
  const Spread spread = spread_of({&one, &other}, ratio_of_two);
  const auto [below, above] = left_out(one);
  EXPECT_DOUBLE_EQ(spread.value, 2);
  EXPECT_NEAR(std::log(spread.high / 2), std::hypot(below, above), 1e-12);
  EXPECT_NEAR(std::log(spread.low / 2), -std::hypot(below, above), 1e-12);
  EXPECT_NEAR(spread.shares.at("machine"), 0, 1e-12);
}

TEST(Spread, KernelsAreExchangedInTheAnswer) {
  // 6 of 10 ms are passes, which may take half or twice as long.
  const RangedAnswer answer =
      ranged(training_of(10e-3, 6e-3), training_of(10e-3, 6e-3, 0.5), training_of(10e-3, 6e-3, 2));
  const Spread spread = spread_of({&answer}, time_of_first);
  const auto [below, above] = left_out(answer);
  EXPECT_NEAR(std::log(spread.low / 10e-3), -std::hypot(kJointShare * std::log(0.7), below), 1e-12);
  EXPECT_NEAR(std::log(spread.high / 10e-3), std::hypot(kJointShare * std::log(1.6), above), 1e-12);
  const Answer slower = with_compute(answer.nominal, 2);
  EXPECT_NEAR(slower.training.iteration_s, 16e-3, 1e-15);
  EXPECT_NEAR(slower.training.images_per_s, 64 / 16e-3, 1e-9);
}

// The slow end of a machine may be the faster one: of a bandwidth that lets another rule act.
TEST(Spread, HoldsItsNominalWhateverTheEndsSay) {
  for (const auto& [fast, slow] : {std::pair{2.0, 3.0}, {0.5, 0.7}, {3.0, 0.4}}) {
    const RangedAnswer answer = ranged(collective_of(1), collective_of(fast), collective_of(slow));
    const Spread spread = spread_of({&answer}, time_of_first);
    EXPECT_LT(spread.low, 1) << fast;
    EXPECT_GT(spread.high, 1) << fast;
  }
}

TEST(Spread, DifferencesMayChangeSign) {
  const RangedAnswer one = ranged(collective_of(1), collective_of(0.9), collective_of(1.3));
  const RangedAnswer other = ranged(collective_of(1.1), collective_of(1), collective_of(1.2));
  const Spread spread = spread_of({&one, &other}, [](const std::vector<Answer>& answers) {
    return 100 * (1 - ratio_of_two(answers));  // % less time
  });
  EXPECT_LT(spread.low, 0);
  EXPECT_GT(spread.high, spread.value);
}

TEST(Spread, IsUnknownWhereAnEndHasNoAnswer) {
  RangedAnswer answer = ranged(collective_of(1), collective_of(0.9), collective_of(1.3));
  answer.slow->failure = "took too long";
  EXPECT_FALSE(spread_of({&answer}, time_of_first).is_known);
  answer.slow.reset();
  const Spread spread = spread_of({&answer}, time_of_first);
  EXPECT_FALSE(spread.is_known);
  EXPECT_EQ(spread.low, spread.value);
}

TEST(Spread, OfDrawsIsTheirQuantiles) {
  RangedAnswer answer{.nominal = collective_of(1)};
  for (int i = 0; i < 1000; ++i)
    answer.drawn.push_back(collective_of(std::exp(0.5 * (i / 999.0 - 0.5))));
  const Spread spread = spread_of({&answer}, time_of_first);
  // At least as wide as the draws alone, at most as if both causes went the same way.
  const auto [below, above] = left_out(answer);
  EXPECT_LE(std::log(spread.low), -0.45 * 0.5);
  EXPECT_GE(std::log(spread.high), 0.45 * 0.5);
  EXPECT_LT(std::log(spread.high), 0.45 * 0.5 + above);
  EXPECT_GT(std::log(spread.low), -0.45 * 0.5 - below);
  const Spread again = spread_of({&answer}, time_of_first);
  EXPECT_EQ(again.low, spread.low);
}

TEST(Spread, DrawsSayWhichNumberToMeasure) {
  const auto number = [](const std::string& path, double fast, double slow) {
    return NumberSource{
        .file = "net.json", .path = path, .value = 1, .source = "", .fast = fast, .slow = slow};
  };
  const std::vector<NumberSource> numbers{number("/bandwidth", 2, 0.5), number("/latency", 0.5, 2),
                                          number("/known", 1, 1), number("/idle", 0.5, 2)};
  // Nine parts of the scatter's variance follow the latency, one the bandwidth.
  std::vector<double> drawn;
  for (int draw = 0; draw < 2000; ++draw) {
    const Scenario scenario = Scenario::drawn(draw);
    drawn.push_back(std::exp(3 * scenario.position("net.json", "/latency") -
                             scenario.position("net.json", "/bandwidth")));
  }
  const std::vector<NumberShare> shares = shares_of(numbers, drawn);
  ASSERT_EQ(shares.size(),
            2U);  // what is known explains nothing, and the third no more than chance
  EXPECT_EQ(shares[0].number.path, "/latency");
  EXPECT_NEAR(shares[0].share, 0.9, 0.03);
  EXPECT_EQ(shares[1].number.path, "/bandwidth");
  EXPECT_NEAR(shares[1].share, 0.1, 0.03);
}

TEST(Spread, MoreNodesLeaveMoreOut) {
  EXPECT_GT(unmodelled(collective_of(1, 2)).slower, unmodelled(collective_of(1, 1)).slower);
}

// Halfway between an idle and a busy network the logarithm is the mean of the two.
TEST(Spread, ABusyNetworkLeavesMoreOutOfATraining) {
  const auto slower_at = [](double share) {
    Answer answer = training_of(1, 0.5);
    answer.training.busiest_share = share;
    return std::log1p(unmodelled(answer).slower);
  };
  EXPECT_GT(slower_at(1), 2 * slower_at(0));
  EXPECT_NEAR(slower_at(0.5), (slower_at(0) + slower_at(1)) / 2, 1e-12);
  EXPECT_EQ(slower_at(1.5), slower_at(1));
}

TEST(Spread, ReadingImagesLeavesOutWhatReadingDoes) {
  Answer answer = training_of(1, 0.5);
  const Unmodelled synthetic = unmodelled(answer);
  answer.reads_images = true;
  EXPECT_GT(unmodelled(answer).slower, synthetic.slower);
  EXPECT_GT(unmodelled(answer).faster, synthetic.faster);
}

TEST(Spread, ANetworkThatNobodyTimedLeavesMoreOut) {
  Answer answer = training_of(1, 0.5);
  const Unmodelled timed = unmodelled(answer);
  answer.from_kernels = true;
  EXPECT_GT(unmodelled(answer).slower, timed.slower);
}

}  // namespace
}  // namespace forescale
