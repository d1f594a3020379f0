#include "studies/replay/replay_calibration.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "base/median.hpp"
#include "sim/ask/isolated.hpp"
#include "sim/run/simulate.hpp"
#include "topologies/placement.hpp"

namespace forescale {
namespace {

// What decides the time of a collective alone.
struct CollectiveShape {
  CollectiveOp op = CollectiveOp::kAllReduce;
  std::int64_t bytes = 0;
  int root = 0;
  bool on_host = false;
  std::vector<int> members = {};  // empty: all `ranks`
  int ranks = 0;

  std::string key() const {
    return fmt::format("{} {} {} {} {} {}", name_of(op), bytes, root, on_host, ranks,
                       fmt::join(members, ","));
  }
};

double simulated_s(const CollectivePlace& place, const CollectiveShape& shape) {
  CollectiveStep step{.op = shape.op,
                      .bytes = shape.bytes,
                      .root = shape.root,
                      .phase = Phase::kAggregation,
                      .label = "alone",
                      .on_host = shape.on_host};
  if (!shape.members.empty()) step.group = std::make_shared<const std::vector<int>>(shape.members);
  SessionOptions options;
  options.choices = place.choices;
  return simulate_collective(place.platform, place.stack, step, shape.ranks, std::move(options))
      .time_s;
}

// By key.
std::map<std::string, double> simulated_s(const CollectivePlace& place,
                                          const std::map<std::string, CollectiveShape>& shapes) {
  std::vector<std::function<double()>> tasks;
  for (const auto& [key, shape] : shapes)
    tasks.push_back([&place, &shape = shape] { return simulated_s(place, shape); });
  const std::vector<double> times_s = isolated(tasks, "pricing the trace's collectives");
  std::map<std::string, double> by_key;
  std::size_t at = 0;
  for (const auto& [key, shape] : shapes) by_key[key] = times_s[at++];
  return by_key;
}

CollectiveShape traced_shape(const TracedCollective& collective, int world) {
  return {.op = collective.op,
          .bytes = collective.bytes,
          .root = collective.root,
          .on_host = collective.on_host,
          .members = collective.ranks,
          .ranks = world};
}

std::string collective_kind(const TracedCollective& collective, int world) {
  if (collective.is_message) return "messages";
  const std::size_t ranks =
      collective.ranks.empty() ? static_cast<std::size_t>(world) : collective.ranks.size();
  return fmt::format("{}, {} ranks", name_of(collective.op), ranks);
}

// What each collective of one rank's program was in the trace, by request.
using TracedByRequest = std::map<int, const TracedCollective*>;

TracedByRequest traced_by_request(const MeasuredRun& measured, std::size_t rank) {
  TracedByRequest by_request;
  if (measured.collectives.empty()) return by_request;
  for (const TracedCollective& one : measured.collectives[rank % measured.collectives.size()])
    by_request[one.request] = &one;
  return by_request;
}

CollectiveShape shape_here(const CollectiveStep& step, const Program& program, std::size_t rank) {
  CollectiveShape shape{.op = step.op,
                        .bytes = step.bytes,
                        .root = step.root,
                        .on_host = step.on_host,
                        .members = {},
                        .ranks = program.workers};
  RankGroup group = step.group;
  if (const auto known = program.groups.find(step.communicator);
      group == nullptr && known != program.groups.end())
    group = known->second[rank];
  if (group != nullptr) shape.members = *group;
  return shape;
}

// Two digits, downwards: so that few sizes have to be simulated.
std::int64_t rounded(double bytes) {
  if (bytes < 1) return 1;
  const double unit = std::pow(10.0, std::max(0.0, std::floor(std::log10(bytes)) - 1));
  return std::max<std::int64_t>(1, std::llround(std::floor(bytes / unit) * unit));
}

// One collective of a program and what is to become of it.
struct Correction {
  std::int64_t bytes = 0;
  double delay_s = 0;
};

// A collective that shall take so long, and what it takes with the bytes that it has now.
struct Target {
  std::size_t rank = 0;
  int request = -1;
  CollectiveShape shape;
  double time_s = 0;
  double wanted_s = 0;
};

// Those that take longer than they shall get fewer bytes: along the line through the last two
// sizes, first through no bytes in no time.
void shorten(std::vector<Target>& targets, const CollectivePlace& place) {
  constexpr int kPassesMax = 4;
  std::map<const Target*, std::pair<double, double>> smaller;  // bytes, time: below the line's end
  for (int pass = 0; pass < kPassesMax; ++pass) {
    std::map<std::string, CollectiveShape> shapes;
    std::vector<std::pair<Target*, CollectiveShape>> tried;
    for (Target& target : targets) {
      if (target.time_s <= target.wanted_s || target.shape.bytes < 2) continue;
      const auto [bytes, time_s] = smaller[&target];
      const double slope =
          (target.time_s - time_s) / (static_cast<double>(target.shape.bytes) - bytes);
      CollectiveShape shape = target.shape;
      shape.bytes = std::min(shape.bytes - 1, rounded(static_cast<double>(shape.bytes) -
                                                      (target.time_s - target.wanted_s) / slope));
      shapes.try_emplace(shape.key(), shape);
      tried.emplace_back(&target, shape);
    }
    if (tried.empty()) return;
    const std::map<std::string, double> times_s = simulated_s(place, shapes);
    for (auto& [target, shape] : tried) {
      const double time_s = times_s.at(shape.key());
      // Between this size and the one before the line is what the stack's is.
      if (time_s > target->wanted_s && time_s < target->time_s) {
        const double slope =
            (target->time_s - time_s) / static_cast<double>(target->shape.bytes - shape.bytes);
        const double alpha_s = time_s - slope * static_cast<double>(shape.bytes);
        smaller[target] = {0, alpha_s};
      }
      target->shape = shape;
      target->time_s = time_s;
    }
  }
}

class RankCorrection {
 public:
  RankCorrection(const ProgramRank& rank, const std::map<int, Correction>& corrections,
                 Timer::For beyond)
      : rank_(rank), corrections_(corrections), beyond_(beyond) {
    for (const ProgramThread& thread : rank.threads)
      for (const Action& action : thread.actions) next_id_ = std::max(next_id_, action.id + 1);
  }

