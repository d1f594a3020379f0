// Every schedule of the registry: it runs all passes once and never waits for itself; closed forms
// of its bubble and of what it holds.
#include "algorithms/layout/pipeline.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>

#include "algorithms/layout/pipeline_file.hpp"
#include "base/error.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using testing::refusal;

const PipelineSchedule& schedule_named(const std::string& name) {
  return Registry<PipelineSchedule>::find(name, "test");
}

// Shapes that the schedule is for.
std::vector<PipelineShape> shapes_of(const PipelineSchedule& schedule) {
  std::vector<PipelineShape> shapes;
  for (const int ranks : {1, 2, 3, 4, 8})
    for (const int each : {1, 2, 3})
      for (const int micro_batches : {1, 2, 4, 5, 8, 12, 24}) {
        const PipelineShape shape{ranks, each, micro_batches};
        if (refusal([&] { check_shape(schedule, shape, "x"); }) == "accepted")
          shapes.push_back(shape);
      }
  return shapes;
}

double iteration_s(const PipelineSchedule& schedule, const PipelineShape& shape, StageCost cost,
                   double transfer_s = 0) {
  const std::vector<StageCost> stages(static_cast<size_t>(shape.stages()), cost);
  return pipeline_times(schedule, shape, stages, transfer_s).end_s();
}

TEST(Pipeline, EveryScheduleRunsEveryPassOnceAndOnItsRank) {
  for (const auto& [name, schedule] : Registry<PipelineSchedule>::all()) {
    EXPECT_FALSE(schedule.source.empty());
    EXPECT_FALSE(shapes_of(schedule).empty()) << name;
    for (const PipelineShape& shape : shapes_of(schedule)) {
      std::map<std::tuple<PassKind, int, int>, int> counts;
      const auto orders = schedule.orders(shape);
      ASSERT_EQ(orders.size(), static_cast<size_t>(shape.ranks));
      for (int rank = 0; rank < shape.ranks; ++rank)
        for (const PipelinePass& pass : orders[static_cast<size_t>(rank)]) {
          ++counts[{pass.kind, pass.stage, pass.micro_batch}];
          EXPECT_EQ(rank_of(schedule, shape, pass.stage), rank);
        }
      for (const auto& [pass, count] : counts) EXPECT_EQ(count, 1);
      // A whole backward pass, or both halves.
      for (int stage = 0; stage < shape.stages(); ++stage)
        for (int i = 0; i < shape.micro_batches; ++i) {
          const auto has = [&](PassKind kind) { return counts.contains({kind, stage, i}); };
          if (stage / (shape.stages() / schedule.copies) != i % schedule.copies) {
            EXPECT_FALSE(has(PassKind::kForward)) << name << ": of the other copy";
            continue;
          }
          EXPECT_TRUE(has(PassKind::kForward));
          EXPECT_NE(has(PassKind::kBackward), has(PassKind::kInputGradient)) << name;
          EXPECT_EQ(has(PassKind::kInputGradient), has(PassKind::kWeightGradient)) << name;
          EXPECT_TRUE(schedule.splits_backward || has(PassKind::kBackward)) << name;
        }
    }
  }
}

// Never faster than a rank's own work and the way of one micro-batch through all stages; and
// nothing is waited for that does not come.
TEST(Pipeline, EveryScheduleKeepsToItsBounds) {
  const StageCost cost{.forward_s = 1, .backward_s = 1.5, .weights_s = 0.5};
  for (const auto& [name, schedule] : Registry<PipelineSchedule>::all())
    for (const PipelineShape& shape : shapes_of(schedule)) {
      const double stage_s = cost.forward_s + cost.backward_s;
      const double all_s = schedule.splits_backward ? stage_s + cost.weights_s : stage_s;
      const double took = iteration_s(schedule, shape, cost);
      const int passes = shape.micro_batches * shape.stages_a_rank / schedule.copies;
      EXPECT_GE(took, passes * all_s - 1e-9) << name;
      EXPECT_GE(took, shape.stages() / schedule.copies * stage_s - 1e-9) << name;
      EXPECT_GE(iteration_s(schedule, shape, cost, 0.1), took - 1e-9) << name;
    }
}

