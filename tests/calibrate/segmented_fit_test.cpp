#include "calibrate/fit/segmented_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "calibrate/fit/bootstrap.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::refusal;

// 1, factor, factor^2 .. up to `largest`.
std::vector<std::int64_t> sizes_up_to(std::int64_t largest, std::int64_t factor = 2) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = 1; bytes <= largest; bytes *= factor) sizes.push_back(bytes);
  return sizes;
}

std::vector<MeasuredPoint> timed(const std::vector<std::int64_t>& sizes,
                                 const std::function<double(double)>& time_s) {
  std::vector<MeasuredPoint> points;
  for (const std::int64_t bytes : sizes)
    points.push_back({.bytes = bytes, .time_s = time_s(static_cast<double>(bytes))});
  return points;
}

constexpr double kAlpha_s = 50e-6;
constexpr double kBeta_s_per_byte = 1 / 60e6;
constexpr std::int64_t kKi = 1024;

double line_s(double bytes) { return kAlpha_s + kBeta_s_per_byte * bytes; }

TEST(SegmentedFit, ExactLineIsFound) {
  const SegmentedFit fit = fit_segments(timed(sizes_up_to(256 * kKi * kKi), line_s), "exact");
  ASSERT_EQ(fit.segments.size(), 1U);
  EXPECT_EQ(fit.segments[0].up_to_bytes, 256 * kKi * kKi);
  EXPECT_NEAR(fit.segments[0].alpha_s, kAlpha_s, 1e-9 * kAlpha_s);
  EXPECT_NEAR(fit.segments[0].beta_s_per_byte, kBeta_s_per_byte, 1e-9 * kBeta_s_per_byte);
  EXPECT_NEAR(fit.segments[0].alpha_interval_s.low, kAlpha_s, 1e-8 * kAlpha_s);
  EXPECT_NEAR(fit.segments[0].alpha_interval_s.high, kAlpha_s, 1e-8 * kAlpha_s);
  EXPECT_NEAR(fit.ratio.low, 1, 1e-8);
  EXPECT_NEAR(fit.ratio.high, 1, 1e-8);
  EXPECT_NEAR(fit.time_s(3e6), line_s(3e6), 1e-9 * line_s(3e6));
  EXPECT_NEAR(fit.time_s(1e9), line_s(1e9), 1e-9 * line_s(1e9));  // the last segment goes on
  EXPECT_THAT(fit.outliers, IsEmpty());
  EXPECT_THAT(fit.warnings, IsEmpty());
}

TEST(SegmentedFit, NothingIsAlphaAlone) {
  std::vector<std::int64_t> sizes = sizes_up_to(kKi * kKi);
  sizes.insert(sizes.begin(), 0);
  const SegmentedFit fit = fit_segments(timed(sizes, line_s), "with 0 bytes");
  ASSERT_EQ(fit.segments.size(), 1U);
  EXPECT_NEAR(fit.time_s(0), kAlpha_s, 1e-9 * kAlpha_s);
}

// Eager up to 4 KiB, then a handshake and a faster copy.
double two_lines_s(double bytes) {
  return bytes <= 4 * kKi ? line_s(bytes) : 150e-6 + bytes / 90e6;
}

TEST(SegmentedFit, ExactBreakpointIsFound) {
  const SegmentedFit fit = fit_segments(timed(sizes_up_to(16 * kKi * kKi), two_lines_s), "exact");
  ASSERT_EQ(fit.segments.size(), 2U);
  EXPECT_EQ(fit.segments[0].up_to_bytes, 4 * kKi);
  EXPECT_NEAR(fit.segments[0].alpha_s, kAlpha_s, 1e-9 * kAlpha_s);
  EXPECT_NEAR(fit.segments[0].beta_s_per_byte, kBeta_s_per_byte, 1e-9 * kBeta_s_per_byte);
  EXPECT_NEAR(fit.segments[1].alpha_s, 150e-6, 1e-9 * 150e-6);
  EXPECT_NEAR(fit.segments[1].beta_s_per_byte, 1 / 90e6, 1e-9 / 90e6);
  // 4096 bytes belong to the first segment, one more to the second.
  EXPECT_NEAR(fit.time_s(4096), line_s(4096), 1e-9 * line_s(4096));
  EXPECT_NEAR(fit.time_s(4097), 150e-6 + 4097 / 90e6, 1e-9);
}

