#include "algorithms/layout/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "algorithms/layout/pipeline_file.hpp"
#include "base/error.hpp"

namespace forescale {
namespace {

constexpr double kNotYet = -1;

// What a pass made.
struct Result {
  double end_s = kNotYet;
  int messages = 1;  // that go to the same rank at once, it among them
};

// Of passes by kind, stage and micro-batch.
class Results {
 public:
  explicit Results(const PipelineShape& shape)
      : micro_batches_(shape.micro_batches),
        forward_(static_cast<size_t>(shape.stages()) * static_cast<size_t>(shape.micro_batches)),
        backward_(forward_) {}

  Result& forward(int stage, int micro_batch) { return forward_[place(stage, micro_batch)]; }
  Result& backward(int stage, int micro_batch) { return backward_[place(stage, micro_batch)]; }

 private:
  size_t place(int stage, int micro_batch) const {
    return static_cast<size_t>(stage) * static_cast<size_t>(micro_batches_) +
           static_cast<size_t>(micro_batch);
  }
  int micro_batches_;
  std::vector<Result> forward_;
  std::vector<Result> backward_;
};

// Passes of one copy, and its parameters.
class Clock {
 public:
  Clock(const PipelineSchedule& schedule, const PipelineShape& shape,
        const std::vector<std::vector<PipelinePass>>& orders, const PipelineCopy& copy)
      : schedule_(schedule),
        shape_(shape),
        stages_(copy.stages),
        transfer_s_(copy.transfer_s),
        results_(shape),
        orders_(orders),
        has_begun_(static_cast<size_t>(shape.stages()), false),
        passes_left_(static_cast<size_t>(shape.stages()), 0),
        times_(orders_.size()),
        states_(orders_.size()),
        gathered_s_(orders_.size(), 0) {
    for (const std::vector<PipelinePass>& order : orders_)
      for (const PipelinePass& pass : order) ++passes_left_[static_cast<size_t>(pass.stage)];
  }