// Narayanan et al., arXiv:2104.04473, section 2.2: bubble (p - 1) / m, and a v-th of it.
TEST(Pipeline, BubblesAreTheClosedForms) {
  const StageCost cost{.forward_s = 1, .backward_s = 2};
  for (const int p : {1, 2, 4, 8})
    for (const int m : {8, 16, 32}) {
      EXPECT_DOUBLE_EQ(iteration_s(schedule_named("gpipe"), {p, 1, m}, cost), 3.0 * (m + p - 1));
      EXPECT_DOUBLE_EQ(iteration_s(schedule_named("1f1b"), {p, 1, m}, cost), 3.0 * (m + p - 1));
      for (const int v : {2, 4})
        EXPECT_DOUBLE_EQ(iteration_s(schedule_named("interleaved"), {p, v, m}, cost),
                         3.0 * (m * v + p - 1));
    }
}

// Qi et al., arXiv:2401.10241, table 1: (p - 1) (F + I - W), a third of 1F1B's.
TEST(Pipeline, ZeroBubbleHalvesLeaveAThird) {
  const StageCost cost{.forward_s = 1, .backward_s = 1, .weights_s = 1};
  for (const int p : {1, 2, 4, 8})
    for (const int m : {p, 2 * p, 4 * p})
      EXPECT_DOUBLE_EQ(iteration_s(schedule_named("zb-h1"), {p, 1, m}, cost), 3.0 * m + p - 1);
}

// deepseek-ai/DualPipe, README.md, table of its bubbles: (p - 1) (FB + B - 3 W) of its V on p
// ranks, FB the pair, B the whole backward pass; where F, I and W take as long it is reached, else
// not more.
TEST(Pipeline, DualPipeVHasTheBubbleAndActivationsOfItsTable) {
  const PipelineSchedule& schedule = schedule_named("dualpipev");
  for (const int p : {1, 2, 3, 4, 8})
    for (const int m : {2 * p, 2 * p + 1, 6 * p}) {
      for (const double weights_s : {0.5, 1.0}) {
        const StageCost cost{.forward_s = 1, .backward_s = 1, .weights_s = weights_s};
        const double whole_s = 1 + weights_s;
        const double table_s = (p - 1) * (1 + whole_s + whole_s - 3 * weights_s);
        const double bubble_s = iteration_s(schedule, {p, 2, m}, cost) - 2 * m * (1 + whole_s);
        EXPECT_LE(bubble_s, table_s + 1e-9) << p << " " << m;
        EXPECT_GE(bubble_s, (weights_s == 1 ? 1 : 0.8) * table_s - 1e-9) << p << " " << m;
      }
      const std::vector<int> held = activations_held(schedule.orders({p, 2, m}));
      EXPECT_EQ(held, std::vector<int>(static_cast<size_t>(p), 2 * p + 1)) << p << " " << m;
    }
  EXPECT_NE(refusal([&] {
              check_shape(schedule, {4, 2, 7}, "--layout");
            }).find("schedule=dualpipev,pp=4: needs 8 micro-batches, 2 a rank, and has 7"),
            std::string::npos);
}

// The same table: (p / 2 - 1) (FB + B - 3 W) on p ranks, p + 1 forward passes held. Both copies of
// a rank's parameters have their last pass at the same time.
TEST(Pipeline, DualPipeHasTheBubbleAndActivationsOfItsTable) {
  const PipelineSchedule& schedule = schedule_named("dualpipe");
  for (const int p : {2, 4, 6, 16})
    for (const int m : {2 * p, 2 * p + 2, 6 * p}) {
      for (const double weights_s : {0.5, 1.0}) {
        const StageCost cost{.forward_s = 1, .backward_s = 1, .weights_s = weights_s};
        const double whole_s = 1 + weights_s;
        const double table_s = (p / 2.0 - 1) * (1 + whole_s + whole_s - 3 * weights_s);
        const double bubble_s = iteration_s(schedule, {p, 2, m}, cost) - m * (1 + whole_s);
        EXPECT_LE(bubble_s, table_s + 1e-9) << p << " " << m;
        EXPECT_GE(bubble_s, (weights_s == 1 ? 1 : 0.8) * table_s - 1e-9) << p << " " << m;
      }
      const auto orders = schedule.orders({p, 2, m});
      EXPECT_EQ(activations_held(orders), std::vector<int>(static_cast<size_t>(p), p + 1));
      for (int rank = 0; rank < p; ++rank)
        for (const int layers : {rank, p - 1 - rank}) {
          const int holders =
              rank_of(schedule, {p, 2, m}, layers) + rank_of(schedule, {p, 2, m}, p + layers);
          EXPECT_EQ(holders, p - 1);
        }
    }
  for (const PipelineShape& shape : {PipelineShape{3, 2, 12}, {4, 2, 9}, {4, 4, 8}, {4, 2, 6}})
    EXPECT_NE(refusal([&] { check_shape(schedule, shape, "--layout"); }), "accepted");
}

