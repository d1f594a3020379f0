#include "studies/crossover/crossover_models.hpp"

#include <algorithm>

#include "sim/folded.hpp"
#include "sim/pair_times.hpp"

namespace forescale {
namespace {

// alpha + beta b through the times of two sizes.
struct Affine {
  double alpha_s = 0;
  double beta_s_per_byte = 0;
};
struct Sample {
  std::int64_t bytes = 0;
  double time_s = 0;
};
Affine through(Sample a, Sample b) {
  const double beta = (b.time_s - a.time_s) / static_cast<double>(b.bytes - a.bytes);
  return {.alpha_s = a.time_s - beta * static_cast<double>(a.bytes), .beta_s_per_byte = beta};
}

StepCost step_cost(const Contest& contest, const Lanes& lanes, std::int64_t chunks, StepTerm last) {
  const std::int64_t small = contest.chunk_bytes;
  const std::int64_t large = std::max<std::int64_t>(chunks, 2) * contest.chunk_bytes;
  const StepTimes at_small = neighbour_step(contest, lanes, small);
  const StepTimes at_large = neighbour_step(contest, lanes, large);
  const auto transfer_s = [&](const StepTimes& times) {
    double sum_s = 0;
    for (int term = 0;
         term <= std::min(static_cast<int>(last), static_cast<int>(StepTerm::kStaging)); ++term)
      sum_s += times.terms_s[term];
    return sum_s;
  };
  const Affine transfer = through({.bytes = small, .time_s = transfer_s(at_small)},
                                  {.bytes = large, .time_s = transfer_s(at_large)});
  StepCost step{.alpha_s = transfer.alpha_s, .beta_s_per_byte = transfer.beta_s_per_byte};
  if (last < StepTerm::kReduction) return step;
  constexpr auto kReduction = static_cast<int>(StepTerm::kReduction);
  const Affine reduction = through({.bytes = small, .time_s = at_small.terms_s[kReduction]},
                                   {.bytes = large, .time_s = at_large.terms_s[kReduction]});
  step.reduce_alpha_s = reduction.alpha_s;
  step.gamma_s_per_byte = reduction.beta_s_per_byte;
  step.reduction_overlaps = lanes.reduction(lanes.default_place()).overlaps_transfer;
  return step;
}

}  // namespace

CollectiveCall Contest::call(const PlanChoice& plan, std::int64_t chunks) const {
  CollectiveCall made;
  made.rank_count = ranks;
  made.bytes = chunks * chunk_bytes;
  made.options = plan.options;
  return made;
}

ResolvedCall Contest::resolved(const PlanChoice& plan, const Lanes& lanes,
                               std::int64_t chunks) const {
  return resolve(lanes, shared_first_slots(machine->platform, ranks),
                 {.op = op, .bytes = chunks * chunk_bytes, .root = 0, .plan = &plan});
}

const char* name_of(StepTerm term) {
  switch (term) {
    case StepTerm::kWire:
      return "wire";
    case StepTerm::kMessageOverheads:
      return "per-message overheads";
    case StepTerm::kStaging:
      return "staging";
    case StepTerm::kReduction:
      return "reduction";
  }
  return "";
}

StepTimes neighbour_step(const Contest& contest, const Lanes& lanes, std::int64_t bytes) {
  const BufferPlace place = lanes.default_place();
  const Lane* narrowest = nullptr;
  int at = 1;
  for (int rank = 1; rank < contest.ranks; ++rank) {
    const Lane& lane = lanes.lane(rank, rank - 1, place, bytes);
    if (narrowest != nullptr && lane.bandwidth_bytes_per_s >= narrowest->bandwidth_bytes_per_s)
      continue;
    narrowest = &lane;
    at = rank;
  }
  const LaneCost cost = lanes.cost(*narrowest, bytes);
  const PathRule& rule = *narrowest->rule;
  const double latency_s = narrowest->route_latency_s + rule.latency.value;
  const double overheads_s = rule.o_send.value + rule.o_recv.value + 2 * rule.o_proxy.value;
  const auto device = [&](int slot) {
    return lanes.platform()
        .devices[static_cast<size_t>(lanes.platform().endpoints[static_cast<size_t>(slot)])]
        .name;
  };
  return {
      .terms_s = {latency_s + static_cast<double>(bytes) / cost.bandwidth_bytes_per_s, overheads_s,
                  cost.hold_s + cost.o_recv_s + cost.deliver_s - latency_s - overheads_s,
                  lanes.reduce_s(bytes, place)},
      .bandwidth_bytes_per_s = cost.bandwidth_bytes_per_s,
      .from = device(at),
      .to = device(at - 1)};
}

std::optional<ContestTimes> equation_times(const Contest& contest, const Lanes& lanes,
                                           std::int64_t chunks, StepTerm last) {
  const auto common = uniform_step(lanes, contest.slots(), lanes.default_place());
  const StepCost step = common ? *common : step_cost(contest, lanes, chunks, last);
  const auto time_s = [&](const PlanChoice& plan) {
    return plan.collective->closed_form(contest.call(plan, chunks), step);
  };
  const auto first_s = time_s(contest.first);
  const auto second_s = time_s(contest.second);
  if (!first_s || !second_s) return std::nullopt;
  return ContestTimes{.first_s = *first_s, .second_s = *second_s};
}

std::optional<ContestTimes> cost_engine_times(const Contest& contest, const Lanes& lanes,
                                              std::int64_t chunks) {
  const ResolvedCall first = contest.resolved(contest.first, lanes, chunks);
  const ResolvedCall second = contest.resolved(contest.second, lanes, chunks);
  if (!first.why_not_priced().empty() || !second.why_not_priced().empty()) return std::nullopt;
  return ContestTimes{.first_s = price_call(first).time_s, .second_s = price_call(second).time_s};
}

SimulatedTimes SimulatedContest::times(std::int64_t chunks) {
  std::vector<Question> questions;
  for (const size_t i : {0U, 1U})
    questions.push_back({.about = Question::About::kCollective,
                         .plan = plan_text(contest_.plan(i)),
                         .ranks = {contest_.ranks},
                         .bytes = {contest_.call(contest_.plan(i), chunks).bytes}});
  const std::vector<RangedAnswer> answers = asker_.ask(questions, {.label = "simulating"});
  SimulatedTimes times;
  for (const size_t i : {0U, 1U}) {
    const CollectiveAnswer& answer = answers[i].nominal.collective;
    (i == 0 ? times.first_s : times.second_s) = answer.time_s;
    times.busiest[i] = answer.busiest;
    times.busiest_share[i] = answer.busiest_share;
  }
  return times;
}

PlanUse plan_use(const Contest& contest, const Lanes& lanes, std::int64_t chunks) {
  PlanUse use;
  const auto count = [&](const PlanChoice& plan, std::uint64_t LaneUse::*messages) {
    for (int rank = 0; rank < contest.ranks; ++rank) {
      OpStream stream = message_plan(*plan.collective, contest.call(plan, chunks), rank);
      while (stream.next()) {
        const Op& op = stream.op();
        use.reduces = use.reduces || op.kind == OpKind::kRecvReduce;
        if (op.kind != OpKind::kSend) continue;
        const PathRule* rule = lanes.lane(rank, op.peer, lanes.default_place(), op.bytes).rule;
        auto known = std::find_if(use.lanes.begin(), use.lanes.end(),
                                  [&](const LaneUse& each) { return each.rule == rule; });
        if (known == use.lanes.end()) known = use.lanes.insert(use.lanes.end(), {.rule = rule});
        ++((*known).*messages);
      }
    }
  };
  count(contest.first, &LaneUse::first_messages);
  count(contest.second, &LaneUse::second_messages);
  return use;
}

}  // namespace forescale