  PipelineTimes run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t rank = 0; rank < orders_.size(); ++rank)
        while (times_[rank].size() < orders_[rank].size() && advance(rank)) moved = true;
    }
    for (size_t rank = 0; rank < orders_.size(); ++rank)
      if (times_[rank].size() < orders_[rank].size()) stuck(rank);
    return {.passes = std::move(times_), .states = std::move(states_)};
  }

 private:
  // When what the pass waits for is there; kNotYet where it has not ended.
  double ready_s(const PipelinePass& pass) {
    const int stage = pass.stage;
    if (pass.kind == PassKind::kWeightGradient)
      return results_.backward(stage, pass.micro_batch).end_s;
    if (const int before = stage_before(schedule_, shape_, stage); pass.kind == PassKind::kForward)
      return before < 0 ? 0 : arrived(results_.forward(before, pass.micro_batch), before, stage);
    const double own = results_.forward(stage, pass.micro_batch).end_s;
    const int after = stage_after(schedule_, shape_, stage);
    if (after < 0 || own < 0) return own;
    const double below = arrived(results_.backward(after, pass.micro_batch), after, stage);
    return below < 0 ? kNotYet : std::max(own, below);
  }

  double arrived(const Result& result, int from, int to) const {
    const bool stays = rank_of(schedule_, shape_, from) == rank_of(schedule_, shape_, to);
    return result.end_s < 0 || stays ? result.end_s : result.end_s + result.messages * transfer_s_;
  }

  bool advance(size_t rank) {
    const size_t place = times_[rank].size();
    const PipelinePass& pass = orders_[rank][place];
    double ready = ready_s(pass);
    if (ready < 0) return false;
    if (pass.with_next) {
      const double next = ready_s(orders_[rank][place + 1]);
      if (next < 0) return false;
      ready = std::max(ready, next);
    }
    const double free = times_[rank].empty() ? 0 : times_[rank].back().end_s;
    double begin = std::max(free, ready);
    double end = begin + duration_s(pass);
    const auto stage = static_cast<size_t>(pass.stage);
    if (!has_begun_[stage]) wait_for_parameters(rank, pass, begin, end);
    has_begun_[stage] = true;
    --passes_left_[stage];
    times_[rank].push_back({.pass = pass, .begin_s = begin, .end_s = end});
    if (pass.with_next) return true;
    Result result{.end_s = end};
    if (place > 0 && orders_[rank][place - 1].with_next) {
      const PipelinePass& first = orders_[rank][place - 1];
      if (const int to = receiver(first); to >= 0 && to == receiver(pass)) result.messages = 2;
      set(first, result);
    }
    set(pass, result);
    return true;
  }

  void set(const PipelinePass& pass, const Result& result) {
    if (pass.kind == PassKind::kForward) results_.forward(pass.stage, pass.micro_batch) = result;
    if (pass.kind == PassKind::kBackward || pass.kind == PassKind::kInputGradient)
      results_.backward(pass.stage, pass.micro_batch) = result;
  }

  // The other rank that gets what the pass makes; -1: none.
  int receiver(const PipelinePass& pass) const {
    const int next = pass.kind == PassKind::kForward ? stage_after(schedule_, shape_, pass.stage)
                                                     : stage_before(schedule_, shape_, pass.stage);
    if (pass.kind == PassKind::kWeightGradient || next < 0) return -1;
    const int to = rank_of(schedule_, shape_, next);
    return to == rank_of(schedule_, shape_, pass.stage) ? -1 : to;
  }

  // Part i of n is there (i + 1) / n of the way; what follows it of the pass is n - i of n. Both
  // are linear in i, so that the first or the last part decides.
  void wait_for_parameters(size_t rank, const PipelinePass& pass, double& begin, double& end) {
    const BesidePass& beside = stages_[static_cast<size_t>(pass.stage)].parameters;
    if (beside.time_s == 0) return;
    const double from = gathered_s_[rank];
    const double duration = duration_s(pass);
    begin = std::max(begin, from + beside.time_s / beside.parts);
    end = std::max(begin + duration, from + beside.time_s + duration / beside.parts);
    gathered_s_[rank] = from + beside.time_s;
    states_[rank].push_back({.stage = pass.stage, .begin_s = from, .end_s = gathered_s_[rank]});
  }

  // With what slows the first and the last pass of its stage.
  double duration_s(const PipelinePass& pass) const {
    const auto stage = static_cast<size_t>(pass.stage);
    const StageCost& cost = stages_[stage];
    return alone_s(pass) + (has_begun_[stage] ? 0 : cost.parameters.slows_s) +
           (passes_left_[stage] > 1 ? 0 : cost.gradients.slows_s);
  }

  double alone_s(const PipelinePass& pass) const {
    const StageCost& cost = stages_[static_cast<size_t>(pass.stage)];
    switch (pass.kind) {
      case PassKind::kForward:
        return cost.forward_s;
      case PassKind::kWeightGradient:
        return cost.weights_s;
      case PassKind::kInputGradient:
        return cost.backward_s;
      case PassKind::kBackward:
        break;
    }
    return schedule_.splits_backward ? cost.backward_s + cost.weights_s : cost.backward_s;
  }

  [[noreturn]] void stuck(size_t rank) const {
    const PipelinePass& pass = orders_[rank][times_[rank].size()];
    throw SimulationStuck(fmt::format(
        "pipeline schedule {}: rank {} waits for what feeds {}{} of micro-batch {}, which never "
        "ends",
        schedule_.name, rank, pass.stage, letter_of(pass.kind), pass.micro_batch));
  }

  const PipelineSchedule& schedule_;
  const PipelineShape& shape_;
  const std::vector<StageCost>& stages_;
  double transfer_s_;
  Results results_;
  const std::vector<std::vector<PipelinePass>>& orders_;
  std::vector<bool> has_begun_;   // by stage
  std::vector<int> passes_left_;  // by stage
  std::vector<std::vector<PassTime>> times_;
  std::vector<std::vector<StateTime>> states_;
  std::vector<double> gathered_s_;  // by rank: when the last parameters were sent
};

// A rank's gradients, under the last pass of each of its stages. Part i of n is there (i + 1) / n
// of the way of each copy's pass, and all of it goes on together; linear in i, so that the first or
// the last part of some copy decides. `holders`: of the pipeline's ranks those with the same
// parameters, which make the same passes in the same order.
void reduce_gradients(size_t rank, const std::vector<size_t>& holders,
                      const std::vector<PipelineCopy>& copies, std::vector<PipelineTimes>& times) {
  const std::vector<PassTime>& passes = times.front().passes[rank];
  std::map<int, int> left;
  for (const PassTime& pass : passes) ++left[pass.pass.stage];
  double reduced_s = 0;
  for (size_t i = 0; i < passes.size(); ++i) {
    const int stage = passes[i].pass.stage;
    if (--left[stage] > 0) continue;
    const BesidePass& beside = copies.front().stages[static_cast<size_t>(stage)].gradients;
    if (beside.time_s + beside.before_last_s == 0) continue;
    double from_s = reduced_s;
    double last_s = 0;
    for (const PipelineTimes& copy : times)
      for (const size_t holder : holders) {
        const PassTime& pass = copy.passes[holder][i];
        from_s = std::max(from_s, pass.begin_s + (pass.end_s - pass.begin_s) / beside.parts);
        last_s = std::max(last_s, pass.end_s);
      }
    const double begin_s = std::max(from_s, std::min(from_s + beside.others_s, last_s));
    reduced_s = std::max(begin_s + beside.time_s, last_s + beside.time_s / beside.parts) +
                beside.before_last_s;
    for (PipelineTimes& copy : times)
      copy.states[rank].push_back(
          {.stage = stage, .of_gradients = true, .begin_s = from_s, .end_s = reduced_s});
  }
}

}  // namespace