// Two ranks, each with the same layers as the other: gradients are reduced once both have them.
TEST(Pipeline, CopiesOnOnePipelineReduceTogether) {
  std::vector<StageCost> stages(4, {.forward_s = 1, .backward_s = 1, .weights_s = 1});
  stages[0].gradients = stages[2].gradients = {.time_s = 5};
  stages[2].weights_s = 3;  // layers 0 of the copy that begins on rank 1
  const PipelineTimes times = pipeline_times(schedule_named("dualpipe"), {2, 2, 4}, stages, 0);
  double last_s = 0;
  for (const auto& rank : times.passes)
    for (const PassTime& pass : rank)
      if (pass.pass.stage == 0 || pass.pass.stage == 2) last_s = std::max(last_s, pass.end_s);
  ASSERT_EQ(times.states[0].size(), 1U);
  ASSERT_EQ(times.states[1].size(), 1U);
  EXPECT_DOUBLE_EQ(times.states[0][0].end_s, last_s + 5);
  EXPECT_DOUBLE_EQ(times.states[1][0].end_s, last_s + 5);
}

// Two ranks, one micro-batch each way: rank 0 runs 0F1 (1 s) beside 0B0 (2 s, fed by 1B0, which
// ends at 4 s). Both begin then, and rank 1 has what 0F1 made when both have ended.
TEST(Pipeline, WhatRunsSideBySideBeginsAndEndsTogether) {
  PipelineSchedule pairs = schedule_named("gpipe");
  using enum PassKind;
  pairs.orders = [](const PipelineShape&) -> std::vector<std::vector<PipelinePass>> {
    return {{{kForward, 0, 0}, {kForward, 0, 1, true}, {kBackward, 0, 0}, {kBackward, 0, 1}},
            {{kForward, 1, 0}, {kBackward, 1, 0}, {kForward, 1, 1}, {kBackward, 1, 1}}};
  };
  const std::vector<StageCost> stages(2, {.forward_s = 1, .backward_s = 2});
  const PipelineTimes times = pipeline_times(pairs, {2, 1, 2}, stages, 0);
  EXPECT_DOUBLE_EQ(times.passes[0][1].begin_s, 4);
  EXPECT_DOUBLE_EQ(times.passes[0][2].end_s, 7);
  EXPECT_DOUBLE_EQ(times.passes[1][2].begin_s, 7);
  EXPECT_DOUBLE_EQ(times.end_s(), 12);
}

// Of four stages there and back on two ranks: what a pair makes goes to the other rank at once, and
// takes twice as long.
TEST(Pipeline, TwoMessagesToOneRankShareTheWay) {
  PipelineSchedule pairs = schedule_named("zbv");
  pairs.splits_backward = false;
  using enum PassKind;
  pairs.orders = [](const PipelineShape&) -> std::vector<std::vector<PipelinePass>> {
    return {{{kForward, 0, 0},
             {kForward, 3, 0},
             {kForward, 0, 1, true},
             {kBackward, 3, 0},
             {kForward, 3, 1},
             {kBackward, 3, 1},
             {kBackward, 0, 0},
             {kBackward, 0, 1}},
            {{kForward, 1, 0},
             {kForward, 2, 0},
             {kBackward, 2, 0},
             {kBackward, 1, 0},
             {kForward, 1, 1},
             {kForward, 2, 1},
             {kBackward, 2, 1},
             {kBackward, 1, 1}}};
  };
  const std::vector<StageCost> stages(4, {.forward_s = 1, .backward_s = 2});
  const PipelineTimes times = pipeline_times(pairs, {2, 2, 2}, stages, 0.25);
  // F0 0 to 1, F1 and F2 1.25 to 3.25, F3 3.5 to 4.5, the pair 4.5 to 7.5, B2 from 8 on.
  EXPECT_DOUBLE_EQ(times.passes[0][3].end_s, 7.5);
  EXPECT_DOUBLE_EQ(times.passes[1][2].begin_s, 8);
}

