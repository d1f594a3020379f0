// Settings of schedules: the search against all that there is, and what it may not do.
#include "studies/tune/tune_schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;
using testing::refusal;
using ::testing::SizeIs;

ScheduleTuneSettings tune_settings(const std::string& schedule, std::int64_t gpus) {
  return {.question = {.platform = "kesch",
                       .stack = "mvapich2-gdr",
                       .model = "alexnet",
                       .schedule = schedule,
                       .gpus = {gpus},
                       .batch = 64},
          .draws = Draws::kNominal,
          .tolerance = 0};
}

double predicted_with_s(Question question, const std::map<std::string, std::string>& options) {
  question.options = options;
  return run_prediction(question, {.draws = Draws::kNominal}).rows.front().point.iteration_s;
}

TEST(TuneSchedule, FindsTheBestOfAGridOfTwoSettings) {
  ScheduleTuneSettings settings = tune_settings("ddp", 4);
  settings.only = {"bucket_bytes", "gradient_as_bucket_view"};
  const TunedSchedule row = tune_schedule(settings).rows.at(0);
  double best_s = INFINITY;
  for (const char* bucket :
       {"1MiB", "2MiB", "4MiB", "8MiB", "16MiB", "25MiB", "32MiB", "64MiB", "128MiB", "256MiB"})
    for (const char* view : {"true", "false"})
      best_s = std::min(
          best_s, predicted_with_s(settings.question,
                                   {{"bucket_bytes", bucket}, {"gradient_as_bucket_view", view}}));
  EXPECT_DOUBLE_EQ(row.after.time_s, best_s);
  EXPECT_DOUBLE_EQ(row.before.time_s, predicted_with_s(settings.question, {}));
  EXPECT_EQ(row.begun.at("bucket_bytes"), "25 MiB");
}

TEST(TuneSchedule, NothingIsBetterThanWhatIsChosen) {
  for (const char* schedule : {"horovod", "mxnet-concum", "sc-obr"}) {
    const ScheduleTuning tuning = tune_schedule(tune_settings(schedule, 4));
    ASSERT_THAT(tuning.rows, SizeIs(1));
    const TunedSchedule& row = tuning.rows.front();
    EXPECT_GE(row.speedup(), 1);
    for (const SettingEffect& effect : row.effects) {
      if (effect.failure.empty()) {
        EXPECT_GE(effect.iteration_s, row.after.time_s) << effect.setting << " " << effect.value;
      }
      if (effect.is_chosen) {
        EXPECT_EQ(effect.iteration_s, row.after.time_s);
      }
    }
  }
}

// With a tolerance as few settings change as come within it; with one above all gains, none.
TEST(TuneSchedule, WhatGainsLessThanTheToleranceStays) {
  ScheduleTuneSettings settings = tune_settings("ddp", 4);
  settings.only = {"bucket_bytes", "gradient_as_bucket_view"};
  const TunedSchedule fastest = tune_schedule(settings).rows.at(0);
  EXPECT_EQ(fastest.chosen, fastest.fastest);
  EXPECT_EQ(fastest.fastest_s, fastest.after.time_s);
  ASSERT_GT(fastest.speedup(), 1.001);
  ASSERT_NE(fastest.chosen.at("gradient_as_bucket_view"),
            fastest.begun.at("gradient_as_bucket_view"));
  settings.tolerance = fastest.speedup() - 1 + 1e-9;
  const TunedSchedule none = tune_schedule(settings).rows.at(0);
  EXPECT_EQ(none.chosen, none.begun);
  EXPECT_EQ(none.fastest, fastest.chosen);
  EXPECT_EQ(none.speedup(), 1);
  // One of the two changes alone is within a little less.
  settings.tolerance = fastest.speedup() - 1 - 1e-6;
  const TunedSchedule some = tune_schedule(settings).rows.at(0);
  EXPECT_LE(some.after.time_s, (1 + settings.tolerance) * some.fastest_s);
  int changed = 0;
  for (const auto& [name, value] : some.chosen) changed += value == some.begun.at(name) ? 0 : 1;
  EXPECT_EQ(changed, 1);
}

// A schedule's plan is what the simulator runs: sc-obr waits for its reduces.
TEST(TuneSchedule, PlansOfItsCollectivesAreSettings) {
  ScheduleTuneSettings settings = tune_settings("sc-obr", 8);
  settings.only = {"reduce-plan"};
  const TunedSchedule row = tune_schedule(settings).rows.at(0);
  EXPECT_EQ(row.begun.at("reduce-plan"), "the stack's rules");
  EXPECT_GT(std::count_if(
                row.effects.begin(), row.effects.end(),
                [](const SettingEffect& effect) { return effect.value.starts_with("reduce/"); }),
            1);
}

// Of NCCL what it can be told, never a plan that it has not: buckets of 25 MiB by a tree of LL128
// where NCCL estimates that NVLSTree is faster.
TEST(TuneSchedule, WhatNcclCanBeToldIsASetting) {
  ScheduleTuneSettings settings = tune_settings("ddp", 32);
  settings.question.platform = "dgx-h100:nodes=4";
  settings.question.stack = "nccl";
  settings.question.model = "resnet-50";
  settings.question.batch = 2048;
  settings.only = {"all-reduce-plan"};
  const TunedSchedule row = tune_schedule(settings).rows.at(0);
  const auto count = [&](const std::string& prefix) {
    return std::count_if(row.effects.begin(), row.effects.end(), [&](const SettingEffect& effect) {
      return effect.value.starts_with(prefix);
    });
  };
  EXPECT_GT(count("tree/ll128"), 0);
  EXPECT_EQ(count("all-reduce/"), 0);
  EXPECT_GE(row.speedup(), 1);
  Question told = settings.question;
  const auto tree = std::find_if(
      row.effects.begin(), row.effects.end(),
      [](const SettingEffect& effect) { return effect.value.starts_with("tree/ll128"); });
  ASSERT_NE(tree, row.effects.end());
  std::string take = tree->value;
  std::replace(take.begin(), take.end(), ':', ',');
  told.stack = "nccl:take=" + take;
  EXPECT_DOUBLE_EQ(predicted_with_s(told, {}), tree->iteration_s);
}

TEST(TuneSchedule, ServersThatFindNoNodeAreSaidAndLeftOut) {
  ScheduleTuneSettings settings = tune_settings("parameter-server", 160);
  settings.question.options = {{"own_hosts", "true"}};
  settings.question.batch = 320;
  settings.question.gpus = {144};  // of 160: one node is left
  settings.only = {"servers"};
  const TunedSchedule row = tune_schedule(settings).rows.at(0);
  const auto failed =
      std::find_if(row.effects.begin(), row.effects.end(),
                   [](const SettingEffect& effect) { return !effect.failure.empty(); });
  ASSERT_NE(failed, row.effects.end());
  EXPECT_FALSE(failed->is_chosen);
}

std::string tune_refusal(const ScheduleTuneSettings& settings) {
  return refusal([&] { tune_schedule(settings); });
}

TEST(TuneSchedule, RefusesWhatIsNoSetting) {
  ScheduleTuneSettings settings = tune_settings("ddp", 2);
  settings.only = {"bucket_byte"};
  EXPECT_THAT(tune_refusal(settings), HasSubstr("did you mean \"bucket_bytes\""));
  settings.only = {"bucket_bytes"};
  settings.question.batch = 100000;
  EXPECT_THAT(tune_refusal(settings), HasSubstr("does not fit"));
}

}  // namespace
}  // namespace forescale
