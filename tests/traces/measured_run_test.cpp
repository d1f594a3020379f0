#include "traces/measured/measured_run.hpp"

#include <gtest/gtest.h>

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

TEST(MeasuredRun, AStepLastsFromTheEndOfTheOneBefore) {
  MeasuredRank rank = gpu_rank(0, 0);
  rank.steps = {{0, 90}, {100, 240}, {240, 250}};  // ends 150 and 10 apart
  rank.steps.push_back({250, 400});                // and 150
  const MeasuredRun run = measured_run({rank}, {0}, 1);
  EXPECT_NEAR(run.step_s, 150e-9, kExactRun_s);
  EXPECT_NEAR(run.communication_s, 150e-9 / 4, kExactRun_s);
  EXPECT_TRUE(run.timeline.spans().empty());  // nothing ran in the last step
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
