#include "algorithms/layout/repeated_micro_batches.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "algorithms/layout/pipeline_file.hpp"

namespace forescale {
namespace {

// Of a round's micro-batches: schedules turn after one or two for each rank.
constexpr int kRoundARank = 2;
// Of those few; a round in the middle has as many before it as after it.
constexpr int kRounds = 9;
// Fewer than so many times those few are all walked.
constexpr int kPays = 3;
constexpr double kAlike = 1e-9;

int round_of(const PipelineShape& shape) { return kRoundARank * shape.ranks; }

// Nothing: all are few.
std::optional<PipelineShape> few_of(const PipelineSchedule& schedule, const PipelineShape& shape) {
  const int round = round_of(shape);
  if (shape.micro_batches / kPays < kRounds * round || is_pipeline_file(schedule.name))
    return std::nullopt;
  PipelineShape few = shape;
  few.micro_batches = kRounds * round + shape.micro_batches % round;
  return few;
}

PipelineShape a_round_more(PipelineShape shape) {
  shape.micro_batches += round_of(shape);
  return shape;
}

bool is_alike(double one_s, double other_s) {
  return std::abs(one_s - other_s) <= kAlike * other_s;
}

// How much later the ranks do with the round after the middle one what they do with that; nothing:
// not all of it is as much later.
std::optional<double> later_s(const PipelineTimes& times, const PipelineShape& shape) {
  const int round = round_of(shape);
  const int middle = kRounds / 2 * round;
  std::map<std::tuple<PassKind, int, int>, double> begin_s;
  std::optional<double> later_s;
  for (const std::vector<PassTime>& passes : times.passes)
    for (const auto& [pass, begin, end] : passes) {
      if (pass.micro_batch < middle || pass.micro_batch >= middle + 2 * round) continue;
      if (pass.micro_batch < middle + round) {
        begin_s[{pass.kind, pass.stage, pass.micro_batch + round}] = begin;
        continue;
      }
      const auto before = begin_s.find({pass.kind, pass.stage, pass.micro_batch});
      if (before == begin_s.end()) return std::nullopt;
      const double difference_s = begin - before->second;
      if (!later_s) later_s = difference_s;
      if (!is_alike(difference_s, *later_s)) return std::nullopt;
    }
  return later_s;
}

bool reduces_gradients(const PipelineTimes& times) {
  return std::ranges::any_of(times.states, [](const std::vector<StateTime>& states) {
    return std::ranges::any_of(states, &StateTime::of_gradients);
  });
}

double grown(double few, double more, int rounds) { return few + rounds * (more - few); }

std::vector<double> grown(const std::vector<double>& few, const std::vector<double>& more,
                          int rounds) {
  std::vector<double> all;
  for (size_t rank = 0; rank < few.size(); ++rank)
    all.push_back(grown(few[rank], more[rank], rounds));
  return all;
}

std::optional<std::vector<PipelineTotals>> totals_of_few(const PipelineSchedule& schedule,
                                                         const PipelineShape& shape,
                                                         const std::vector<PipelineCopy>& copies) {
  const std::optional<PipelineShape> few_shape = few_of(schedule, shape);
  if (!few_shape) return std::nullopt;
  const std::vector<PipelineTimes> few = pipeline_times(schedule, *few_shape, copies);
  std::vector<double> round_s;
  for (const PipelineTimes& copy : few) {
    const std::optional<double> found_s = later_s(copy, *few_shape);
    if (!found_s) return std::nullopt;
    round_s.push_back(*found_s);
  }
  const std::vector<PipelineTimes> more =
      pipeline_times(schedule, a_round_more(*few_shape), copies);
  const int rounds = (shape.micro_batches - few_shape->micro_batches) / round_of(shape);
  const double slowest_s = *std::ranges::max_element(round_s);
  std::vector<PipelineTotals> all;
  for (size_t copy = 0; copy < few.size(); ++copy) {
    const PipelineTotals one = totals_of(few[copy]);
    const PipelineTotals next = totals_of(more[copy]);
    // Each copy goes on at its own pace, and at the end with the slowest.
    const double end_s = reduces_gradients(few[copy]) ? slowest_s : round_s[copy];
    if (!is_alike(next.passes_end_s - one.passes_end_s, round_s[copy]) ||
        !is_alike(next.end_s - one.end_s, end_s))
      return std::nullopt;
    all.push_back({.passes_end_s = grown(one.passes_end_s, next.passes_end_s, rounds),
                   .end_s = grown(one.end_s, next.end_s, rounds),
                   .forward_s = grown(one.forward_s, next.forward_s, rounds),
                   .backward_s = grown(one.backward_s, next.backward_s, rounds)});
  }
  return all;
}

}  // namespace

PipelineTotals totals_of(const PipelineTimes& times) {
  PipelineTotals totals{.passes_end_s = times.passes_end_s(), .end_s = times.end_s()};
  for (const std::vector<PassTime>& passes : times.passes) {
    totals.forward_s.push_back(0);
    totals.backward_s.push_back(0);
    for (const PassTime& pass : passes)
      (pass.pass.kind == PassKind::kForward ? totals.forward_s : totals.backward_s).back() +=
          pass.end_s - pass.begin_s;
  }
  return totals;
}

std::vector<PipelineTotals> pipeline_totals(const PipelineSchedule& schedule,
                                            const PipelineShape& shape,
                                            const std::vector<PipelineCopy>& copies) {
  if (auto few = totals_of_few(schedule, shape, copies)) return *few;
  std::vector<PipelineTotals> totals;
  for (const PipelineTimes& copy : pipeline_times(schedule, shape, copies))
    totals.push_back(totals_of(copy));
  return totals;
}

PipelineShape holding_as_many(const PipelineSchedule& schedule, const PipelineShape& shape) {
  const std::optional<PipelineShape> few = few_of(schedule, shape);
  if (!few) return shape;
  const bool holds_no_more = activations_held(schedule.orders(*few)) ==
                             activations_held(schedule.orders(a_round_more(*few)));
  return holds_no_more ? *few : shape;
}

}  // namespace forescale
