// Offers for a transformer: each is what the search finds there; what is missing is said.
#include "studies/tune/compare_layouts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/layout/training_cost.hpp"
#include "studies/predict/compare.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::refusal;
using ::testing::SizeIs;

LayoutCompareSettings offers_of(const std::vector<std::string>& platforms,
                                const std::vector<std::int64_t>& gpus) {
  LayoutCompareSettings settings;
  settings.question.model = "llama-3-8b:num_hidden_layers=8";
  settings.question.sequence = 4096;
  settings.question.layout = "global=64,zero=optimizer";
  settings.question.gpus = gpus;
  settings.platforms = platforms;
  settings.only = {"tp", "recompute"};
  return settings;
}

TEST(CompareLayouts, EachOfferIsWhatTheSearchFindsThere) {
  const LayoutCompareSettings settings = offers_of({"dgx-h100", "aws-p4de"}, {8, 16});
  const std::vector<LayoutOffer> offers = compare_layouts(settings);
  ASSERT_THAT(offers, SizeIs(4));
  for (std::size_t i = 0; i < offers.size(); ++i) {
    const LayoutOffer& offer = offers[i];
    EXPECT_EQ(offer.platform, settings.platforms[i / 2]);
    EXPECT_EQ(offer.gpus, settings.question.gpus[i % 2]);
    Question alone = settings.question;
    alone.platform = offer.platform;
    Asker asker;
    const LayoutTuning tuning =
        tune_layout({.question = alone, .gpus = offer.gpus, .only = settings.only}, asker);
    const LayoutPrediction& fastest =
        tuning.surely_fitting ? *tuning.surely_fitting : tuning.best.front();
    EXPECT_TRUE(offer.best.surely_fits());
    EXPECT_LE(offer.best.iteration_s, 1.01 * fastest.iteration_s);
    LayoutCase about{.question = alone, .gpus = offer.gpus};
    about.question.layout = to_text(offer.best.layout);
    EXPECT_EQ(offer.best.iteration_s, predict_layouts({about}, asker)[0].iteration_s);
    EXPECT_DOUBLE_EQ(offer.efficiency,
                     offer.best.tokens_per_s_gpu / offers[i / 2 * 2].best.tokens_per_s_gpu);
  }
}

// Context parallelism that gains less than 1 % is not advised; what names no more fields is.
TEST(CompareLayouts, OfEquallyFastLayoutsThePlainestIsOffered) {
  LayoutCompareSettings settings = offers_of({"aws-p4de"}, {64});
  settings.question.model = "llama-3-8b";
  settings.question.sequence = 8192;
  settings.question.layout = "global=512,zero=parameters";
  settings.only = {"cp", "micro"};
  Question alone = settings.question;
  alone.platform = "aws-p4de";
  Asker asker;
  const LayoutPrediction fastest =
      tune_layout({.question = alone, .gpus = 64, .only = settings.only}, asker).best.front();
  EXPECT_GT(fastest.layout.context, 1);
  const LayoutPrediction offered = compare_layouts(settings).front().best;
  EXPECT_EQ(offered.layout.context, 1);
  EXPECT_LE(offered.iteration_s, 1.01 * fastest.iteration_s);
}

// Inside a node there is no network; between nodes the same layout is asked with a faster one.
TEST(CompareLayouts, TheNetworksGainIsThatOfTheSameLayout) {
  const LayoutCompareSettings settings = offers_of({"gcp-a3-high"}, {8, 32});
  const std::vector<LayoutOffer> offers = compare_layouts(settings);
  ASSERT_THAT(offers, SizeIs(2));
  EXPECT_EQ(offers[0].network_gain, 0);
  EXPECT_GT(offers[1].network_gain, 0.01);
  LayoutCase faster{.question = settings.question, .gpus = 32};
  faster.question.platform = "gcp-a3-high";
  faster.question.layout = to_text(offers[1].best.layout);
  faster.question.network_scale = kFastest;
  Asker asker;
  EXPECT_DOUBLE_EQ(offers[1].network_gain, 1 - predict_layouts({faster}, asker)[0].iteration_s /
                                                   offers[1].best.iteration_s);
}

TEST(CompareLayouts, WhatHasNoLayoutSaysWhyAndTheOthersAreThere) {
  LayoutCompareSettings settings = offers_of({"dgx-h100", "aws-p4de"}, {8, 100000});
  settings.question.precision = Precision::kFp8;
  const std::vector<LayoutOffer> offers = compare_layouts(settings);
  ASSERT_THAT(offers, SizeIs(4));
  EXPECT_EQ(offers[0].failure, "");
  EXPECT_EQ(offers[0].efficiency, 1);
  EXPECT_THAT(offers[1].failure, HasSubstr("has 256 GPUs; dgx-h100:nodes=12500 has so many"));
  EXPECT_THAT(offers[2].failure, AllOf(HasSubstr("--precision = fp8"), HasSubstr("a100.json")));
}

TEST(CompareLayouts, RefusesWhereNothingIsLeft) {
  LayoutCompareSettings settings = offers_of({"aws-p4de"}, {8, 16});
  settings.question.precision = Precision::kFp8;
  EXPECT_THAT(refusal([&] { compare_layouts(settings); }),
              AllOf(HasSubstr("on aws-p4de with 8 GPUs, the first of the offers"),
                    HasSubstr("--precision = fp8")));
  settings = offers_of({"dgx-h100"}, {8});
  settings.question.model = "llama-3-9b";
  EXPECT_THAT(refusal([&] { compare_layouts(settings); }), HasSubstr("did you mean"));
  settings = offers_of({"dgx-h101"}, {8});
  EXPECT_THAT(refusal([&] { compare_layouts(settings); }), HasSubstr("dgx-h100"));
}

TEST(TrainingCost, IsTheIterationsOfItsTokens) {
  LayoutPrediction prediction;
  prediction.layout.global_batch = 100;
  prediction.tokens = 1000;
  prediction.gpus = 8;
  prediction.nodes = 1;
  prediction.iteration_s = 36;
  prediction.iteration = TimeRange{.time_s = 36, .low_s = 18, .high_s = 72};
  // 1e8 tokens are 1000 iterations: 10 hours.
  TrainingPlan plan{.tokens = 1e8, .hour_price = 2};
  TrainingCost cost = training_cost(prediction, plan);
  EXPECT_DOUBLE_EQ(cost.days, 10.0 / 24);
  EXPECT_DOUBLE_EQ(cost.days_low, 5.0 / 24);
  EXPECT_DOUBLE_EQ(cost.days_high, 20.0 / 24);
  EXPECT_DOUBLE_EQ(cost.gpu_hours, 80);
  EXPECT_DOUBLE_EQ(cost.money, 160);
  plan.failures = parse_failures("mtbf=1000h,checkpoint=60s,restart=600s", "--failures");
  const Goodput goodput = goodput_of(*plan.failures, 1);
  ASSERT_LT(goodput.share, 1);
  EXPECT_DOUBLE_EQ(training_cost(prediction, plan).gpu_hours, 80 / goodput.share);
}

}  // namespace
}  // namespace forescale
