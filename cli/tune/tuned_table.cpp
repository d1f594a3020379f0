#include "cli/tune/tuned_table.hpp"

#include <fmt/format.h>

#include "base/units.hpp"
#include "cli/text.hpp"
#include "studies/tune/tune_alternatives.hpp"

namespace forescale {
namespace {

std::string over(const TunedChoice& choice, const TunedPlan& other) {
  const bool is_tie = other.plan != choice.best.plan && choice.margin(other) != 0;
  return fmt::format("{:+.1f} %{}", 100 * choice.margin(other),
                     is_tie && choice.is_tie(other) ? " tie" : "");
}

// With the name of the library's own choice.
std::string plan_cell(const TunedPoint& point, const TunedPlan& plan) {
  return plan.plan == kOwnChoice && !point.own.empty()
             ? fmt::format("{}: {}", kOwnChoice, point.own)
             : plan.plan;
}

std::string ends_text(const TimeRange& time) {
  return time.low_s == time.high_s
             ? ""
             : fmt::format("{} .. {}", to_text(Seconds{time.low_s}), to_text(Seconds{time.high_s}));
}

}  // namespace

void print_tuned_points(const std::vector<TunedPoint>& points, bool is_offered) {
  std::vector<std::string> heads{"ranks", "size",    "<best",           "time",   "range",
                                 "<next", "over it", "stack's default", "over it"};
  if (is_offered) heads.insert(heads.end(), {"<best offered", "lost"});
  Table table(heads);
  for (const TunedPoint& point : points) {
    const TunedChoice& known = point.known;
    std::vector<std::string> cells{
        std::to_string(point.question.ranks),
        to_text(Bytes{point.question.bytes}),
        plan_cell(point, known.best),
        to_text(Seconds{known.best.time.time_s}),
        ends_text(known.best.time),
        known.next ? plan_cell(point, *known.next) : "-",
        known.next ? over(known, *known.next) : "-",
        point.stack_default ? to_text(Seconds{point.stack_default->time.time_s}) : "-",
        point.stack_default ? over(known, *point.stack_default) : "-"};
    if (is_offered) {
      cells.push_back(point.offered ? point.offered->best.plan : "-");
      cells.push_back(point.offered ? over(known, point.offered->best) : "-");
    }
    table.add(cells);
  }
  fmt::print("{}", table.text());
}

void print_tuned_regions(const std::vector<TunedRegion>& regions, const std::string& title) {
  Table table({"ranks", "from", "up to", fmt::format("<{}", title), "slower than the best by"});
  for (const TunedRegion& region : regions)
    table.add({std::to_string(region.ranks), to_text(Bytes{region.from_bytes}),
               to_text(Bytes{region.to_bytes}), region.plan,
               fmt::format("{:.1f} %", 100 * region.loss_max)});
  fmt::print("\n{}", table.text());
}

void print_tuned_csv(const std::vector<TunedPoint>& points) {
  fmt::print(
      "{}", csv_line({"op", "ranks", "bytes", "best", "time_s", "low_s", "high_s", "next", "next_s",
                      "default_s", "offered", "offered_s", "candidates", "simulated"}));
  for (const TunedPoint& point : points) {
    const auto seconds = [](const std::optional<TunedPlan>& plan) {
      return plan ? fmt::format("{}", plan->time.time_s) : std::string();
    };
    const TunedPlan& best = point.known.best;
    const std::optional<TunedPlan> offered =
        point.offered ? std::optional(point.offered->best) : std::nullopt;
    fmt::print(
        "{}",
        csv_line({name_of(point.question.op), std::to_string(point.question.ranks),
                  std::to_string(point.question.bytes), best.plan,
                  fmt::format("{}", best.time.time_s), fmt::format("{}", best.time.low_s),
                  fmt::format("{}", best.time.high_s),
                  point.known.next ? point.known.next->plan : "", seconds(point.known.next),
                  seconds(point.stack_default), offered ? offered->plan : "", seconds(offered),
                  std::to_string(point.candidates), std::to_string(point.simulated)}));
  }
}

}  // namespace forescale