char letter_of(PassKind kind) {
  switch (kind) {
    case PassKind::kForward:
      return 'F';
    case PassKind::kBackward:
      return 'B';
    case PassKind::kInputGradient:
      return 'I';
    case PassKind::kWeightGradient:
      return 'W';
  }
  return '?';
}

int rank_of(const PipelineSchedule& schedule, const PipelineShape& shape, int stage) {
  return schedule.rank_of != nullptr ? schedule.rank_of(shape, stage) : stage % shape.ranks;
}

int stage_before(const PipelineSchedule& schedule, const PipelineShape& shape, int stage) {
  return stage % (shape.stages() / schedule.copies) == 0 ? -1 : stage - 1;
}

int stage_after(const PipelineSchedule& schedule, const PipelineShape& shape, int stage) {
  return (stage + 1) % (shape.stages() / schedule.copies) == 0 ? -1 : stage + 1;
}

int network_copies_of(const std::string& schedule, const std::string& option) {
  return is_pipeline_file(schedule) ? 1 : Registry<PipelineSchedule>::find(schedule, option).copies;
}

void check_shape(const PipelineSchedule& schedule, const PipelineShape& shape,
                 const std::string& option) {
  const int each =
      shape.stages_a_rank % schedule.copies == 0 ? shape.stages_a_rank / schedule.copies : 0;
  const int max = schedule.stages_a_rank_max;
  if (each < schedule.stages_a_rank_min || (max > 0 && each > max))
    refuse(option, fmt::format("schedule={},vpp={}", schedule.name, each),
           fmt::format("vpp must be {}{}", schedule.stages_a_rank_min,
                       max == 0                            ? " or more"
                       : max == schedule.stages_a_rank_min ? ""
                                                           : fmt::format(" to {}", max)));
  if (schedule.needs_full_rounds && shape.micro_batches % shape.ranks != 0)
    refuse(option, fmt::format("schedule={},pp={}", schedule.name, shape.ranks),
           fmt::format("pp must divide the {} micro-batches", shape.micro_batches));
  for (const auto& [name, count] :
       {std::pair{"pp", shape.ranks}, {"the micro-batches", shape.micro_batches}})
    if (count % schedule.copies != 0)
      refuse(
          option, fmt::format("schedule={},pp={}", schedule.name, shape.ranks),
          fmt::format("{} must be a multiple of {}, and {} is not", name, schedule.copies, count));
  const int least = schedule.micro_batches_a_rank_min;
  if (shape.micro_batches < least * shape.ranks)
    refuse(option, fmt::format("schedule={},pp={}", schedule.name, shape.ranks),
           fmt::format("needs {} micro-batches, {} a rank, and has {}", least * shape.ranks, least,
                       shape.micro_batches));
}

double PipelineTimes::passes_end_s() const {
  double latest_s = 0;
  for (const std::vector<PassTime>& rank : passes)
    if (!rank.empty()) latest_s = std::max(latest_s, rank.back().end_s);
  return latest_s;
}

double PipelineTimes::end_s() const {
  double latest_s = passes_end_s();
  for (const std::vector<StateTime>& rank : states)
    for (const StateTime& state : rank) latest_s = std::max(latest_s, state.end_s);
  return latest_s;
}

PipelineTimes pipeline_times(const PipelineSchedule& schedule, const PipelineShape& shape,
                             const std::vector<StageCost>& stages, double transfer_s) {
  return pipeline_times(schedule, shape, {{.stages = stages, .transfer_s = transfer_s}}).front();
}

std::vector<PipelineTimes> pipeline_times(const PipelineSchedule& schedule,
                                          const PipelineShape& shape,
                                          const std::vector<PipelineCopy>& copies) {
  const std::vector<std::vector<PipelinePass>> orders = schedule.orders(shape);
  std::vector<PipelineTimes> times;
  for (const PipelineCopy& copy : copies) {
    FORESCALE_CHECK(copy.stages.size() == static_cast<size_t>(shape.stages()),
                    "a pipeline needs the cost of each stage");
    times.push_back(Clock(schedule, shape, orders, copy).run());
  }
  const auto ranks = static_cast<size_t>(shape.ranks);
  for (size_t rank = 0; rank < ranks; ++rank) {
    std::vector<size_t> holders{rank};
    if (schedule.copies > 1) holders.push_back(ranks - 1 - rank);
    reduce_gradients(rank, holders, copies, times);
  }
  return times;
}

std::vector<int> activations_held(const std::vector<std::vector<PipelinePass>>& orders) {
  std::vector<int> most;
  for (const std::vector<PipelinePass>& order : orders) {
    int held = 0;
    int largest = 0;
    for (const PipelinePass& pass : order) {
      if (pass.kind == PassKind::kForward) largest = std::max(largest, ++held);
      if (pass.kind == PassKind::kBackward || pass.kind == PassKind::kWeightGradient) --held;
    }
    most.push_back(largest);
  }
  return most;
}

}  // namespace forescale