  ProgramRank corrected() {
    ProgramRank made;
    for (const ProgramThread& thread : rank_.threads) {
      ProgramThread& copy = made.threads.emplace_back();
      for (const Action& action : thread.actions) add(action, copy.actions);
    }
    return made;
  }

 private:
  void add(Action action, ActionList& list) {
    using Kind = Action::Kind;
    const int request = action.kind == Kind::kWait ? action.requests.front() : action.id;
    const auto known = corrections_.find(request);
    if (known == corrections_.end()) return list.push_back(action);
    if (action.kind == Kind::kCollective) {
      auto step = std::get<CollectiveStep>(action.what);
      step.bytes = known->second.bytes;
      action.what = std::move(step);
    }
    list.push_back(action);
    if (action.kind != Kind::kWait || known->second.delay_s <= 0) return;
    list.push_back(
        {.kind = Kind::kTimer, .id = next_id_, .what = Timer{known->second.delay_s, beyond_}});
    list.push_back({.kind = Kind::kWait, .requests = {next_id_++}});
  }

  const ProgramRank& rank_;
  const std::map<int, Correction>& corrections_;
  Timer::For beyond_;
  int next_id_ = 0;
};

bool is_wait(double measured_s, double predicted_s) {
  return predicted_s > 0 && measured_s > kWaitsFrom * predicted_s;
}

}  // namespace

CollectiveCalibration::CollectiveCalibration(const MeasuredRun& measured,
                                             const CollectivePlace& traced, TracedReach waits_reach)
    : world_(measured.world) {
  if (waits_reach == TracedReach::kInsideNodes)
    for (int rank = 0; rank < world_; ++rank)
      node_of_rank_.push_back(node_of_slot(traced.platform, rank));
  std::map<std::string, CollectiveShape> shapes;
  for (const auto& of_rank : measured.collectives)
    for (const TracedCollective& one : of_rank) {
      const CollectiveShape shape = traced_shape(one, world_);
      shapes.try_emplace(shape.key(), shape);
    }
  traced_s_ = simulated_s(traced, shapes);
  std::map<std::string, CorrectedCollective> kinds;
  std::map<std::string, std::vector<double>> factors;
  for (const auto& of_rank : measured.collectives)
    for (const TracedCollective& one : of_rank) {
      if (one.time_s <= 0) continue;
      const std::string name = collective_kind(one, world_);
      const double predicted_s = traced_s_.at(traced_shape(one, world_).key());
      CorrectedCollective& kind = kinds[name];
      kind.name = name;
      ++kind.calls;
      kind.measured_s += one.time_s;
      kind.predicted_s += predicted_s;
      if (predicted_s > 0) factors[name].push_back(one.time_s / predicted_s);
      if (!may_wait(one)) continue;
      ++waits_.all;
      if (!is_wait(one.time_s, predicted_s)) continue;
      ++waits_.calls;
      waits_.time_s += one.time_s - predicted_s;
    }
  for (const auto& [name, kind] : kinds) kinds_.push_back(kind);
  for (const auto& [name, of_kind] : factors) median_factor_[name] = median(of_kind);
}

bool CollectiveCalibration::may_wait(const TracedCollective& collective) const {
  if (node_of_rank_.empty()) return true;
  std::set<int> nodes(node_of_rank_.begin(), node_of_rank_.end());
  if (!collective.ranks.empty()) {
    nodes.clear();
    for (const int rank : collective.ranks)
      nodes.insert(node_of_rank_[static_cast<std::size_t>(rank)]);
  }
  return nodes.size() == 1;
}

double CollectiveCalibration::wanted_s(const TracedCollective& collective, double predicted_s,
                                       Keeps keeps) const {
  const auto traced = traced_s_.find(traced_shape(collective, world_).key());
  const bool may = traced != traced_s_.end() && may_wait(collective);
  const bool has_waited = may && is_wait(collective.time_s, traced->second);
  if (keeps == Keeps::kLonger)
    return may ? predicted_s + std::max(0.0, collective.time_s - traced->second) : predicted_s;
  if (keeps == Keeps::kWaits)
    return has_waited ? predicted_s + collective.time_s - traced->second : predicted_s;
  if (keeps == Keeps::kFactorOfRest && has_waited) return predicted_s;
  if (collective.time_s > 0 && traced != traced_s_.end() && traced->second > 0)
    return keeps == Keeps::kDifference
               ? std::max(0.0, predicted_s + collective.time_s - traced->second)
               : predicted_s * (collective.time_s / traced->second);
  const auto median = median_factor_.find(collective_kind(collective, world_));
  return median == median_factor_.end() ? predicted_s : predicted_s * median->second;
}

Program CollectiveCalibration::corrected(const Program& program, const MeasuredRun& measured,
                                         const CollectivePlace& here, Keeps keeps,
                                         const std::vector<std::string>& kinds) const {
  const std::set<std::string> chosen(kinds.begin(), kinds.end());
  // Ranks that do the same share their lists: the first of each is looked at.
  std::map<const void*, std::size_t> first_like;
  std::vector<std::map<int, CollectiveShape>> shapes_of(program.ranks.size());
  std::map<std::string, CollectiveShape> shapes;
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    const ProgramRank& one = program.ranks[rank];
    if (!first_like.try_emplace(one.threads.front().actions.identity(), rank).second) continue;
    const TracedByRequest traced = traced_by_request(measured, rank);
    for (const ProgramThread& thread : one.threads)
      for (const Action& action : thread.actions) {
        const auto* step = std::get_if<CollectiveStep>(&action.what);
        const auto known = traced.find(action.id);
        if (step == nullptr || known == traced.end()) continue;
        if (!chosen.empty() && !chosen.contains(collective_kind(*known->second, world_))) continue;
        const CollectiveShape shape = shape_here(*step, program, rank);
        shapes.try_emplace(shape.key(), shape);
        shapes_of[rank].emplace(action.id, shape);
      }
  }
  std::map<std::string, double> here_s = simulated_s(here, shapes);
  std::vector<Target> targets;
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    const TracedByRequest traced = traced_by_request(measured, rank);
    for (const auto& [request, shape] : shapes_of[rank]) {
      const double predicted_s = here_s.at(shape.key());
      targets.push_back({.rank = rank,
                         .request = request,
                         .shape = shape,
                         .time_s = predicted_s,
                         .wanted_s = wanted_s(*traced.at(request), predicted_s, keeps)});
    }
  }
  shorten(targets, here);
  std::vector<std::map<int, Correction>> corrections(program.ranks.size());
  for (const Target& target : targets)
    corrections[target.rank][target.request] = {
        .bytes = target.shape.bytes, .delay_s = std::max(0.0, target.wanted_s - target.time_s)};
  const Timer::For beyond = keeps == Keeps::kWaits || keeps == Keeps::kLonger
                                ? Timer::For::kOtherRanks
                                : Timer::For::kCorrection;
  Program made = program;
  std::map<const void*, ProgramRank> done;
  for (std::size_t rank = 0; rank < program.ranks.size(); ++rank) {
    const void* const list = program.ranks[rank].threads.front().actions.identity();
    const std::size_t model = first_like.at(list);
    if (model == rank)
      done[list] = RankCorrection(program.ranks[rank], corrections[rank], beyond).corrected();
    made.ranks[rank] = done.at(list);
  }
  return made;
}

}  // namespace forescale
