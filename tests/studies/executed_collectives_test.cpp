// Collectives as cases: what is asked, and what is made of the answers. No MPI here.
#include "studies/execute/executed_collectives.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/common_options.hpp"
#include "algorithms/pieces/levels.hpp"
#include "base/error.hpp"
#include "studies/execute/collective_comparison.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::refusal;

std::vector<PlanChoice> plans_of(const std::vector<std::string>& texts) {
  std::vector<PlanChoice> plans;
  for (const std::string& text : texts) plans.push_back(parse_plan(text, "--plans"));
  return plans;
}

std::string plan_refusal(const std::string& plan) {
  return refusal([&] { parse_plan(plan, "--plans"); });
}

TEST(PlanText, ReadsWhatItWrites) {
  for (const std::string& text : default_plans())
    EXPECT_EQ(plan_text(parse_plan(text, "--plans")), text);
  EXPECT_EQ(plan_text(parse_plan("reduce/chain:chunk_bytes=1000B", "--plans")),
            "reduce/chain:chunk_bytes=1000B");
  const PlanChoice cb = parse_plan("reduce/cb:chunk_bytes=64KiB,chain_size=4", "--plans");
  EXPECT_EQ(cb.options, (OptionValues{{"chain_size", 4}, {"chunk_bytes", 65536}}));
}

TEST(PlanText, LevelsAreWrittenWithAPlus) {
  const PlanChoice plan =
      parse_plan("reduce/hierarchical:levels=chain:4+binomial,chunk_bytes=4KiB", "--plans");
  EXPECT_EQ(plan.options.text(kLevels), "chain:4,binomial");
  EXPECT_EQ(parse_plan(plan_text(plan), "--plans").options, plan.options);
}

TEST(PlanText, RefusesWhatNoPlanIs) {
  EXPECT_THAT(plan_refusal("ring"), HasSubstr("must be OPERATION/ALGORITHM"));
  EXPECT_THAT(plan_refusal("all-reduce/rong"), HasSubstr("did you mean \"ring\""));
  EXPECT_THAT(plan_refusal("reduc/chain"), HasSubstr("did you mean \"reduce\""));
  EXPECT_THAT(plan_refusal("reduce/binomial:chain_size=4"),
              HasSubstr("is not an option of reduce/binomial"));
  EXPECT_THAT(plan_refusal("reduce/chain:chunk_byte=4"), HasSubstr("did you mean \"chunk_bytes\""));
  EXPECT_THAT(plan_refusal("reduce/chain:chunk_bytes=0B"), HasSubstr("must be >= 1 B"));
  EXPECT_THAT(plan_refusal("reduce/cb:chain_size=0"), HasSubstr("must be >= 1"));
}

TEST(Questions, EveryPlanAtEveryCountAndSize) {
  const CollectiveQuestions questions =
      make_questions(plans_of({"all-reduce/ring", "reduce/binomial"}), {2, 3}, {{65536}, {131072}});
  ASSERT_EQ(questions.asked.size(), 8U);
  EXPECT_TRUE(questions.refused.empty());
  EXPECT_EQ(questions.asked[0].plan.collective->name, "all-reduce/ring");
  EXPECT_EQ(questions.asked[3].ranks, 3);
  EXPECT_EQ(questions.asked[3].bytes, 131072);
  EXPECT_EQ(questions.asked[3].call().rank_count, 3);
}

TEST(Questions, WhatAPlanRefusesIsSaidOnceForEachCount) {
  // The plan that refuses something is found, so that no plan's limits are repeated here.
  for (const Collective* collective : all_collectives()) {
    if (collective->refuse == nullptr) continue;
    const PlanChoice plan{.collective = collective, .options = {}};
    for (int ranks = 2; ranks <= 9; ++ranks) {
      const CollectiveCall call{.rank_count = ranks, .bytes = 4096};
      if (collective->refuse(call).empty()) continue;
      const CollectiveQuestions questions = make_questions(
          {plan, parse_plan("reduce/binomial", "--plans")}, {ranks}, {{4096}, {8192}});
      EXPECT_EQ(questions.asked.size(), 2U);
      ASSERT_EQ(questions.refused.size(), 1U);
      EXPECT_THAT(questions.refused[0], HasSubstr(collective->name));
      EXPECT_THROW(make_questions({plan}, {ranks}, {{4096}}), InputError);
      return;
    }
  }
  FAIL() << "no plan refuses 2 to 9 ranks: this test is about nothing";
}

