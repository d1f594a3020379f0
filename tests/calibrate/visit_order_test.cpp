// The order of a measurement, with costs instead of a network.
#include "calibrate/bench/patterns/visit_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace forescale {
namespace {

constexpr int kSeries = 3;
constexpr int kSizes = 6;

// 1 ms, 2 ms, ... 32 ms by size, in every series.
std::vector<PointSamples> points() {
  std::vector<PointSamples> all;
  for (std::size_t series = 0; series < kSeries; ++series)
    for (std::size_t size = 0; size < kSizes; ++size)
      all.push_back({.series = series, .size = size, .bytes = std::int64_t{1024} << size});
  return all;
}
double cost_s(const PointSamples& point) { return 1e-3 * static_cast<double>(1 << point.size); }
constexpr double kOnce_s = kSeries * 63e-3;  // one repetition of everything

struct Measured {
  VisitOrder order;
  double elapsed_s = 0;
  std::vector<std::size_t> visited;

  int least() const {
    std::size_t samples = 1 << 20;
    for (const PointSamples& point : order.points())
      samples = std::min(samples, point.samples_s.size());
    return static_cast<int>(samples);
  }
};

// `sample_s` of a point's n-th repetition.
Measured visit_all(VisitRule rule,
                   const std::function<double(const PointSamples&, std::size_t)>& sample_s) {
  Measured run{.order = VisitOrder(points(), rule), .visited = {}};
  while (const auto visit = run.order.next(run.elapsed_s)) {
    if (run.visited.size() > 100000) throw std::runtime_error("the order does not end");
    const PointSamples& point = run.order.points()[visit->point];
    EXPECT_EQ(visit->is_first, point.samples_s.empty());
    std::vector<double> samples_s;
    for (int i = 0; i < visit->repetitions; ++i)
      samples_s.push_back(sample_s(point, point.samples_s.size() + samples_s.size()));
    const double wall_s = (visit->repetitions + visit->warm_up) * cost_s(point);
    run.elapsed_s += wall_s;
    run.visited.push_back(visit->point);
    run.order.done(*visit, samples_s, wall_s);
  }
  return run;
}

double steady(const PointSamples& point, std::size_t /*repetition*/) { return cost_s(point); }
// Never within 3 %: 20 % apart.
double restless(const PointSamples& point, std::size_t repetition) {
  return cost_s(point) * (repetition % 2 == 0 ? 1.0 : 1.2);
}

TEST(VisitOrder, SteadyPointsAreKnownLongBeforeTheBudgetEnds) {
  const Measured run = visit_all({.budget_s = 60}, steady);
  EXPECT_GE(run.least(), 6);
  for (const PointSamples& point : run.order.points()) EXPECT_TRUE(run.order.is_enough(point));
  EXPECT_LT(run.elapsed_s, 30);
}

TEST(VisitOrder, RestlessPointsUseTheBudgetAndNoMore) {
  constexpr double kBudget_s = 20 * kOnce_s;
  const Measured run = visit_all({.budget_s = kBudget_s, .repetitions_max = 100000}, restless);
  EXPECT_LE(run.elapsed_s, kBudget_s + 32e-3);
  EXPECT_GE(run.elapsed_s, 0.9 * kBudget_s);
  EXPECT_GE(run.least(), VisitOrder::kLeast);
}

TEST(VisitOrder, NobodyIsRepeatedMoreThanAsked) {
  const Measured run = visit_all({.budget_s = 1e6, .repetitions_max = 10}, restless);
  for (const PointSamples& point : run.order.points()) EXPECT_EQ(point.samples_s.size(), 10U);
}

// Not even time for one repetition of everything: small sizes have theirs, of the largest some
// lack.
TEST(VisitOrder, WhereTheBudgetIsShortTheExpensivePointsLack) {
  constexpr double kBudget_s = 0.8 * kOnce_s;
  const Measured run = visit_all({.budget_s = kBudget_s}, restless);
  EXPECT_LE(run.elapsed_s, kBudget_s + 32e-3);
  int lacking = 0;
  for (const PointSamples& point : run.order.points()) {
    if (point.size <= 2) {
      EXPECT_GE(point.samples_s.size(), 1U) << "size " << point.size;
    }
    if (point.size == kSizes - 1 && point.samples_s.empty()) ++lacking;
  }
  EXPECT_GT(lacking, 0);
}

// Drift would look like an effect of size if sizes came in their order.
TEST(VisitOrder, PassesComeInAnOrderThatTheSeedDecides) {
  const VisitRule rule{.budget_s = 20 * kOnce_s, .repetitions_max = 100000};
  const Measured run = visit_all(rule, restless);
  EXPECT_EQ(visit_all(rule, restless).visited, run.visited);
  VisitRule other = rule;
  other.seed = 2;
  EXPECT_NE(visit_all(other, restless).visited, run.visited);
  std::vector<std::size_t> late(run.visited.end() - kSeries * kSizes, run.visited.end());
  EXPECT_FALSE(std::is_sorted(late.begin(), late.end()));
}

// What was never measured has no cost yet: nothing may be divided by it.
TEST(VisitOrder, ABudgetThatEndsBetweenTwoVisitsEndsTheMeasurement) {
  VisitOrder order(points(), {.budget_s = 1});
  const auto first = order.next(0.6);  // too late for a look: every point is planned unseen
  ASSERT_TRUE(first);
  EXPECT_EQ(first->repetitions, 1);
  order.done(*first, {0.9}, 0.9);
  EXPECT_FALSE(order.next(1.5));
}

}  // namespace
}  // namespace forescale
