#include "traces/measured/measured_run.hpp"

#include <gtest/gtest.h>

#include "traces/measured/iterations.hpp"

namespace forescale {
namespace {

constexpr double kExactRun_s = 1e-15;

MeasuredTask task(std::int64_t begin_ns, std::int64_t end_ns, int stream, int collective = -1) {
  return {.span = {begin_ns, end_ns}, .stream = stream, .call = 0, .collective = collective};
}

// Kernels at 0 to 100 and 150 to 250, an all-reduce at 50 to 200: of its 150 ns, 100 are hidden.
MeasuredRank gpu_rank(int number, std::int64_t clock_ns) {
  MeasuredRank rank{.rank = number, .has_gpu = true, .labels = {"k"}};
  rank.calls = {{.span = {clock_ns, clock_ns}}};
  rank.tasks = {task(clock_ns, clock_ns + 100, 0), task(clock_ns + 150, clock_ns + 250, 0),
                task(clock_ns + 50, clock_ns + 200, 1, 0)};
  rank.collectives = {{.op = CollectiveOp::kAllReduce, .bytes = 4}};
  return rank;
}

TEST(MeasuredRun, TellsHiddenFromExposedCommunication) {
  const MeasuredRun run = measured_run({gpu_rank(0, 1000)}, {0}, 1);
  EXPECT_NEAR(run.communication_s, 150e-9, kExactRun_s);
  EXPECT_NEAR(run.hidden_s, 100e-9, kExactRun_s);
  EXPECT_NEAR(run.step_s, 250e-9, kExactRun_s);
}

TEST(MeasuredRun, PutsRanksOnOneClock) {
  const MeasuredRun run = measured_run({gpu_rank(0, 1000), gpu_rank(3, 5000)}, {0, 4000}, 4);
  EXPECT_NEAR(run.begin_s, 1000e-9, kExactRun_s);
  EXPECT_NEAR(run.end_s, 1250e-9, kExactRun_s);
  ASSERT_EQ(run.timeline.spans().size(), 6U);
  for (size_t i = 0; i < 3; ++i) {
    const Span& first = run.timeline.spans()[i];
    const Span& second = run.timeline.spans()[i + 3];
    EXPECT_EQ(first.rank, 0);
    EXPECT_EQ(second.rank, 3);
    EXPECT_EQ(first.track, second.track);
    EXPECT_NEAR(first.begin_s, second.begin_s, kExactRun_s);
    EXPECT_NEAR(first.end_s, second.end_s, kExactRun_s);
  }
  EXPECT_NEAR(run.communication_s, 150e-9, kExactRun_s);
}

// Steps of the host end at 90, 180, 270 and 360, what they launched at 200, 250, 340 and 350: the
// host is ahead of its GPU, but in the last one.
MeasuredRank rank_of_steps() {
  MeasuredRank rank{.rank = 0, .has_gpu = true, .labels = {"k"}};
  const std::vector<ClockSpan> kernels = {{10, 200}, {200, 250}, {250, 340}, {345, 350}};
  for (int step = 0; step < 4; ++step) {
    const std::int64_t at_ns = 90 * step;
    rank.steps.push_back({at_ns, at_ns + 90});
    rank.calls.push_back({.span = {at_ns + 5, at_ns + 8}});
    rank.calls.push_back({.span = {at_ns + 90, at_ns + 90}, .kind = HostCall::Kind::kStepEnd});
    rank.tasks.push_back({.span = kernels[static_cast<size_t>(step)], .call = 2 * step});
  }
  return rank;
}

TEST(MeasuredRun, AnIterationEndsWhenAllThatItLaunchedIsDone) {
  const MeasuredIterations iterations = iterations_of(rank_of_steps());
  EXPECT_EQ(iterations.begin_ns, 0);
  EXPECT_EQ(iterations.ends_ns, (std::vector<std::int64_t>{200, 250, 340, 360}));
  const MeasuredRun run = measured_run({rank_of_steps()}, {0}, 1);
  EXPECT_EQ(run.counts_from, 2U);  // steady_state.hpp: behind the first third
  EXPECT_NEAR(run.step_s, (360e-9 - 250e-9) / 2, kExactRun_s);
  EXPECT_NEAR(run.begin_s, 340e-9, kExactRun_s);
  EXPECT_NEAR(run.end_s, 360e-9, kExactRun_s);
}

TEST(MeasuredRun, WhatNoStepHoldsIsCutAway) {
  MeasuredRank rank = rank_of_steps();
  cut_to_steps(rank);
  EXPECT_EQ(rank.tasks.size(), 4U);
  // Steps 1 and 2 only: the first kernel runs into step 1 and stays, the last one goes.
  rank.steps = {{90, 180}, {180, 270}};
  std::erase_if(rank.calls, [](const HostCall& call) {
    return call.kind == HostCall::Kind::kStepEnd &&
           (call.span.end_ns == 90 || call.span.end_ns == 360);
  });
  for (size_t i = 0; i < rank.tasks.size(); ++i)
    rank.tasks[i].call = std::vector<int>{0, 1, 3, 5}[i];
  cut_to_steps(rank);
  ASSERT_EQ(rank.tasks.size(), 3U);
  EXPECT_EQ(rank.tasks.front().span.end_ns, 200);
  EXPECT_EQ(rank.calls.size(), 5U);
  EXPECT_EQ(rank.notes.size(), 1U);
  EXPECT_EQ(iterations_of(rank).ends_ns, (std::vector<std::int64_t>{250, 340}));
}

// The rank that came last waits for nobody: the shorter of both times.
TEST(MeasuredRun, ACollectiveTakesWhatItsLastRankSees) {
  MeasuredRank early = gpu_rank(0, 0);
  MeasuredRank late = gpu_rank(1, 0);
  early.tasks.push_back(task(300, 400, 1, 1));
  late.tasks.push_back(task(380, 401, 1, 1));
  for (MeasuredRank* rank : {&early, &late}) {
    rank->collectives.push_back({.op = CollectiveOp::kBroadcast, .bytes = 64, .ranks = {0, 1}});
    rank->tasks.push_back(task(500, 510, 1, 2));
  }
  late.tasks.back().span = {500, 520};
  early.collectives.push_back(
      {.op = CollectiveOp::kReduce, .bytes = 8, .group = "a", .ranks = {0, 5}});
  late.collectives.push_back(
      {.op = CollectiveOp::kReduce, .bytes = 8, .group = "a", .ranks = {1, 4}});
  const MeasuredRun run = measured_run({early, late}, {0, 0}, 8);
  ASSERT_EQ(run.calls.size(), 4U);
  const auto find = [&](CollectiveOp op, size_t skip = 0) {
    for (const MeasuredCall& call : run.calls)
      if (call.op == op && skip-- == 0) return call;
    return MeasuredCall{};
  };
  const MeasuredCall reduced = find(CollectiveOp::kAllReduce);
  EXPECT_NEAR(reduced.time_s, 150e-9, kExactRun_s);
  EXPECT_EQ(reduced.ranks, 8);
  EXPECT_EQ(reduced.traced_ranks, 2);
  const MeasuredCall broadcast = find(CollectiveOp::kBroadcast);
  EXPECT_NEAR(broadcast.time_s, 21e-9, kExactRun_s);
  EXPECT_EQ(broadcast.ranks, 2);
  EXPECT_EQ(broadcast.bytes, 64);
  EXPECT_NEAR(find(CollectiveOp::kReduce).time_s, 10e-9, kExactRun_s);  // groups of their own
  EXPECT_NEAR(find(CollectiveOp::kReduce, 1).time_s, 20e-9, kExactRun_s);
  EXPECT_EQ(find(CollectiveOp::kReduce).traced_ranks, 1);
}

// The host works to its call at 100, waits to 300, works to 350; the collective runs to 300.
TEST(MeasuredRun, AHostComputesUnlessItWaits) {
  MeasuredRank rank{.rank = 0, .steps = {{0, 350}}};
  rank.calls = {{.span = {80, 80}},
                {.span = {100, 310}, .kind = HostCall::Kind::kWaitFor, .resumes_ns = 300},
                {.span = {350, 350}, .kind = HostCall::Kind::kStepEnd}};
  rank.tasks = {task(90, 300, 0, 0)};
  rank.collectives = {{.op = CollectiveOp::kAllReduce, .bytes = 4}};
  const MeasuredRun run = measured_run({rank}, {0}, 1);
  EXPECT_NEAR(run.communication_s, 210e-9, kExactRun_s);
  EXPECT_NEAR(run.hidden_s, 10e-9, kExactRun_s);
  EXPECT_NEAR(run.step_s, 350e-9, kExactRun_s);
}

}  // namespace
}  // namespace forescale