// One rank, a forward pass of 2 s and a backward pass of 4 s. In one part nothing overlaps; in four
// the first part of the parameters (or all but a fourth of the pass) and the last of the gradients
// (or all but the first fourth of the pass) are left.
TEST(Pipeline, ParametersAndGradientsOverlapWithPasses) {
  const auto took = [](BesidePass parameters, BesidePass gradients) {
    const StageCost cost{
        .forward_s = 2, .backward_s = 4, .parameters = parameters, .gradients = gradients};
    return iteration_s(schedule_named("1f1b"), {1, 1, 1}, cost);
  };
  EXPECT_DOUBLE_EQ(took({1, 1}, {3, 1}), 6 + 1 + 3);
  EXPECT_DOUBLE_EQ(took({1, 4}, {3, 4}), 6 + 0.25 + 0.75);
  EXPECT_DOUBLE_EQ(took({8, 4}, {}), 8 + 0.5 + 4);
  EXPECT_DOUBLE_EQ(took({}, {12, 4}), 2 + 1 + 12);
}

// A backward pass of 4 s, four parts of 3 s after it, the last one second later. Where the links
// are busy with something else for 2 s of the pass, those are lost to the parts, but no more than
// the pass leaves of them.
TEST(Pipeline, LinksThatAreBusyDelayWhatMovesBeside) {
  const auto took = [](int parts, double others_s) {
    const StageCost cost{
        .forward_s = 2,
        .backward_s = 4,
        .gradients = {
            .time_s = 3.0 * parts, .parts = parts, .before_last_s = 1, .others_s = others_s}};
    return iteration_s(schedule_named("1f1b"), {1, 1, 1}, cost);
  };
  EXPECT_DOUBLE_EQ(took(4, 0), 2 + 1 + 12 + 1);
  EXPECT_DOUBLE_EQ(took(4, 2), 2 + 1 + 12 + 2 + 1);
  EXPECT_DOUBLE_EQ(took(4, 4), 6 + 12 + 1);
  EXPECT_DOUBLE_EQ(took(1, 4), 6 + 3 + 1);
}

// One rank, two micro-batches of 2 and 4 s: the first pass takes a second longer, the last one
// three, of a schedule that leaves weights' gradients for last too; what overlaps is counted from
// there.
TEST(Pipeline, WhatMovesBesideAPassSlowsIt) {
  const StageCost cost{.forward_s = 2,
                       .backward_s = 4,
                       .parameters = {.time_s = 0.5, .parts = 2, .slows_s = 1},
                       .gradients = {.time_s = 0.5, .parts = 2, .slows_s = 3}};
  const PipelineTimes times = pipeline_times(schedule_named("1f1b"), {1, 1, 2}, {cost}, 0);
  EXPECT_DOUBLE_EQ(times.passes[0].front().end_s, 0.25 + 3);
  EXPECT_DOUBLE_EQ(times.passes[0][1].end_s - times.passes[0][1].begin_s, 4);
  EXPECT_DOUBLE_EQ(times.passes_end_s(), 0.25 + 2 * 6 + 1 + 3);
  EXPECT_DOUBLE_EQ(times.end_s(), times.passes_end_s() + 0.25);
  StageCost split = cost;
  split.weights_s = 2;
  const PipelineTimes late = pipeline_times(schedule_named("zb-h1"), {1, 1, 2}, {split}, 0);
  EXPECT_DOUBLE_EQ(late.passes_end_s(), 0.25 + 2 * 8 + 1 + 3);
}

// Two stages of 1 and 2 s, one micro-batch: parameters of the second rank are there when its first
// pass begins, and its gradients go while the first rank runs backward.
TEST(Pipeline, OtherRanksHideTheirStateInTheBubble) {
  StageCost first{.forward_s = 1, .backward_s = 2};
  StageCost second = first;
  second.parameters = {.time_s = 1};
  second.gradients = {.time_s = 2};
  const auto times = pipeline_times(schedule_named("1f1b"), {2, 1, 1}, {first, second}, 0);
  EXPECT_DOUBLE_EQ(times.end_s(), 6);
  ASSERT_EQ(times.states[1].size(), 2U);
  EXPECT_FALSE(times.states[1][0].of_gradients);
  EXPECT_DOUBLE_EQ(times.states[1][0].end_s, 1);
  EXPECT_TRUE(times.states[1][1].of_gradients);
  EXPECT_DOUBLE_EQ(times.states[1][1].begin_s, 4);
  first.gradients = {.time_s = 0.5};
  const auto later = pipeline_times(schedule_named("1f1b"), {2, 1, 1}, {first, second}, 0);
  EXPECT_DOUBLE_EQ(later.passes_end_s(), 6);
  EXPECT_DOUBLE_EQ(later.end_s(), 6.5);
}