TEST(SegmentedFit, GivenBreakpointsAreKept) {
  SegmentedFitOptions options{.breakpoints = {65000, 3}};
  // 1, 2 | 4 .. 32768 | 65536 ..: the first segment has but two sizes.
  const SegmentedFit fit = fit_segments(timed(sizes_up_to(kKi * kKi), line_s), "given", options);
  ASSERT_EQ(fit.segments.size(), 3U);
  EXPECT_EQ(fit.segments[0].up_to_bytes, 3);
  EXPECT_EQ(fit.segments[1].up_to_bytes, 65000);
  EXPECT_NEAR(fit.segments[1].beta_s_per_byte, kBeta_s_per_byte, 1e-9 * kBeta_s_per_byte);
  EXPECT_THAT(fit.warnings, Contains(HasSubstr("rests on 2 sizes")));
  options.breakpoints = {2 * kKi * kKi};
  const SegmentedFit unused = fit_segments(timed(sizes_up_to(kKi * kKi), line_s), "g", options);
  EXPECT_EQ(unused.segments.size(), 1U);
  EXPECT_THAT(unused.warnings, Contains(HasSubstr("breakpoint at 2097152 bytes not used")));
}

TEST(SegmentedFit, OutliersAreLeftOut) {
  std::vector<MeasuredPoint> points = timed(sizes_up_to(256 * kKi * kKi), line_s);
  points.front().time_s *= 8;  // at both ends, where one point has most leverage
  points.back().time_s *= 3;
  points[14].time_s /= 2;
  const SegmentedFit fit = fit_segments(points, "outliers");
  ASSERT_EQ(fit.segments.size(), 1U);
  EXPECT_NEAR(fit.segments[0].alpha_s, kAlpha_s, 1e-9 * kAlpha_s);
  EXPECT_NEAR(fit.segments[0].beta_s_per_byte, kBeta_s_per_byte, 1e-9 * kBeta_s_per_byte);
  EXPECT_THAT(fit.outliers, ElementsAre(1, 16 * kKi, 256 * kKi * kKi));
  // 29 sizes: 10 of below 1 KiB, 6 up to 32 KiB, 5 up to 1 MiB, 8 above.
  ASSERT_EQ(fit.residuals.size(), 4U);
  EXPECT_EQ(fit.residuals[0].points, 10);
  EXPECT_EQ(fit.residuals[1].points, 6);
  EXPECT_EQ(fit.residuals[2].points, 5);
  EXPECT_EQ(fit.residuals[3].points, 8);
  EXPECT_NEAR(fit.residuals[0].worst, 8 - 1, 1e-8);
  EXPECT_NEAR(fit.residuals[1].worst, 0.5 - 1, 1e-8);
  EXPECT_NEAR(fit.residuals[2].worst, 0, 1e-8);
  EXPECT_NEAR(fit.residuals[3].worst, 3 - 1, 1e-8);
  EXPECT_NEAR(fit.residuals[3].median_abs, 0, 1e-8);
}

TEST(SegmentedFit, NoisySizesWeighLess) {
  // Three sizes 6 % too slow, all others 2 % off to either side.
  std::vector<MeasuredPoint> points = timed(sizes_up_to(4 * kKi * kKi, 4), line_s);
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i].time_s *= i < 3 ? 1.06 : i % 2 == 0 ? 1.02 : 0.98;
  const auto alpha_error = [&] {
    const SegmentedFit fit = fit_segments(points, "noisy", {.segments_max = 1});
    return std::abs(fit.segments[0].alpha_s / kAlpha_s - 1);
  };
  const double trusting = alpha_error();
  for (std::size_t i = 0; i < 3; ++i) {
    points[i].low_s = points[i].time_s * 0.8;
    points[i].high_s = points[i].time_s * 1.2;
  }
  EXPECT_LT(alpha_error(), 0.5 * trusting);
}

