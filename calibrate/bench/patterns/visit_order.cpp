#include "calibrate/bench/patterns/visit_order.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace forescale {
namespace {

// The first look ends after this part of the budget, passes over what takes more than this part of
// it for one repetition, and repeats cheap points until all together have taken that part of it.
constexpr double kLookShare = 0.5;
constexpr double kLookShareOfOne = 0.02;
constexpr double kLookShareOfRepetitions = 0.15;
constexpr int kLookRepetitions = 8;
constexpr int kRepetitionsInARow = 64;
// A repetition that takes longer warms up by itself.
constexpr double kWarmUpBelow_s = 10e-3;

}  // namespace

VisitOrder::VisitOrder(std::vector<PointSamples> points, VisitRule rule)
    : points_(std::move(points)), rule_(rule), random_(rule.seed), by_size_(points_.size()) {
  std::iota(by_size_.begin(), by_size_.end(), std::size_t{0});
  std::stable_sort(by_size_.begin(), by_size_.end(), [this](std::size_t a, std::size_t b) {
    return points_[a].bytes < points_[b].bytes;
  });
}

bool VisitOrder::is_enough(const PointSamples& point) const {
  const int samples = static_cast<int>(point.samples_s.size());
  return samples >= rule_.repetitions_max ||
         summarize(point.samples_s).is_within(rule_.relative_interval);
}

// At most proportional to the size, from the largest size of the series that was seen.
double VisitOrder::expected_cost_s(std::size_t point) const {
  const PointSamples& wanted = points_[point];
  if (wanted.cost_s > 0) return wanted.cost_s;
  const PointSamples* near = nullptr;
  for (const PointSamples& other : points_)
    if (other.series == wanted.series && other.cost_s > 0 && other.bytes <= wanted.bytes &&
        (near == nullptr || other.bytes > near->bytes))
      near = &other;
  if (near == nullptr) return 0;
  const double ratio = static_cast<double>(wanted.bytes) /
                       static_cast<double>(std::max<std::int64_t>(near->bytes, 1));
  return near->cost_s * ratio;
}

Visit VisitOrder::visit(std::size_t point, int repetitions) const {
  return {.point = point,
          .warm_up = expected_cost_s(point) < kWarmUpBelow_s ? 1 : 0,
          .repetitions = repetitions,
          .is_first = points_[point].samples_s.empty()};
}

std::optional<Visit> VisitOrder::look(double elapsed_s) {
  while (looked_ < by_size_.size()) {
    const std::size_t point = by_size_[looked_++];
    const double cost_s = expected_cost_s(point);
    if (cost_s > kLookShareOfOne * rule_.budget_s ||
        elapsed_s + cost_s > kLookShare * rule_.budget_s)
      continue;  // complete() comes back to it
    const double share_s =
        kLookShareOfRepetitions * rule_.budget_s / static_cast<double>(points_.size());
    const double times = cost_s > 0 ? share_s / cost_s : kLookRepetitions;
    return visit(point, std::clamp(static_cast<int>(times), 1, kLookRepetitions));
  }
  return std::nullopt;
}

void VisitOrder::shuffle_by_series(std::vector<std::size_t>& points) {
  std::map<std::size_t, std::vector<std::size_t>> by_series;
  for (const std::size_t point : points) by_series[points_[point].series].push_back(point);
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [series, group] : by_series) {
    std::shuffle(group.begin(), group.end(), random_);
    groups.push_back(group);
  }
  std::shuffle(groups.begin(), groups.end(), random_);
  points.clear();
  for (const auto& group : groups) points.insert(points.end(), group.begin(), group.end());
}