TEST(Questions, RefusesOneRankAndHalfElements) {
  const auto plans = plans_of({"reduce/binomial"});
  EXPECT_THROW(make_questions(plans, {1}, {{64}}), InputError);
  EXPECT_THROW(make_questions(plans, {2}, {{66}}), InputError);
  EXPECT_THROW(make_questions(plans, {2}, {{0}}), InputError);
}

std::vector<CollectiveQuestion> some_questions() {
  return make_questions(plans_of(default_plans()), {2, 4}, {{65536}, {262144}}).asked;
}

TEST(Request, HoldsEveryQuestionOnceInARandomOrderThatASeedRepeats) {
  const auto questions = some_questions();
  const ExecutionSettings settings{
      .budget_s = 7, .repetitions_min = 4, .nap_s = 2e-5, .channels = 2, .seed = 3};
  const ExecutionRequest made = execution_request(questions, settings);
  EXPECT_EQ(made.request["task"], "collectives");
  EXPECT_EQ(made.request["budget_s"], 7);
  EXPECT_EQ(made.request["repetitions_min"], 4);
  EXPECT_EQ(made.request["channels"], 2);
  EXPECT_EQ(made.request["wait"]["nap_s"], 2e-5);
  std::vector<size_t> sorted = made.order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], i);
  EXPECT_NE(made.order, sorted);
  EXPECT_EQ(execution_request(questions, settings).order, made.order);
  ASSERT_EQ(made.request["cases"].size(), questions.size());
  for (size_t i = 0; i < made.order.size(); ++i) {
    EXPECT_EQ(made.request["cases"][i]["bytes"], questions[made.order[i]].bytes);
    EXPECT_EQ(made.request["cases"][i]["ranks"], questions[made.order[i]].ranks);
  }
}

json answered_case(double time_s, bool is_correct = true) {
  json one = {{"time_s", time_s},        {"low_s", 0.9 * time_s}, {"high_s", 1.1 * time_s},
              {"p10_s", 0.8 * time_s},   {"p90_s", 1.3 * time_s}, {"samples", 9},
              {"is_correct", is_correct}};
  if (!is_correct) one["error"] = "wrong result at rank 1: element 5 is 2, must be 3";
  return one;
}

TEST(Answer, GoesBackToTheQuestionsThatWereAsked) {
  const auto questions = make_questions(plans_of({"reduce/binomial"}), {2, 3, 4}, {{65536}}).asked;
  const json answer = {{"format", "forescale-executed-1"},
                       {"library", "Some MPI 1.0"},
                       {"cases", {answered_case(2e-3), {{"error", "no time left"}}}}};
  const Execution execution = read_execution(answer.dump(), "answer.json", questions, {2, 0, 1});
  EXPECT_EQ(execution.library, "Some MPI 1.0");
  ASSERT_TRUE(execution.collectives[2].time);
  EXPECT_DOUBLE_EQ(execution.collectives[2].time->median.time_s, 2e-3);
  EXPECT_DOUBLE_EQ(execution.collectives[2].time->p90_s, 2.6e-3);
  EXPECT_EQ(execution.collectives[2].time->samples, 9);
  EXPECT_FALSE(execution.collectives[0].time);
  EXPECT_EQ(execution.collectives[0].note, "no time left");
  EXPECT_FALSE(execution.collectives[1].time);
  EXPECT_THAT(execution.collectives[1].note, HasSubstr("not executed"));
}

TEST(Answer, AWrongSumIsACheckThatFailed) {
  const auto questions = make_questions(plans_of({"reduce/binomial"}), {2, 4}, {{65536}}).asked;
  const json answer = {{"format", "forescale-executed-1"},
                       {"library", "Some MPI 1.0"},
                       {"cases", {answered_case(1e-3), answered_case(1e-3, false)}}};
  try {
    read_execution(answer.dump(), "answer.json", questions, {1, 0});
    FAIL() << "a wrong sum was accepted";
  } catch (const CheckFailed& error) {
    EXPECT_THAT(error.what(), HasSubstr("1 of 2 collectives"));
    EXPECT_THAT(error.what(), HasSubstr("reduce/binomial on 2 ranks, 64 KiB"));
    EXPECT_THAT(error.what(), HasSubstr("element 5"));
  }
}