TEST(SegmentedFit, OwnIntervalsWidenThoseOfTheLine) {
  std::vector<MeasuredPoint> points = timed(sizes_up_to(kKi * kKi, 4), line_s);
  for (MeasuredPoint& point : points) {
    point.low_s = point.time_s * 0.9;
    point.high_s = point.time_s * 1.1;
  }
  const Interval alpha = fit_segments(points, "own").segments[0].alpha_interval_s;
  // 11 points of 5.1 % each, most of which show alpha: about 2.26 * 5.1 % / sqrt(7).
  EXPECT_GT(alpha.high, 1.03 * kAlpha_s);
  EXPECT_LT(alpha.high, 1.06 * kAlpha_s);
  EXPECT_LT(alpha.low, 0.97 * kAlpha_s);
}

TEST(SegmentedFit, RatioContainsTheRepetitions) {
  std::vector<MeasuredPoint> points = timed(sizes_up_to(kKi * kKi), line_s);
  for (MeasuredPoint& point : points) {
    point.p10_s = point.time_s / 1.1;
    point.p90_s = point.time_s * 1.3;
    point.samples = 1000;
  }
  const SegmentedFit fit = fit_segments(points, "spread");
  // Log-normal on either side: 97.5 % are at 1.96 / 1.2816 times the log of the 90 % point.
  EXPECT_NEAR(fit.ratio.high, std::pow(1.3, 1.96 / 1.2816), 0.03);
  EXPECT_NEAR(fit.ratio.low, std::pow(1 / 1.1, 1.96 / 1.2816), 0.01);
}

TEST(SegmentedFit, NeverFallsWithSize) {
  // Above 32 KiB everything is 30 % faster than the first line says.
  const auto fall_s = [](double bytes) { return line_s(bytes) * (bytes <= 32 * kKi ? 1 : 0.7); };
  const SegmentedFit fit = fit_segments(timed(sizes_up_to(16 * kKi * kKi), fall_s), "falls");
  ASSERT_GE(fit.segments.size(), 2U);
  EXPECT_THAT(fit.warnings, Contains(HasSubstr("measured times fall by 30 % above 32768 bytes")));
  double before_s = 0;
  for (std::int64_t bytes = 1; bytes < 64 * kKi; ++bytes) {
    const double now_s = fit.time_s(static_cast<double>(bytes));
    ASSERT_GE(now_s, before_s) << bytes;
    before_s = now_s;
  }
  for (const AlphaBeta& segment : fit.segments) {
    EXPECT_LE(segment.alpha_interval_s.low, segment.alpha_s);
    EXPECT_GE(segment.alpha_interval_s.high, segment.alpha_s);
    EXPECT_LE(segment.beta_interval_s_per_byte.low, segment.beta_s_per_byte);
    EXPECT_GE(segment.beta_interval_s_per_byte.high, segment.beta_s_per_byte);
  }
}

TEST(SegmentedFit, NonsenseStaysFinite) {
  // An empty message far slower than others, which a line through 0 would fit best.
  const std::vector<MeasuredPoint> points = {
      {.bytes = 0, .time_s = 61e-6}, {.bytes = 1, .time_s = 2.4e-6}, {.bytes = 4, .time_s = 10e-6}};
  const SegmentedFit fit = fit_segments(points, "nonsense");
  for (const double value :
       {fit.segments[0].alpha_interval_s.high, fit.segments[0].beta_interval_s_per_byte.high,
        fit.ratio.low, fit.ratio.high}) {
    EXPECT_TRUE(std::isfinite(value));
  }
  EXPECT_GT(fit.time_s(4), 0);
}

TEST(SegmentedFit, UndeterminedBetaSaysSo) {
  // 1 .. 16 bytes: beta is at most 16 / 60e6 / 50e-6 = 0.5 % of the time, the noise 1 %.
  std::vector<MeasuredPoint> points = timed(sizes_up_to(16), line_s);
  const std::vector<double> noise = {1.01, 0.99, 1.0, 1.01, 0.99};
  for (std::size_t i = 0; i < points.size(); ++i) points[i].time_s *= noise[i];
  const SegmentedFit fit = fit_segments(points, "tiny");
  EXPECT_EQ(fit.segments[0].beta_interval_s_per_byte.low, 0);
  EXPECT_GT(fit.segments[0].beta_interval_s_per_byte.high, kBeta_s_per_byte);
  EXPECT_THAT(fit.warnings, Contains(HasSubstr("beta is not determined up to 16 bytes")));
  EXPECT_THAT(fit.warnings, Contains(HasSubstr("5 sizes: too few to look for a breakpoint")));
}

