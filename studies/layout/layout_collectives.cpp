#include "studies/layout/layout_collectives.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "sim/run/other_jobs.hpp"

namespace forescale {
namespace {

constexpr int kStandsForAll = 0;  // rank

}  // namespace

std::string CallTimes::key(const Question& machine, const Scenario& scenario) {
  return scenario.name() + " " + key_of(machine);
}

void CallTimes::want(Question machine, const Scenario& scenario, const GroupCall& call) {
  if (call.ranks.size() < 2 || call.bytes == 0) return;
  const auto [place, is_new] = times_.try_emplace(Key{key(machine, scenario), call});
  if (!is_new) return;
  machine.plan = call.op;
  machine.slots.emplace_back(call.ranks.begin(), call.ranks.end());
  for (const std::vector<int>& other : call.at_once)
    machine.slots.emplace_back(other.begin(), other.end());
  machine.bytes = {call.bytes};
  places_.push_back(&place->second);
  questions_.push_back(std::move(machine));
  scenarios_.push_back(scenario);
}

void CallTimes::simulate(Asker& asker, bool keep_failures) {
  const std::vector<Answer> answers = asker.ask_each(
      questions_, scenarios_, {.label = "simulating collectives", .keep_failures = keep_failures});
  for (size_t i = 0; i < answers.size(); ++i) *places_[i] = answers[i];
}

double CallTimes::of(const std::string& machine, const GroupCall& call) const {
  const auto found = times_.find(Key{machine, call});
  if (found == times_.end()) return 0;
  if (!found->second.failure.empty()) throw CallFailed(found->second.failure);
  return found->second.time_s();
}

LayoutCollectives::LayoutCollectives(const LayoutCase& about, const LayoutSetUp& set_up,
                                     const std::vector<CopyRanks>& copies, Asker& asker,
                                     CallTimes& times)
    : set_up_(set_up),
      copies_(copies),
      grid_(set_up.layout, kLayoutOption),
      ranks_(static_cast<int>(about.gpus)),
      other_jobs_(parse_other_jobs(about.question.beside, "--beside").count),
      scenario_(about.scenario),
      healthy_(machine_question(about)),
      slow_(slow_machine_question(about)),
      healthy_key_(CallTimes::key(healthy_, scenario_)),
      slow_key_(CallTimes::key(slow_, scenario_)),
      times_(times) {
  for (int rank = 0; rank < ranks_; ++rank)
    ranks_of_node_[work().nodes[static_cast<size_t>(rank)]].push_back(rank);
  if (!slow_.links.empty())
    slow_links_.emplace(asker.machine(healthy_, scenario_).platform,
                        asker.machine(slow_, scenario_).platform);
}

void LayoutCollectives::want() {
  for (size_t stage = 0; stage < work().stages.size(); ++stage) {
    const StageWork& of_stage = work().stages[stage];
    const std::vector<int> ranks = ranks_of(work().rank_of_stage(stage));
    for (const ExchangeCounts* counts : {&of_stage.part.forward, &of_stage.part.backward})
      for (const auto& [exchange, count] : *counts) want(work().calls_of(exchange), ranks);
    want(of_stage.gradients, ranks);
    want(of_stage.parameters, ranks);
    want(of_stage.replicas, ranks);
  }
  want({work().norm}, all_ranks());
  times_.want(healthy_, scenario_, message(kStandsForAll));
  for (const CopyRanks& copy : copies_)
    for (const int rank : senders(copy)) want_slow(message(rank));
}

void LayoutCollectives::want(const std::vector<LayoutCall>& calls, const std::vector<int>& ranks) {
  for (const LayoutCall& call : calls) {
    times_.want(healthy_, scenario_, of_group(call, kStandsForAll));
    for (const int rank : ranks) want_slow(of_group(call, rank));
  }
}

void LayoutCollectives::want_slow(const GroupCall& call) {
  if (is_slow(call)) times_.want(slow_, scenario_, call);
}

// Other groups of the same pipeline stage are there at the same moment: those that have ranks on
// the first rank's node may share its adapters. Jobs beside this one do the same on the next slots.
GroupCall LayoutCollectives::called(const std::string& op, std::int64_t bytes, int rank,
                                    const GroupOf& ranks) const {
  const auto stage = [&](int of) {
    return grid_.place_of(of)[static_cast<size_t>(Dimension::kPipeline)];
  };
  GroupCall call{.op = op, .ranks = ranks(rank), .bytes = bytes};
  const int first = call.ranks.front();
  std::set<std::vector<int>> groups = {call.ranks};
  for (const int neighbour : ranks_of_node_.at(work().nodes[static_cast<size_t>(first)]))
    if (stage(neighbour) == stage(first))
      if (std::vector<int> group = ranks(neighbour); group.size() == call.ranks.size())
        groups.insert(std::move(group));
  for (const std::vector<int>& group : groups)
    for (int job = group == call.ranks ? 1 : 0; job <= other_jobs_; ++job) {
      std::vector<int>& other = call.at_once.emplace_back(group);
      for (int& each : other) each += job * ranks_;
    }
  return call;
}

GroupCall LayoutCollectives::of_group(const LayoutCall& call, int rank) const {
  return called(call.op, call.bytes, rank,
                [&](int member) { return group_ranks(grid_, call.group, member, work().nodes); });
}

// With the next pipeline rank, the first one after the last.
std::vector<int> LayoutCollectives::pair_of(int rank) const {
  const std::vector<int> line = grid_.group(rank, {Dimension::kPipeline});
  std::vector<int> pair = {rank};
  if (line.size() > 1) {
    const auto here = std::find(line.begin(), line.end(), rank) - line.begin();
    pair.push_back(line[(static_cast<size_t>(here) + 1) % line.size()]);
  }
  return pair;
}

GroupCall LayoutCollectives::message(int rank) const {
  return called("broadcast", work().message_bytes, rank,
                [this](int sender) { return pair_of(sender); });
}

// Those that send to the next pipeline rank.
std::vector<int> LayoutCollectives::senders(const CopyRanks& copy) const {
  const bool goes_round = work().shape.stages_a_rank > 1;
  std::vector<int> ranks;
  for (size_t place = 0; place + (goes_round ? 0 : 1) < copy.size(); ++place)
    ranks.insert(ranks.end(), copy[place].begin(), copy[place].end());
  return ranks;
}

std::vector<int> LayoutCollectives::ranks_of(int pipeline_rank) const {
  std::vector<int> ranks;
  for (const CopyRanks& copy : copies_) {
    const std::vector<int>& there = copy[static_cast<size_t>(pipeline_rank)];
    ranks.insert(ranks.end(), there.begin(), there.end());
  }
  return ranks;
}

std::vector<int> LayoutCollectives::all_ranks() const {
  std::vector<int> all;
  for (int rank = 0; rank < work().shape.ranks; ++rank)
    for (const int each : ranks_of(rank)) all.push_back(each);
  return all;
}

double LayoutCollectives::time_s(const LayoutCall& call, const std::vector<int>& ranks) {
  double longest_s = times_.of(healthy_key_, of_group(call, kStandsForAll));
  if (!has_slow_links()) return longest_s;
  for (const int rank : ranks)
    if (const GroupCall group = of_group(call, rank); is_slow(group))
      longest_s = std::max(longest_s, times_.of(slow_key_, group));
  return longest_s;
}

double LayoutCollectives::longest_message_s(const std::vector<int>& ranks) {
  double longest_s = times_.of(healthy_key_, message(kStandsForAll));
  if (!has_slow_links()) return longest_s;
  for (const int rank : ranks)
    if (const GroupCall pair = message(rank); is_slow(pair))
      longest_s = std::max(longest_s, times_.of(slow_key_, pair));
  return longest_s;
}

StageTimes LayoutCollectives::of_stage(size_t stage, const std::vector<int>& exchanging,
                                       const std::vector<int>& all) {
  const StageWork& of_stage = work().stages[stage];
  StageTimes times;
  for (const ExchangeCounts* counts : {&of_stage.part.forward, &of_stage.part.backward})
    for (const auto& [exchange, count] : *counts) {
      double& longest_s = times.exchanges_s[exchange];
      for (const LayoutCall& call : work().calls_of(exchange))
        longest_s = std::max(longest_s, time_s(call, exchanging));
    }
  for (const LayoutCall& call : of_stage.parameters) times.parameters_s += time_s(call, all);
  for (const LayoutCall& call : of_stage.gradients) times.gradients_s += time_s(call, all);
  for (const LayoutCall& call : of_stage.replicas) times.replicas_s += time_s(call, all);
  return times;
}

StageTimes LayoutCollectives::of_stage(size_t stage) { return of_stage(stage, {}, {}); }
StageTimes LayoutCollectives::of_stage(size_t stage, const CopyRanks& copy) {
  const int rank = work().rank_of_stage(stage);
  return of_stage(stage, copy[static_cast<size_t>(rank)], ranks_of(rank));
}

double LayoutCollectives::transfer_s() { return longest_message_s({}); }
double LayoutCollectives::transfer_s(const CopyRanks& copy) {
  return longest_message_s(senders(copy));
}

double LayoutCollectives::norm_s() { return time_s(work().norm, {}); }
double LayoutCollectives::norm_of_all_s() { return time_s(work().norm, all_ranks()); }

}  // namespace forescale
