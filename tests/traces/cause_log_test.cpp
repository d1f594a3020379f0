#include "traces/timeline/cause_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forescale {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pair;

constexpr double kExactCause_s = 1e-12;

// Rank 0 computes to 1 s and calls; rank 1 computes to 3 s, after 0.5 s of its host, and calls; the
// all-reduce takes 1 s, then rank 0 computes for 2 s.
struct TwoRanks {
  TwoRanks() {
    log.add(0, 1, CauseLog::kStart, Cause::kCompute, "forward");
    const auto host = log.add(1, 0.5, CauseLog::kStart, Cause::kHost, "launch");
    const auto late = log.add(1, 3, host, Cause::kCompute, "forward");
    const auto reduced = log.add(0, 4, late, Cause::kCollective, "all-reduce fc6", 2);
    last = log.add(0, 6, reduced, Cause::kCompute, "update");
  }
  CauseLog log;
  CauseLog::Moment last;
};

TEST(CriticalPath, LeadsThroughTheRankThatTheOthersWaitedFor) {
  const TwoRanks two;
  const CriticalPath path = critical_path(two.log, two.last, 0);
  EXPECT_EQ(path.end_s, 6);
  EXPECT_THAT(path.by_cause_s,
              ElementsAre(Pair("all-reduce", DoubleNear(1, kExactCause_s)),
                          Pair("compute", DoubleNear(2.5, kExactCause_s)),
                          Pair("host", DoubleNear(0.5, kExactCause_s)),
                          Pair("straggler: rank 1", DoubleNear(2, kExactCause_s))));
  ASSERT_EQ(path.parts.size(), 5U);
  double time_s = 0;
  for (const PathPart& part : path.parts) {
    EXPECT_EQ(part.begin_s, time_s);
    time_s = part.end_s;
  }
  EXPECT_EQ(path.parts[1].rank, 1);
  EXPECT_FALSE(path.parts[1].is_straggling);
  EXPECT_TRUE(path.parts[2].is_straggling);
  EXPECT_EQ(path.works[static_cast<size_t>(path.parts[4].work)].label, "update");
}

TEST(CriticalPath, BeginsWithTheIteration) {
  const TwoRanks two;
  EXPECT_THAT(critical_path(two.log, two.last, 3.5).by_cause_s,
              ElementsAre(Pair("all-reduce", DoubleNear(0.5, kExactCause_s)),
                          Pair("compute", DoubleNear(2, kExactCause_s))));
}

TEST(CriticalPath, EndsWhereTheLogHasForgotten) {
  TwoRanks two;
  two.log.forget_before(3.5);
  EXPECT_FALSE(two.log.knows(2));
  EXPECT_TRUE(two.log.knows(3));
  const CriticalPath path = critical_path(two.log, two.last, 3.5);
  EXPECT_THAT(path.by_cause_s, ElementsAre(Pair("all-reduce", DoubleNear(0.5, kExactCause_s)),
                                           Pair("compute", DoubleNear(2, kExactCause_s))));
  EXPECT_TRUE(critical_path(two.log, CauseLog::kStart, 0).parts.empty());
}

// A collective between does not end the time that others are kept waiting.
TEST(CriticalPath, OnlyTheRanksOwnWorkIsStraggling) {
  CauseLog log;
  const auto small = log.add(1, 2, CauseLog::kStart, Cause::kCollective, "broadcast x");
  const auto own = log.add(1, 3, small, Cause::kCompute, "b");
  const auto last = log.add(0, 4, own, Cause::kCollective, "all-reduce y", 2);
  EXPECT_THAT(
      critical_path(log, last, 0).by_cause_s,
      ElementsAre(Pair("all-reduce", 1), Pair("broadcast", 2), Pair("straggler: rank 1", 1)));
}

}  // namespace
}  // namespace forescale
