// A timeline's summary: where one rank's time goes, by precedence, adding up to the whole.
#include "traces/timeline/timeline.hpp"

#include <gtest/gtest.h>

namespace forescale {
namespace {

Span unlabelled_span(int rank, Track track, double begin_s, double end_s) {
  return {.rank = rank, .track = track, .label = 0, .begin_s = begin_s, .end_s = end_s};
}

void expect_parts(const Timeline& timeline, double end_s,
                  const std::map<std::string, double>& expected_s) {
  const auto parts_s = breakdown(timeline, 0, end_s);
  double sum_s = 0;
  for (const auto& [name, part_s] : parts_s) {
    ASSERT_EQ(expected_s.count(name), 1u) << name;
    EXPECT_NEAR(part_s, expected_s.at(name), 1e-12) << name;
    sum_s += part_s;
  }
  EXPECT_EQ(parts_s.size(), expected_s.size());
  EXPECT_NEAR(sum_s, end_s, 1e-12);
}

TEST(Breakdown, OfNothingIsWaiting) {
  expect_parts(Timeline(), 3, {{"reducing", 0}, {"copying", 0}, {"moving", 0}, {"waiting", 3}});
}

// 0 1 2 3 4 5 6 7 8: send 1-4, receive 3-6, copy 5-7, reduction 2-3.
TEST(Breakdown, CountsTimeOnceByPrecedence) {
  Timeline timeline;
  timeline.add(unlabelled_span(0, Track::kSend, 1, 4));
  timeline.add(unlabelled_span(0, Track::kReceive, 3, 6));
  timeline.add(unlabelled_span(0, Track::kCopy, 5, 7));
  timeline.add(unlabelled_span(0, Track::kReduction, 2, 3));
  timeline.add(unlabelled_span(1, Track::kReduction, 0, 8));   // another rank
  timeline.add(unlabelled_span(0, Track::kMainThread, 0, 8));  // waits count as waiting
  expect_parts(
      timeline, 8,
      {{"reducing", 1}, {"copying", 2}, {"moving", (2 - 1) + (5 - 3)}, {"waiting", 1 + 1}});
}

TEST(Breakdown, SpansThatTouchAreNotCountedTwice) {
  Timeline timeline;
  for (int i = 0; i < 4; ++i) timeline.add(unlabelled_span(0, Track::kSend, i, i + 1));
  expect_parts(timeline, 4, {{"reducing", 0}, {"copying", 0}, {"moving", 4}, {"waiting", 0}});
}

}  // namespace
}  // namespace forescale