// Two stages of 1 and 2 s, one micro-batch; of a second copy the second stage takes twice as long.
// Its backward pass goes from 3 to 7 s, and that of the first stage to 9 s.
TEST(Pipeline, CopiesReduceGradientsOnceAllHaveThem) {
  StageCost first{.forward_s = 1, .backward_s = 2, .gradients = {.time_s = 3}};
  StageCost second{.forward_s = 1, .backward_s = 2, .gradients = {.time_s = 4, .parts = 2}};
  StageCost slow = second;
  slow.forward_s = 2;
  slow.backward_s = 4;
  const auto both = pipeline_times(schedule_named("1f1b"), {2, 1, 1},
                                   {{.stages = {first, second}}, {.stages = {first, slow}}});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_DOUBLE_EQ(both[0].passes_end_s(), 6);
  EXPECT_DOUBLE_EQ(both[1].passes_end_s(), 9);
  for (const PipelineTimes& times : both) {
    // Half of the second stage's are there at 5 s, the other half at 7 s.
    ASSERT_EQ(times.states[1].size(), 1U);
    EXPECT_DOUBLE_EQ(times.states[1][0].begin_s, 5);
    EXPECT_DOUBLE_EQ(times.states[1][0].end_s, 9);
    EXPECT_DOUBLE_EQ(times.end_s(), 12);
  }
  // The copy that is not slow alone.
  const auto alone =
      pipeline_times(schedule_named("1f1b"), {2, 1, 1}, {{.stages = {first, second}}}).front();
  EXPECT_DOUBLE_EQ(alone.end_s(), 9);
}

TEST(Pipeline, HoldsWhatItsPaperSays) {
  for (const int p : {2, 4, 8}) {
    const int m = 4 * p;
    EXPECT_EQ(activations_held(schedule_named("gpipe").orders({p, 1, m})),
              std::vector<int>(static_cast<size_t>(p), m));
    const std::vector<int> held = activations_held(schedule_named("1f1b").orders({p, 1, m}));
    for (int rank = 0; rank < p; ++rank) EXPECT_EQ(held[static_cast<size_t>(rank)], p - rank);
    const std::vector<int> zero = activations_held(schedule_named("zb-h1").orders({p, 1, m}));
    EXPECT_LE(*std::max_element(zero.begin(), zero.end()), p);
    // Korthikanti et al., arXiv:2205.05198, section 4.2.3: p v + p - 1 stages of the first rank.
    const std::vector<int> several =
        activations_held(schedule_named("interleaved").orders({p, 2, m}));
    EXPECT_EQ(several.front(), 2 * p + p - 1);
  }
}

// As torch.distributed.pipelining writes it; idle slots and exchanges are cells too.
std::string csv_of(const std::vector<std::vector<PipelinePass>>& orders) {
  std::string text;
  for (const auto& order : orders) {
    bool is_second = false;
    for (const PipelinePass& pass : order) {
      const std::string name =
          fmt::format("{}{}{}", pass.stage, letter_of(pass.kind), pass.micro_batch);
      text += fmt::format("{}{}{}", pass.with_next ? "(" : "", name,
                          pass.with_next ? ";" : (is_second ? ")OVERLAP_F_B," : ","));
      if (!pass.with_next) text += fmt::format(",{}SEND_F{},", pass.stage, pass.micro_batch);
      is_second = pass.with_next;
    }
    text += "\r\n";
  }
  return text;
}

class PipelineFile : public ::testing::Test {
 protected:
  std::string write(const std::string& text) const {
    std::ofstream(file_) << text;
    return file_;
  }
  void TearDown() override { std::filesystem::remove(file_); }

 private:
  const std::string file_ =
      ::testing::TempDir() + fmt::format("forescale-schedule-{}.csv", getpid());
};

TEST_F(PipelineFile, GivesTheScheduleThatItWasWrittenOf) {
  const StageCost cost{.forward_s = 1, .backward_s = 1.5, .weights_s = 0.5};
  for (const auto& [name, schedule] : Registry<PipelineSchedule>::all()) {
    if (schedule.copies > 1) continue;  // PyTorch's files have one
    const PipelineShape shape = shapes_of(schedule).back();
    const PipelineSchedule read =
        read_pipeline_file(write(csv_of(schedule.orders(shape))), shape, "x");
    EXPECT_EQ(read.orders(shape), schedule.orders(shape)) << name;
    EXPECT_EQ(read.splits_backward, schedule.splits_backward) << name;
    EXPECT_DOUBLE_EQ(iteration_s(read, shape, cost, 0.1), iteration_s(schedule, shape, cost, 0.1));
  }
}

