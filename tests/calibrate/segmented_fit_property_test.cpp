// Synthetic points with known lines: how often a fit finds the right number of segments, and how
// often its 95 % intervals contain the truth.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>
#include <random>

#include "calibrate/fit/segment_search.hpp"
#include "calibrate/fit/segmented_fit.hpp"

namespace forescale {
namespace {

struct Synthetic {
  std::vector<Line> lines = {};
  int sizes = 12;
  int first_of_second = 0;     // index of the first size on the second line
  double largest_bytes = 1e8;  // sizes are spread evenly in the logarithm
  double noise = 0.02;         // standard deviation of the log
  double outlier_share = 0;    // of the points, 3 to 10 times too slow
};

// The same seed gives the same points.
std::vector<MeasuredPoint> draw(const Synthetic& synthetic, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> gaussian;
  std::uniform_real_distribution<double> uniform;
  std::vector<MeasuredPoint> points;
  const double factor = std::pow(synthetic.largest_bytes, 1.0 / (synthetic.sizes - 1));
  for (int i = 0; i < synthetic.sizes; ++i) {
    std::int64_t bytes = std::llround(std::pow(factor, i));
    if (!points.empty()) bytes = std::max(bytes, points.back().bytes + 1);
    const bool second = synthetic.lines.size() > 1 && i >= synthetic.first_of_second;
    const double time_s = synthetic.lines[second ? 1 : 0].time_s(static_cast<double>(bytes));
    points.push_back(
        {.bytes = bytes, .time_s = time_s * std::exp(synthetic.noise * gaussian(random))});
  }
  if (synthetic.outlier_share > 0) {
    std::vector<std::size_t> order(points.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    order.resize(static_cast<std::size_t>(
        std::max(1L, std::lround(synthetic.outlier_share * synthetic.sizes))));
    for (const std::size_t i : order) points[i].time_s *= 3 + 7 * uniform(random);
  }
  return points;
}

std::size_t segments_found(const Synthetic& synthetic, std::uint64_t seed) {
  std::vector<RelativePoint> points;
  for (const MeasuredPoint& point : draw(synthetic, seed))
    points.push_back({.bytes = static_cast<double>(point.bytes), .time_s = point.time_s});
  return search_segments(points, {}).ends.size();
}

double share_with(std::size_t segments, const Synthetic& synthetic, int seeds) {
  int right = 0;
  for (int seed = 0; seed < seeds; ++seed)
    right += segments_found(synthetic, static_cast<std::uint64_t>(seed)) == segments ? 1 : 0;
  return static_cast<double>(right) / seeds;
}

constexpr Line kLine{50e-6, 1 / 60e6};
constexpr double kMi = 1 << 20;

TEST(SegmentedFitProperty, OneLineHasNoBreakpoint) {
  // Of 1000 seeds each: 0.5 to 2.9 % false breakpoints for 6 to 30 sizes.
  for (const int sizes : {6, 8, 12, 16, 25}) {
    const Synthetic one{
        .lines = {kLine}, .sizes = sizes, .largest_bytes = 256 * kMi, .noise = 0.03};
    EXPECT_GE(share_with(1, one, 200), 0.95) << sizes;
  }
}

TEST(SegmentedFitProperty, JumpsAreFound) {
  // 1 B, 2 B .. 256 MiB. Of 1000 seeds: one line in 0.4 % at most, two in 96 %.
  Synthetic two{.sizes = 29, .largest_bytes = 256 * kMi, .noise = 0.03};
  two.lines = {kLine, {1.3 * kLine.alpha_s, kLine.beta_s_per_byte}};
  two.first_of_second = 10;
  EXPECT_GE(share_with(2, two, 100), 0.9);
  two.lines = {kLine, {kLine.alpha_s, 1.2 * kLine.beta_s_per_byte}};
  two.first_of_second = 19;
  EXPECT_GE(share_with(2, two, 100), 0.9);
}

struct CoverageCase {
  int segments;
  int sizes;
  double noise;
  double found_at_least;  // share of fits with the right number of segments
};

void PrintTo(const CoverageCase& c, std::ostream* out) {
  *out << c.segments << " segments, " << c.sizes << " sizes, noise " << c.noise;
}

double upper_median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class SegmentedFitCoverage : public ::testing::TestWithParam<CoverageCase> {};

// Of fits that found the right number of segments: in 24 cases like these, 400 seeds each, 92 to
// 98 % of the intervals held the truth.
TEST_P(SegmentedFitCoverage, IntervalsHoldTheTruth) {
  const CoverageCase c = GetParam();
  Synthetic synthetic{.lines = {kLine},
                      .sizes = c.sizes,
                      .largest_bytes = 256 * kMi,
                      .noise = c.noise,
                      .outlier_share = 0.1};
  if (c.segments == 2) {
    synthetic.lines.push_back({150e-6, 1 / 90e6});
    synthetic.first_of_second = c.sizes / 2;
    synthetic.largest_bytes = 16 * kMi;
  }
  constexpr int kSeeds = 200;
  const std::size_t count = synthetic.lines.size();
  std::vector<std::vector<double>> alpha(count);
  std::vector<std::vector<double>> beta(count);
  std::vector<int> alpha_held(count, 0);
  std::vector<int> beta_held(count, 0);
  int found = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const SegmentedFit fit = fit_segments(draw(synthetic, seed), "synthetic", {.seed = seed + 1});
    if (fit.segments.size() != count) continue;
    ++found;
    for (std::size_t k = 0; k < count; ++k) {
      const AlphaBeta& segment = fit.segments[k];
      const Line& truth = synthetic.lines[k];
      const auto holds = [](const Interval& interval, double value) {
        return interval.low <= value && value <= interval.high ? 1 : 0;
      };
      alpha_held[k] += holds(segment.alpha_interval_s, truth.alpha_s);
      beta_held[k] += holds(segment.beta_interval_s_per_byte, truth.beta_s_per_byte);
      alpha[k].push_back(segment.alpha_s / truth.alpha_s);
      beta[k].push_back(segment.beta_s_per_byte / truth.beta_s_per_byte);
    }
  }
  ASSERT_GE(found, c.found_at_least * kSeeds);
  for (std::size_t k = 0; k < count; ++k) {
    EXPECT_GE(alpha_held[k], 0.88 * found) << "segment " << k;
    EXPECT_LE(alpha_held[k], 0.995 * found) << "segment " << k;
    EXPECT_GE(beta_held[k], 0.88 * found) << "segment " << k;
    EXPECT_LE(beta_held[k], 0.995 * found) << "segment " << k;
    EXPECT_NEAR(upper_median(alpha[k]), 1, c.noise) << "segment " << k;
    EXPECT_NEAR(upper_median(beta[k]), 1, c.noise) << "segment " << k;
  }
}

// Six sizes on either side do not always show a breakpoint through 5 % noise and an outlier.
INSTANTIATE_TEST_SUITE_P(
    Cases, SegmentedFitCoverage,
    ::testing::Values(CoverageCase{1, 12, 0.02, 0.95}, CoverageCase{1, 12, 0.05, 0.95},
                      CoverageCase{1, 18, 0.02, 0.95}, CoverageCase{1, 18, 0.05, 0.95},
                      CoverageCase{1, 25, 0.05, 0.95}, CoverageCase{2, 12, 0.02, 0.9},
                      CoverageCase{2, 12, 0.05, 0.5}, CoverageCase{2, 18, 0.02, 0.9},
                      CoverageCase{2, 18, 0.05, 0.85}, CoverageCase{2, 25, 0.05, 0.9}));

}  // namespace
}  // namespace forescale