// One repetition of as many points as can be, then a second one, ...: each pass takes the cheapest
// points that fit into what earlier passes leave.
void VisitOrder::plan_passes(double left_s) {
  std::vector<std::size_t> by_cost(points_.size());
  std::iota(by_cost.begin(), by_cost.end(), std::size_t{0});
  std::stable_sort(by_cost.begin(), by_cost.end(), [this](std::size_t a, std::size_t b) {
    return expected_cost_s(a) < expected_cost_s(b);
  });
  for (std::size_t pass = 1; pass <= static_cast<std::size_t>(kLeast); ++pass) {
    std::vector<std::size_t> lacking;
    for (const std::size_t point : by_cost) {
      if (points_[point].samples_s.size() >= pass) continue;
      left_s -= expected_cost_s(point);
      if (left_s < 0) break;
      lacking.push_back(point);
    }
    shuffle_by_series(lacking);
    for (const std::size_t point : lacking) planned_.push_back(visit(point, 1));
  }
}

std::optional<Visit> VisitOrder::next_planned(double left_s) {
  while (!planned_.empty()) {
    Visit visit = planned_.front();
    planned_.pop_front();
    visit.is_first = points_[visit.point].samples_s.empty();
    if (left_s <= 0) continue;  // what a first repetition costs may not be known: 0
    const double cost_s = expected_cost_s(visit.point);
    if ((visit.repetitions + visit.warm_up) * cost_s > left_s)
      visit.repetitions = static_cast<int>(left_s / cost_s) - visit.warm_up;
    if (visit.repetitions >= 1) return visit;
  }
  return std::nullopt;
}

// Points that seemed too expensive for the passes, the cheapest first.
std::optional<Visit> VisitOrder::complete(double elapsed_s) {
  std::optional<std::size_t> cheapest;
  double least_s = rule_.budget_s - elapsed_s;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (points_[i].samples_s.size() >= static_cast<std::size_t>(kLeast)) continue;
    const double cost_s = expected_cost_s(i);
    if (cost_s >= least_s) continue;
    least_s = cost_s;
    cheapest = i;
  }
  if (!cheapest) return std::nullopt;
  return visit(*cheapest, 1);
}

void VisitOrder::plan_round(double left_s) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < points_.size(); ++i)
    if (!is_enough(points_[i]) && expected_cost_s(i) < left_s) open.push_back(i);
  if (open.empty()) return;
  shuffle_by_series(open);
  const double share_s = left_s / rounds_left_ / static_cast<double>(open.size());
  for (const std::size_t point : open) {
    PointSamples& samples = points_[point];
    const double cost_s = std::max(expected_cost_s(point), 1e-9);
    samples.credit_s += share_s;
    const int missing = rule_.repetitions_max - static_cast<int>(samples.samples_s.size());
    const int times = static_cast<int>(std::min(samples.credit_s / cost_s, 1e6));
    const int repetitions = std::min({times, missing, kRepetitionsInARow});
    if (repetitions < 1) continue;
    samples.credit_s -= repetitions * cost_s;
    planned_.push_back(visit(point, repetitions));
  }
  // Too little time for anybody's share: the rest goes to one of them.
  if (planned_.empty()) planned_.push_back(visit(open.front(), 1));
  rounds_left_ = std::max(1, rounds_left_ - 1);
}

std::optional<Visit> VisitOrder::refine(double elapsed_s) {
  const double left_s = rule_.budget_s - elapsed_s;
  if (left_s <= 0) return std::nullopt;
  plan_round(left_s);
  return next_planned(left_s);
}

std::optional<Visit> VisitOrder::next(double elapsed_s) {
  if (auto visit = look(elapsed_s)) return visit;
  const double left_s = rule_.budget_s - elapsed_s;
  if (!has_planned_passes_) plan_passes(left_s);
  has_planned_passes_ = true;
  if (auto visit = next_planned(left_s)) return visit;
  if (auto visit = complete(elapsed_s)) return visit;
  return refine(elapsed_s);
}

void VisitOrder::done(const Visit& visit, const std::vector<double>& samples_s, double wall_s) {
  PointSamples& point = points_[visit.point];
  point.samples_s.insert(point.samples_s.end(), samples_s.begin(), samples_s.end());
  point.cost_s = wall_s / std::max(1, visit.repetitions + visit.warm_up);
}

}  // namespace forescale