TEST_F(PipelineFile, KnowsOldNamesAndPairs) {
  // Before PyTorch 2.5: B and W; and forward and backward as one.
  const PipelineSchedule old = read_pipeline_file(write("0F0,0B0,0W0\n"), {1, 1, 1}, "x");
  EXPECT_TRUE(old.splits_backward);
  EXPECT_EQ(old.orders({1, 1, 1})[0][1].kind, PassKind::kInputGradient);
  const PipelineSchedule pairs =
      read_pipeline_file(write("0F0,(0F1;0B0)OVERLAP_F_B,0B1"), {1, 1, 2}, "x");
  ASSERT_EQ(pairs.orders({1, 1, 2})[0].size(), 4U);
  EXPECT_TRUE(pairs.orders({1, 1, 2})[0][1].with_next);
  // Not where the second waits for the first, or is an exchange.
  for (const char* text : {"(0F0;0B0)OVERLAP_F_B", "(0F0;0SEND_F0)OVERLAP_F_B,0B0"}) {
    const PipelineSchedule alone = read_pipeline_file(write(text), {1, 1, 1}, "x");
    EXPECT_FALSE(alone.orders({1, 1, 1})[0][0].with_next) << text;
    EXPECT_DOUBLE_EQ(iteration_s(alone, {1, 1, 1}, {.forward_s = 1, .backward_s = 2}), 3) << text;
  }
}

TEST_F(PipelineFile, IsRefusedWithLineAndCell) {
  const auto refused = [&](const std::string& text) {
    return refusal([&] { read_pipeline_file(write(text), {2, 1, 1}, "--layout"); });
  };
  const auto says = [](const std::string& message, const std::string& text) {
    EXPECT_NE(message.find(text), std::string::npos) << message;
  };
  says(refused("0F0,0B0\n"), "has 1 ranks, the layout 2");
  says(refused("0F0,0B0\n2F0,2B0\n"), "has 3 stages, the layout 2");
  says(refused("0F0,0B0\n1F0,1B0,1F1,1B1\n"), "has 2 micro-batches, the layout 1");
  says(refused("0F0,0B0\n1F0,1X0\n"), ":2 = 1X0: has a kind of pass that is not known");
  says(refused("0F0,0B0\n1F0,B0\n"), ":2 = B0: must be STAGE KIND");
  says(refused("0F0,0B0\n1F0,-1B0\n"), ":2 = -1B0: must be STAGE KIND");
  says(refused("0F0,0B0\n1F2147483647,1B0\n"), ":2 = 1F2147483647: must not have numbers above");
  says(refused("0F0,0B0,0F0\n1F0,1B0\n"), ":1 = 0F0: is there twice");
  says(refused("0F0,0B0,1F0\n1B0\n"), "is of a stage that line 1 has too");
  says(refused("0F0,0B0\n1F0,1I0\n"), "stage 1, micro-batch 0: needs F, and B or both I and W");
  says(refusal([] {
         read_pipeline_file("no/such.csv", {2, 1, 1}, "--layout");
       }),
       "cannot be opened");
}

TEST(Pipeline, RefusesShapesAndSaysWhoWaits) {
  EXPECT_NE(refusal([] {
              check_shape(schedule_named("1f1b"), {4, 2, 8}, "--layout");
            }).find("schedule=1f1b,vpp=2: vpp must be 1"),
            std::string::npos);
  EXPECT_NE(refusal([] {
              check_shape(schedule_named("interleaved"), {4, 1, 8}, "--layout");
            }).find("vpp must be 2 or more"),
            std::string::npos);
  EXPECT_NE(refusal([] {
              check_shape(schedule_named("interleaved"), {4, 2, 6}, "--layout");
            }).find("pp must divide the 6 micro-batches"),
            std::string::npos);
  PipelineSchedule backwards = schedule_named("gpipe");
  backwards.name = "backwards";
  backwards.orders = [](const PipelineShape& shape) {
    auto orders = schedule_named("gpipe").orders(shape);
    for (auto& order : orders) std::reverse(order.begin(), order.end());
    return orders;
  };
  try {
    iteration_s(backwards, {2, 1, 1}, {1, 1, 0});
    FAIL() << "the backward pass cannot come first";
  } catch (const SimulationStuck& stuck) {
    EXPECT_NE(std::string(stuck.what()).find("rank 0 waits for what feeds 0B of micro-batch 0"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace forescale
