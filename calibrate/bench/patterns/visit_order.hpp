// Which point is measured next, and how often, so that a time budget is shared fairly and drift of
// the machine is not taken for an effect of size.
//
// 1. A first look at everything that is cheap, by growing size: what a repetition costs.
// 2. Passes that bring each point to kLeast repetitions, one repetition a pass, in random order;
//    where the budget does not reach, the most expensive points are those that lack.
// 3. Rounds over all points whose median is not yet known well enough, in random order: each point
//    gets the same share of the time that is left, and what it could not use because one
//    repetition costs more is kept for the next round.
// Random order is of the series, and of the sizes within: clocks are compared anew for a series.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <vector>

#include "calibrate/bench/patterns/sample_summary.hpp"

namespace forescale {

// One point of one series.
struct PointSamples {
  std::size_t series = 0;
  std::size_t size = 0;  // its place among the sizes of the series
  std::int64_t bytes = 0;
  std::vector<double> samples_s = {};
  double cost_s = 0;  // of one repetition with all that belongs to it; 0: unknown
  double credit_s = 0;
};

struct Visit {
  std::size_t point = 0;
  int warm_up = 0;  // repetitions that do not count
  int repetitions = 0;
  bool is_first = false;
};

struct VisitRule {
  double budget_s = 30;
  double relative_interval = 0.03;  // half width of the median's 95 % interval that is enough
  int repetitions_max = 100;
  std::uint64_t seed = 1;
};

class VisitOrder {
 public:
  static constexpr int kLeast = 3;

  VisitOrder(std::vector<PointSamples> points, VisitRule rule);

  // Nothing: all is known, or the rest would exceed the budget.
  std::optional<Visit> next(double elapsed_s);
  void done(const Visit& visit, const std::vector<double>& samples_s, double wall_s);

  const std::vector<PointSamples>& points() const { return points_; }
  bool is_enough(const PointSamples& point) const;

 private:
  double expected_cost_s(std::size_t point) const;
  std::optional<Visit> look(double elapsed_s);
  std::optional<Visit> complete(double elapsed_s);
  std::optional<Visit> refine(double elapsed_s);
  void plan_passes(double left_s);
  void plan_round(double left_s);
  std::optional<Visit> next_planned(double left_s);
  void shuffle_by_series(std::vector<std::size_t>& points);
  Visit visit(std::size_t point, int repetitions) const;

  std::vector<PointSamples> points_;
  VisitRule rule_;
  std::mt19937_64 random_;
  std::vector<std::size_t> by_size_;
  std::size_t looked_ = 0;  // of by_size_
  std::deque<Visit> planned_;
  bool has_planned_passes_ = false;
  int rounds_left_ = 3;
};

}  // namespace forescale
