// Searching layouts: the best of all there are, whatever is left out; memory decides; what stays
// stays.
#include "studies/tune/tune_layout.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "algorithms/layout/layout.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::refusal;

Question search_of(const std::string& layout) {
  Question question;
  question.platform = "dgx-h100";
  question.model = "llama-3-8b:num_hidden_layers=8";
  question.sequence = 4096;
  question.layout = layout;
  question.gpus = {16};
  return question;
}

LayoutTuning tuned(const std::string& layout, std::size_t best,
                   const std::vector<std::string>& only = {}) {
  Asker asker;
  return tune_layout({.question = search_of(layout), .gpus = 16, .only = only, .best = best},
                     asker);
}

TEST(TuneLayout, WhatDoesNotDivideIsSaid) {
  EXPECT_THAT(refusal([] { tuned("global=64,tp=3", 1); }),
              AllOf(HasSubstr("tp=3"), HasSubstr("must divide the 16 GPUs")));
}

std::vector<std::string> texts_of(const LayoutTuning& tuning) {
  std::vector<std::string> all;
  for (const LayoutPrediction& each : tuning.best) all.push_back(to_text(as_asked(each.layout)));
  return all;
}

TEST(TuneLayout, WhatIsLeftOutIsSlowerThanTheBest) {
  constexpr std::size_t kAll = 1000;
  const LayoutTuning all = tuned("global=64", kAll);
  const LayoutTuning few = tuned("global=64", 3);
  EXPECT_EQ(all.too_slow, 0U);
  EXPECT_GT(few.too_slow, 20U);
  EXPECT_EQ(all.combinations, few.combinations);
  EXPECT_EQ(all.predicted, few.predicted + few.too_slow);
  EXPECT_EQ(all.best.size(), all.predicted);
  // What surely fits is not computed again.
  std::set<std::string> sure;
  for (const LayoutPrediction& each : all.best)
    if (each.layout.recompute == Recompute::kNone && !each.is_undecided())
      sure.insert(to_text(each.layout));
  EXPECT_GT(sure.size(), 50U);
  for (LayoutPrediction each : all.best) {
    if (each.layout.recompute == Recompute::kNone) continue;
    each.layout.recompute = Recompute::kNone;
    EXPECT_FALSE(sure.contains(to_text(each.layout))) << to_text(each.layout);
  }
  std::vector<std::string> first = texts_of(all);
  first.resize(3);
  EXPECT_EQ(texts_of(few), first);
  for (std::size_t i = 1; i < all.best.size(); ++i)
    EXPECT_LE(all.best[i - 1].iteration_s, all.best[i].iteration_s);
  const auto shards_parameters = [](const LayoutPrediction& each) {
    return each.layout.sharding == StateSharding::kParameters;
  };
  EXPECT_TRUE(std::any_of(all.best.begin(), all.best.end(), shards_parameters));
  EXPECT_TRUE(std::any_of(all.best.begin(), all.best.end(), [](const LayoutPrediction& each) {
    return each.layout.replicas() == 2;  // of two nodes
  }));
  for (const LayoutPrediction& each : all.best)
    EXPECT_TRUE(each.layout.pipeline == 1 || !shards_parameters(each)) << to_text(each.layout);
}

// Under every pipeline schedule; where messages cost next to nothing, near what the iteration
// takes.
TEST(TuneLayout, NoIterationIsShorterThanItsBound) {
  Asker asker;
  for (const char* layout :
       {"tp=2,global=32", "pp=4,global=32", "pp=8,global=16", "pp=4,vpp=2,global=32",
        "pp=2,vpp=4,micro=2,global=32", "pp=4,global=32,schedule=gpipe",
        "pp=4,global=32,schedule=zb-h1", "pp=4,global=32,recompute=full",
        "zero=parameters,global=64", "pp=4,vpp=2,global=32,schedule=zbv",
        "pp=4,vpp=2,global=32,schedule=dualpipev", "pp=4,global=32,schedule=dualpipe"})
    for (const char* stack : {"ideal", "nccl-2.23-h100"}) {
      Question question = search_of(layout);
      question.stack = stack;
      const LayoutCase about{.question = question, .gpus = 16};
      const LayoutPrediction found = predict_layouts({about}, asker).front();
      const double least_s = least_iteration_s(set_up_layout(about, asker).work);
      EXPECT_LE(least_s, found.iteration_s * (1 + 1e-9)) << layout << " " << stack;
      // Of copies on one pipeline gradients go between nodes here.
      const bool has_copies = about.question.layout.ends_with("dualpipe");
      const double near = has_copies ? 0.5 : layout[0] == 'p' ? 0.8 : 0;
      EXPECT_GT(least_s, near * found.iteration_s) << layout << " " << stack;
    }
}

