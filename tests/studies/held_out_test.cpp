// Collectives beside point-to-point patterns in one measurement, made by formulas: what the fit of
// the patterns says of them.
#include "studies/execute/held_out.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;
using testing::refusal;

constexpr double kAlpha_s = 20e-6;
constexpr double kBeta_s = 1 / 60e6;  // per byte

double message_s(double bytes) { return kAlpha_s + bytes * kBeta_s; }

// As on hosts whose messages all cost alpha + beta b.
Measurement point_to_point() {
  Measurement made{.machine = "formulas", .library = "none"};
  for (const Pattern pattern : {Pattern::kPingPong, Pattern::kShift}) {
    Series series{.pattern = pattern, .ranks = pattern == Pattern::kShift ? 4 : 2};
    for (std::int64_t bytes = 1; bytes <= 1 << 22; bytes *= 2) {
      const double time_s = message_s(static_cast<double>(bytes));
      series.points.push_back({.bytes = bytes,
                               .time_s = time_s,
                               .low_s = time_s,
                               .high_s = time_s,
                               .p10_s = time_s,
                               .p90_s = time_s});
    }
    made.series.push_back(series);
  }
  return made;
}

Series all_reduce(const std::string& algorithm, int ranks, std::int64_t bytes, double time_s) {
  return {.pattern = Pattern::kCollective,
          .ranks = ranks,
          .op = "all-reduce",
          .algorithm = algorithm,
          .points = {{.bytes = bytes, .time_s = time_s}}};
}

// 2 (P - 1) steps of b / P.
double ring_s(int ranks, double bytes) { return 2 * (ranks - 1) * message_s(bytes / ranks); }

std::string held_out_refusal(const Measurement& measurement) {
  return refusal([&] { predict_held_out(measurement, "m.json", {}); });
}

TEST(HeldOut, AStatedPlanIsPredictedFromTheMessagesAlone) {
  constexpr std::int64_t kBytes = 1 << 20;
  Measurement measurement = point_to_point();
  measurement.series.push_back(all_reduce("ring", 4, kBytes, ring_s(4, kBytes)));
  const auto rows = predict_held_out(measurement, "m.json", {});
  ASSERT_EQ(rows.size(), 1U);
  ASSERT_EQ(rows[0].plans.size(), 1U);
  EXPECT_EQ(rows[0].plans[0].algorithm, "ring");
  EXPECT_NEAR(rows[0].error(rows[0].fastest()), 0, 0.02);
  EXPECT_LE(rows[0].fastest().time.low_s, rows[0].fastest().time.time_s);
  EXPECT_GE(rows[0].fastest().time.high_s, rows[0].fastest().time.time_s);
}

TEST(HeldOut, WithoutAStatedPlanTheNearestIsFoundAndTheFastestKept) {
  constexpr std::int64_t kBytes = 4 << 20;
  Measurement measurement = point_to_point();
  measurement.series.push_back(all_reduce("", 8, kBytes, ring_s(8, kBytes)));
  // Three exchanges of everything: what nobody does with large messages.
  measurement.series.push_back(all_reduce("library's own", 8, kBytes, 3 * message_s(kBytes)));
  const auto rows = predict_held_out(measurement, "m.json", {});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_GT(rows[0].plans.size(), 3U);
  EXPECT_NEAR(rows[0].error(rows[0].nearest()), 0, 0.02);
  EXPECT_EQ(rows[1].nearest().algorithm, "recursive-doubling");
  EXPECT_NEAR(rows[1].error(rows[1].nearest()), 0, 0.02);
  EXPECT_LT(rows[1].fastest().time.time_s, rows[1].nearest().time.time_s);
}

// Four ranks of a host share its link: exchanges across carry four times as much through it.
TEST(HeldOut, RanksOfOneHostShareItsLink) {
  constexpr std::int64_t kBytes = 4 << 20;
  Measurement measurement = point_to_point();
  Series shared = all_reduce("recursive-doubling", 8, kBytes, 1);
  shared.ranks_per_host = 4;
  measurement.series.push_back(shared);
  const auto rows = predict_held_out(measurement, "m.json", {});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].ranks_per_host, 4);
  // One of three rounds crosses; the two inside pass 10 GB/s, assumed.
  const double across_s = kAlpha_s + 4 * kBytes * kBeta_s;
  EXPECT_NEAR(rows[0].fastest().time.time_s, across_s, 0.05 * across_s);
}

TEST(HeldOut, NeedsACollective) {
  EXPECT_THAT(held_out_refusal(point_to_point()), HasSubstr("m.json:/series"));
  EXPECT_THAT(held_out_refusal(point_to_point()), HasSubstr("must hold a collective"));
  Measurement odd = point_to_point();
  odd.series.push_back(all_reduce("", 4, 6, 1e-4));  // no whole elements
  EXPECT_THAT(held_out_refusal(odd), HasSubstr("must hold a collective"));
}

}  // namespace
}  // namespace forescale
