// Which ranks of a layout wait for each other, and what a question may say of slow ones.
#include "studies/layout/layout_variation.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <tuple>

#include "algorithms/layout/pipeline.hpp"
#include "base/error.hpp"
#include "base/registry.hpp"
#include "studies/layout/layout_prediction.hpp"
#include "studies/layout/layout_setup.hpp"

namespace forescale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

LayoutCase varied_case(const std::string& model, const std::string& layout, std::int64_t gpus) {
  LayoutCase about{.question = {}, .gpus = gpus};
  about.question.platform = "dgx-h200";
  about.question.stack = "ideal";
  about.question.model = model;
  about.question.sequence = 1024;
  about.question.layout = layout;
  return about;
}

std::vector<CopyRanks> copies_of(const std::string& model, const std::string& layout,
                                 std::int64_t gpus) {
  Asker asker;
  const LayoutSetUp set_up = set_up_layout(varied_case(model, layout, gpus), asker);
  return pipeline_copies(RankGrid(set_up.layout, kLayoutOption), set_up.work);
}

TEST(PipelineCopies, AreTheRanksThatWaitInEachPass) {
  EXPECT_THAT(copies_of("llama-2-7b", "tp=2,pp=2,global=8", 8),
              ElementsAre(ElementsAre(ElementsAre(0, 1), ElementsAre(4, 5)),
                          ElementsAre(ElementsAre(2, 3), ElementsAre(6, 7))));
  EXPECT_THAT(copies_of("llama-2-7b", "cp=2,global=2", 4),
              ElementsAre(ElementsAre(ElementsAre(0, 1)), ElementsAre(ElementsAre(2, 3))));
  // All of the data gather parameters together.
  EXPECT_THAT(copies_of("llama-2-7b", "zero=3,global=4", 4),
              ElementsAre(ElementsAre(ElementsAre(0, 1, 2, 3))));
  // Copies that share their experts: two of four.
  EXPECT_THAT(copies_of("mixtral-8x7b", "ep=2,zero=1,global=4", 4),
              ElementsAre(ElementsAre(ElementsAre(0, 1)), ElementsAre(ElementsAre(2, 3))));
}

// One straggler holds up its tensor group alone; where passes are all there is, by its factor.
TEST(LayoutNoise, TakesTheSlowestRank) {
  Question question;
  question.stragglers = "2:1.5,5:0.5";
  const ComputeNoise noise = layout_noise(question, 8);
  EXPECT_EQ(slowness(noise, {0, 1}, 0), 1);
  EXPECT_EQ(slowness(noise, {2, 3}, 0), 1.5);
  EXPECT_EQ(slowness(noise, {4, 5}, 0), 1);
  EXPECT_EQ(slowness(noise, {5}, 0), 0.5);
}

std::string refused(const Question& question) {
  try {
    layout_noise(question, 8);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(LayoutNoise, RefusesWhatPassesDoNotKnow) {
  Question question;
  question.noise = "sigma=0.1";
  EXPECT_THAT(refused(question), HasSubstr("file=steps.csv"));
  question = {};
  question.stragglers = "8:1.5";
  EXPECT_THAT(refused(question), HasSubstr("--straggler = 8: must be a rank below 8"));
  for (const char* fault : {"down", "lost"}) {
    question = {};
    question.links["node1/nic0"] = fault;
    EXPECT_THAT(refused(question), HasSubstr("must be a share"));
  }
}

// A rank that takes f times as long makes an iteration longer, by a factor of f at most, under
// every schedule of pipelines, and the longer the slower it is; so does a link.
TEST(SlowRank, NeverHelpsAndCostsItsFactorAtMost) {
  for (const std::string& name : Registry<PipelineSchedule>::names()) {
    const PipelineSchedule& schedule = Registry<PipelineSchedule>::find(name, "schedule");
    const int stages_a_rank = schedule.stages_a_rank_max == 1 ? 1 : 2;
    LayoutCase about = varied_case(
        "llama-2-7b",
        fmt::format("tp=2,pp=4,vpp={},schedule={},zero=1,global=16", stages_a_rank, name), 16);
    Asker asker;
    const double healthy_s = predict_layouts({about}, asker).front().iteration_s;
    for (const int rank : {0, 5, 15}) {
      double before_s = healthy_s;
      for (const double factor : {1.01, 1.3, 4.0}) {
        about.question.stragglers = fmt::format("{}:{}", rank, factor);
        const double slow_s = predict_layouts({about}, asker).front().iteration_s;
        EXPECT_GT(slow_s, before_s) << name << ", " << about.question.stragglers;
        EXPECT_LT(slow_s, factor * healthy_s) << name << ", " << about.question.stragglers;
        before_s = slow_s;
      }
    }
    about.question.stragglers.clear();
    double before_s = healthy_s;
    for (const char* share : {"0.9", "0.3", "0.05"}) {
      about.question.links["node1"] = share;
      const double slow_s = predict_layouts({about}, asker).front().iteration_s;
      EXPECT_GE(slow_s, (1 - 1e-12) * before_s) << name << ", " << share;
      before_s = slow_s;
    }
    EXPECT_GT(before_s, healthy_s) << name;
  }
}

// Two equally likely times, 0.8 and 1.2 of their mean: the mean of the slowest of four ranks is
// 1.2 - 0.4 / 16 = 1.175, of one rank 1. 100 iterations of it scatter by 0.2 and 0.097 of one.
TEST(LayoutNoise, MeasuredIterationsWaitForTheSlowest) {
  const std::string file = ::testing::TempDir() + "layout_steps.csv";
  {
    std::ofstream steps(file);
    for (int i = 0; i < 10; ++i) steps << (i % 2 == 0 ? "0.8\n" : "1.2\n");
  }
  Asker asker;
  for (const auto& [layout, gpus, expected] :
       {std::tuple{"tp=1,global=4", 1, 1.0}, std::tuple{"tp=4,global=4", 4, 1.175}}) {
    LayoutCase about = varied_case("llama-2-7b", layout, gpus);
    const LayoutPrediction without = predict_layouts({about}, asker).front();
    about.question.noise = "file=" + file + ",seed=3";
    const LayoutPrediction with = predict_layouts({about}, asker).front();
    const double kernels_s = without.compute_s + without.optimizer_s;
    EXPECT_NEAR(*with.variation_s / kernels_s, expected - 1, 0.05) << layout;
  }
}

}  // namespace
}  // namespace forescale