// Every layout of two fields, asked for one by one.
TEST(TuneLayout, IsTheBestOfEachAskedForAlone) {
  const std::string stays = "global=64,micro=1,zero=optimizer,recompute=none,vpp=1,cp=1";
  const LayoutTuning tuning = tuned(stays, 100, {"tp", "pp"});
  Asker asker;
  std::map<double, std::string> by_time;
  std::size_t refused = 0;
  for (const int tensor : {1, 2, 4, 8})
    for (const int pipeline : {1, 2, 4, 8}) {
      Layout layout = parse_layout(stays, "--layout");
      layout.tensor = tensor;
      layout.pipeline = pipeline;
      if (16 % (tensor * pipeline) != 0) continue;
      Question question = search_of(to_text(layout));
      const auto found = predict_layouts({{.question = question, .gpus = 16}}, asker, true);
      if (!found.front().failure.empty())
        ++refused;
      else if (found.front().fits())
        by_time[found.front().iteration_s] = to_text(layout);
    }
  EXPECT_EQ(tuning.refused, refused);
  ASSERT_EQ(tuning.best.size(), by_time.size());
  EXPECT_GE(by_time.size(), 8U);
  std::size_t place = 0;
  for (const auto& [time_s, text] : by_time) {
    EXPECT_EQ(to_text(as_asked(tuning.best[place].layout)), text);
    EXPECT_DOUBLE_EQ(tuning.best[place++].iteration_s, time_s);
  }
}

TEST(TuneLayout, WhatTheLayoutNamesStays) {
  const LayoutTuning tuning = tuned("tp=2,micro_batch_size=2,global=64,zero=none", 5);
  EXPECT_FALSE(tuning.tried.contains("tp"));
  EXPECT_FALSE(tuning.tried.contains("micro"));
  EXPECT_FALSE(tuning.tried.contains("zero"));
  EXPECT_TRUE(tuning.tried.contains("pp"));
  for (const LayoutPrediction& each : tuning.best) {
    EXPECT_EQ(each.layout.tensor, 2);
    EXPECT_EQ(each.layout.micro_batch, 2);
    EXPECT_EQ(each.layout.sharding, StateSharding::kNone);
    EXPECT_EQ(each.layout.global_batch, 64);
  }
}

// Nothing is computed again that need not be: without recomputation 8 billion parameters on 16 GPUs
// of 80 GiB do not fit, with all of it they may.
TEST(TuneLayout, TheLeastRecomputationThatFits) {
  Question question = search_of("global=64,tp=1,cp=1,pp=1,zero=optimizer,micro=1");
  question.model = "llama-3-8b";
  question.sequence = 8192;
  Asker asker;
  const LayoutTuneSettings settings{
      .question = question, .gpus = 16, .best = 10, .has_interval = true};
  const LayoutTuning tuning = tune_layout(settings, asker);
  ASSERT_EQ(tuning.combinations, 1U);
  ASSERT_EQ(tuning.best.size(), 1U);
  const LayoutPrediction& only = tuning.best.front();
  EXPECT_EQ(only.layout.recompute, Recompute::kFull);
  EXPECT_TRUE(only.is_undecided());
  EXPECT_FALSE(tuning.surely_fitting);
  ASSERT_TRUE(only.iteration);
  EXPECT_LT(only.iteration->low_s, only.iteration_s);
  EXPECT_GT(only.iteration->high_s, only.iteration_s);
}

// The fastest may not fit; what fits at its upper end too is slower.
TEST(TuneLayout, NamesTheFastestThatSurelyFits) {
  Question question = search_of("global=256,split=cost,recompute=none,zero=none,vpp=1,cp=1");
  question.platform = "aws-p5";
  question.model = "nanotron-8b";
  question.framework = Framework::kNanotron;
  Asker asker;
  const LayoutTuning tuning = tune_layout({.question = question, .gpus = 8, .best = 1}, asker);
  ASSERT_EQ(tuning.best.size(), 1U);
  EXPECT_TRUE(tuning.best.front().is_undecided());
  ASSERT_TRUE(tuning.surely_fitting);
  EXPECT_LE(tuning.surely_fitting->memory.high_bytes, tuning.surely_fitting->gpu_memory_bytes);
  EXPECT_GT(tuning.surely_fitting->iteration_s, tuning.best.front().iteration_s);
}

TEST(TuneLayout, ExpertsAreSpread) {
  Question question = search_of("global=64,tp=1,cp=1,vpp=1,micro=1");
  question.model = "mixtral-8x7b:num_hidden_layers=4";
  Asker asker;
  const LayoutTuning tuning = tune_layout({.question = question, .gpus = 16, .best = 3}, asker);
  EXPECT_EQ(tuning.tried.at("ep"), (std::vector<std::string>{"1", "2", "4", "8"}));
}

TEST(TuneLayout, RefusesWhatCannotBe) {
  EXPECT_THAT(refusal([] { tuned("tp=2", 1); }), HasSubstr("--layout = tp=2: must name global=N"));
  EXPECT_THAT(refusal([] { tuned("global=64", 1, {"tq"}); }),
              AllOf(HasSubstr("--only = tq"), HasSubstr("did you mean")));
  EXPECT_THAT(refusal([] { tuned("global=64,tp=2", 1, {"tp"}); }),
              HasSubstr("--only = tp: stays as --layout says"));
  EXPECT_THAT(refusal([] { tuned("global=63,micro=2", 1); }), HasSubstr("the global batch"));
  EXPECT_THAT(
      refusal([] {
        Question question = search_of("global=16,cp=1,vpp=1,micro=1");
        question.model = "llama-3.1-405b";
        Asker asker;
        tune_layout({.question = question, .gpus = 16}, asker);
      }),
      AllOf(HasSubstr("--gpus = 16: hold no layout of llama-3.1-405b"), HasSubstr("of 80 GiB")));
}

}  // namespace
}  // namespace forescale