TEST(Answer, ForeignJsonIsRefused) {
  const auto questions = make_questions(plans_of({"reduce/binomial"}), {2}, {{65536}}).asked;
  EXPECT_THROW(read_execution(R"({"format": "forescale-)", "a.json", questions, {0}), InputError);
  EXPECT_THROW(read_execution(R"({"format": "else"})", "a.json", questions, {0}), InputError);
  const json negative = {
      {"format", "forescale-executed-1"}, {"library", "x"}, {"cases", {answered_case(-1)}}};
  EXPECT_THROW(read_execution(negative.dump(), "a.json", questions, {0}), InputError);
  const json two = {{"format", "forescale-executed-1"},
                    {"library", "x"},
                    {"cases", {answered_case(1), answered_case(1)}}};
  EXPECT_THROW(read_execution(two.dump(), "a.json", questions, {0}), InputError);
}

// predicted, its interval, measured: all in seconds.
CollectiveRow row(const std::string& plan, std::int64_t bytes, TimeRange predicted,
                  double measured_s) {
  CollectiveRow result;
  result.question = {.plan = parse_plan(plan, "--plans"), .ranks = 4, .bytes = bytes};
  result.predicted = predicted;
  result.executed.time = ExecutedTime{.median = {measured_s, measured_s, measured_s},
                                      .p10_s = measured_s,
                                      .p90_s = measured_s,
                                      .samples = 5};
  return result;
}

TEST(Summary, ErrorsByHand) {
  std::vector<CollectiveRow> rows{
      row("reduce/binomial", 65536, {1.5, 1.2, 1.6}, 1.0),     // +50 %, outside
      row("reduce/binomial", 262144, {1.1, 0.9, 1.2}, 1.0),    // +10 %, inside
      row("reduce/binomial", 1 << 20, {0.98, 0.9, 1.0}, 1.0),  // -2 %, inside (its end)
      row("all-reduce/ring", 1 << 20, {0.7, 0.6, 0.8}, 1.0)};  // -30 %, outside
  CollectiveRow unmeasured = rows[0];
  unmeasured.executed = {.time = {}, .note = "no time left"};
  rows.push_back(unmeasured);
  const CollectiveSummary summary = summarise_collectives(rows);
  EXPECT_EQ(summary.all.rows, 4);
  EXPECT_NEAR(summary.all.median_abs, 0.2, 1e-12);  // of 2, 10, 30 and 50 %
  EXPECT_NEAR(summary.all.worst, 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(summary.all.inside_share, 0.5);
  EXPECT_EQ(summary.large.rows, 3);
  EXPECT_NEAR(summary.large.median_abs, 0.1, 1e-12);
  EXPECT_NEAR(summary.large.worst, -0.3, 1e-12);
  ASSERT_EQ(summary.by_size.size(), 3U);
  EXPECT_EQ(summary.by_size[0].of, "64 KiB to below 256 KiB");
  EXPECT_EQ(summary.by_size[1].of, "256 KiB to below 1 MiB");
  EXPECT_EQ(summary.by_size[2].rows, 2);
  ASSERT_EQ(summary.by_algorithm.size(), 2U);
  EXPECT_EQ(summary.by_algorithm[0].of, "all-reduce/ring");
  EXPECT_NEAR(summary.by_algorithm[1].median_abs, 0.1, 1e-12);
  EXPECT_TRUE(summary.picks.empty());  // one algorithm each: nothing to choose
}

TEST(Summary, ChoiceQualityByHand) {
  const std::vector<CollectiveRow> rows{
      // Right: binomial is predicted and measured fastest.
      row("reduce/binomial", 65536, {1, 1, 1}, 1.0), row("reduce/chain", 65536, {2, 2, 2}, 1.5),
      // Wrong by 4 %: good enough.
      row("reduce/binomial", 131072, {1, 1, 1}, 1.04), row("reduce/chain", 131072, {2, 2, 2}, 1.0),
      // Wrong by 25 %.
      row("reduce/binomial", 262144, {3, 3, 3}, 1.0), row("reduce/chain", 262144, {2, 2, 2}, 1.25),
      // Another operation: no choice.
      row("broadcast/binomial", 262144, {9, 9, 9}, 0.1)};
  const CollectiveSummary summary = summarise_collectives(rows);
  ASSERT_EQ(summary.picks.size(), 3U);
  EXPECT_DOUBLE_EQ(summary.picks[0].regret, 0);
  EXPECT_NEAR(summary.picks[1].regret, 0.04, 1e-12);
  EXPECT_EQ(summary.picks[2].predicted_best, "reduce/chain");
  EXPECT_EQ(summary.picks[2].measured_best, "reduce/binomial");
  EXPECT_NEAR(summary.worst_regret, 0.25, 1e-12);
  EXPECT_NEAR(summary.good_pick_share, 2.0 / 3, 1e-12);
}

TEST(Expectations, SayWhatIsNotKept) {
  const CollectiveSummary summary = summarise_collectives(
      {row("reduce/binomial", 1 << 20, {1.2, 1, 1.3}, 1.0),
       row("reduce/chain", 1 << 20, {1.1, 1, 1.3}, 2.0)});  // errors 20 and 45 %, regret 100 %
  const auto broken = [&](const std::string& text) {
    return broken_expectations(parse_expectations(text, "--expect"), summary);
  };
  EXPECT_TRUE(broken("").empty());
  EXPECT_TRUE(broken("median=40%,median_256k=32.5%,inside=50%").empty());
  ASSERT_EQ(broken("median=10%,regret5=90%,inside=60%").size(), 3U);
  EXPECT_EQ(broken("median=10%")[0], "median |error|: 32.5 %, expected <= 10 %");
  EXPECT_EQ(broken("regret5=90%")[0], "choices within 5 % of the best: 0.0 %, expected >= 90 %");
  EXPECT_EQ(broken_expectations(parse_expectations("median=10%", "--expect"), {}).size(), 1U);
  for (const char* wrong : {"median=10", "median=x%", "median=-1%", "medain=10%", "median"})
    EXPECT_THROW(parse_expectations(wrong, "--expect"), InputError) << wrong;
}

TEST(Prediction, OfAMachineWithoutUncertainNumbersWhatIsNotModelledIsLeft) {
  const auto questions = make_questions(plans_of({"reduce/binomial"}), {2, 4}, {{1000000}}).asked;
  const std::vector<TimeRange> times = predict_collectives(
      questions, load_machines("star:hosts=4,bandwidth=1GB/s,latency=1us", "ideal"));
  ASSERT_EQ(times.size(), 2U);
  // One and two rounds of 1e6 bytes at 1 GB/s; two cables of 1 us each way.
  EXPECT_NEAR(times[0].time_s, 1e-3, 5e-6);
  EXPECT_NEAR(times[1].time_s, 2e-3, 1e-5);
  for (const TimeRange& time : times) {
    EXPECT_LE(time.low_s, time.time_s);
    EXPECT_GT(time.high_s, time.time_s);
    EXPECT_DOUBLE_EQ(time.high_s / time.time_s, times[0].high_s / times[0].time_s);
  }
  EXPECT_THROW(predict_collectives(
                   questions, load_machines("star:hosts=2,bandwidth=1GB/s,latency=1us", "ideal")),
               InputError);
}

TEST(Rows, JsonHasEveryKeyAlsoWhereNothingWasMeasured) {
  CollectiveRow unmeasured = row("reduce/cb:chain_size=4,chunk_bytes=64KiB", 1024, {2, 1, 3}, 2.0);
  EXPECT_DOUBLE_EQ(to_json(unmeasured)["error"].get<double>(), 0);
  EXPECT_EQ(to_json(unmeasured)["inside"], true);
  EXPECT_EQ(to_json(unmeasured)["plan"], "reduce/cb:chain_size=4,chunk_bytes=64KiB");
  unmeasured.executed = {.time = {}, .note = "no time left"};
  const json text = to_json(unmeasured);
  for (const char* key : {"measured_s", "measured_low_s", "measured_high_s", "p10_s", "p90_s",
                          "samples", "is_correct", "error", "inside"})
    EXPECT_TRUE(text.at(key).is_null()) << key;
  EXPECT_EQ(text["note"], "no time left");
  EXPECT_EQ(text["predicted_s"], 2);
}

}  // namespace
}  // namespace forescale