TEST(SegmentedFit, WarnsOfTailsAndGaps) {
  std::vector<MeasuredPoint> points = timed(sizes_up_to(kKi * kKi), line_s);
  points[3].p10_s = points[3].time_s / 1.5;
  points[3].p90_s = points[3].time_s * 2;
  points.erase(points.begin() + 5, points.begin() + 9);  // 16, then 512 bytes
  const SegmentedFit fit = fit_segments(points, "tails");
  EXPECT_THAT(fit.warnings, ElementsAre("heavy tails at 1 of 17 sizes: p90/p10 up to 3 (8 bytes)",
                                        "no size between 16 and 512 bytes, a factor of 32"));
  for (const std::size_t i : {2U, 7U, 12U}) points[i].time_s *= 5;
  const SegmentedFit worse = fit_segments(points, "tails");
  EXPECT_THAT(worse.warnings, Contains("heavy tails: 3 of 17 sizes are outliers"));
}

TEST(SegmentedFit, SameSeedSameBytes) {
  std::vector<MeasuredPoint> points = timed(sizes_up_to(kKi * kKi), line_s);
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i].time_s *= 1 + 0.03 * std::sin(static_cast<double>(i * i));
  const Interval a = fit_segments(points, "s", {.seed = 4}).segments[0].alpha_interval_s;
  const Interval b = fit_segments(points, "s", {.seed = 4}).segments[0].alpha_interval_s;
  const Interval c = fit_segments(points, "s", {.seed = 5}).segments[0].alpha_interval_s;
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_NEAR(c.high, a.high, 0.02 * a.high);
}

TEST(SegmentedFit, Refuses) {
  const auto fit = [](std::vector<MeasuredPoint> points, const SegmentedFitOptions& options = {}) {
    return refusal([&] { fit_segments(points, "m.json", options); });
  };
  const std::vector<MeasuredPoint> good = timed({1, 2, 4, 8}, line_s);
  EXPECT_EQ(fit({}), "m.json:/points = 0 sizes: a fit needs at least 3 sizes");
  EXPECT_EQ(fit(timed({1, 100}, line_s)), "m.json:/points = 2 sizes: a fit needs at least 3 sizes");
  EXPECT_THAT(fit(timed({100, 200, 399}, line_s)),
              HasSubstr("m.json:/points = 100 .. 399 bytes: the largest size must be at least 4"));
  EXPECT_EQ(fit(timed({100, 200, 400}, line_s)), "accepted");
  EXPECT_EQ(fit(timed({1, 8, 8}, line_s)),
            "m.json:/points/2/bytes = 8: must be above the size before it, 8");
  EXPECT_EQ(fit(timed({-1, 8, 9}, line_s)), "m.json:/points/0/bytes = -1: must be >= 0");
  for (const double bad : {0.0, -1e-6, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    std::vector<MeasuredPoint> points = good;
    points[2].time_s = bad;
    EXPECT_THAT(fit(points), HasSubstr("m.json:/points/2/time_s = ")) << bad;
    EXPECT_THAT(fit(points), HasSubstr("must be a positive time")) << bad;
  }
  EXPECT_EQ(fit(good, {.segments_max = 0}), "m.json:segments_max = 0: must be >= 1");
  EXPECT_THAT(fit(good, {.bootstrap_samples = 10}), HasSubstr("bootstrap_samples = 10"));
  EXPECT_EQ(fit(good, {.breakpoints = {-5}}), "m.json:breakpoint = -5: must be >= 0");
}

TEST(Student, KnownQuantiles) {
  EXPECT_NEAR(student_95(1), 12.706, 0.001);
  EXPECT_NEAR(student_95(2), 4.303, 0.001);
  EXPECT_NEAR(student_95(4), 2.776, 0.01);
  EXPECT_NEAR(student_95(10), 2.228, 0.001);
  EXPECT_NEAR(student_95(1e9), 1.960, 0.001);
}

}  // namespace
}  // namespace forescale
