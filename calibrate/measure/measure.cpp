#include "calibrate/measure/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "algorithms/collective.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "calibrate/fit/cluster_shape.hpp"
#include "calibrate/measure/mpi_launch.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr std::int64_t kRequestMax = 1024 * kMiB;  // MPI counts in int
constexpr std::int64_t kPatternMax = 2 * kMiB;     // beyond, time grows in proportion
constexpr std::int64_t kLateMax = kMiB;            // above any eager limit
constexpr std::int64_t kLocalMax = 16 * kMiB;      // out of all caches
constexpr std::int64_t kFanMemoryMax = 256 * kMiB;
constexpr int kAllPairsRanksMax = 8;  // 28 pairs
// A launcher that starts ranks slowly, and a last repetition that takes longer than expected.
constexpr double kTimeoutBeyondBudget_s = 120;

std::vector<std::int64_t> up_to(std::int64_t bytes_max, std::vector<std::int64_t> sizes) {
  std::sort(sizes.begin(), sizes.end());
  std::vector<std::int64_t> kept;
  for (const std::int64_t size : sizes)
    if (size <= bytes_max) kept.push_back(size);
  if (kept.empty()) kept.push_back(bytes_max);
  return kept;
}

std::vector<std::int64_t> powers(std::int64_t from, std::int64_t to, std::int64_t factor) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = from; size <= to; size *= factor) sizes.push_back(size);
  return sizes;
}

// 1 B to the maximum, denser where stacks change protocol.
std::vector<std::int64_t> ping_pong_sizes(std::int64_t bytes_max) {
  std::vector<std::int64_t> sizes = powers(1, bytes_max, 2);
  for (const std::int64_t size : powers(16 * kKiB, 128 * kKiB, 2)) sizes.push_back(size * 3 / 2);
  return up_to(bytes_max, sizes);
}

std::vector<std::int64_t> pattern_sizes(std::int64_t bytes_max) {
  std::vector<std::int64_t> sizes = powers(8 * kKiB, kPatternMax / 4, 2);
  sizes.push_back(kPatternMax);
  for (const std::int64_t size : powers(64, 4 * kKiB, 4)) sizes.push_back(size);
  return up_to(bytes_max, sizes);
}

// 2, 4, 8, ... and all of them.
std::vector<int> rank_counts(int ranks) {
  std::vector<int> counts;
  for (int count = 2; count < ranks; count *= 2) counts.push_back(count);
  if (ranks >= 2) counts.push_back(ranks);
  return counts;
}

class Plan {
 public:
  explicit Plan(const MeasureOptions& options) : options_(options) {}

  void add(Pattern pattern, const std::vector<int>& members, const std::vector<std::int64_t>& sizes,
           const std::string& op = "") {
    if (!is_wanted(pattern)) return;
    Series one{.pattern = pattern,
               .ranks = static_cast<int>(members.size()),
               .members = members,
               .op = op};
    for (const std::int64_t bytes : sizes) one.points.push_back({.bytes = bytes});
    series_.push_back(one);
  }
  const std::vector<Series>& series() const { return series_; }

  // The first `count` ranks of the order.
  std::vector<int> first_ranks(int count) const {
    std::vector<int> members = options_.order;
    if (members.empty()) {
      members.resize(static_cast<std::size_t>(options_.ranks));
      std::iota(members.begin(), members.end(), 0);
    }
    members.resize(static_cast<std::size_t>(count));
    return members;
  }
  // The ranks on either side of what may be a trunk.
  std::pair<std::vector<int>, std::vector<int>> sides() const {
    std::pair<std::vector<int>, std::vector<int>> sides;
    const std::vector<int> all = first_ranks(options_.ranks);
    const auto& switches = options_.switch_of;
    const bool has_trunk = std::any_of(switches.begin(), switches.end(),
                                       [&](int each) { return each != switches[0]; });
    const std::size_t half = (all.size() + 1) / 2;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool is_first = has_trunk ? switches[static_cast<std::size_t>(all[i])] ==
                                            switches[static_cast<std::size_t>(all[0])]
                                      : i < half;
      (is_first ? sides.first : sides.second).push_back(all[i]);
    }
    return sides;
  }

 private:
  bool is_wanted(Pattern pattern) const {
    if (pattern == Pattern::kCollective && options_.library_collectives) return true;
    const auto& wanted = options_.patterns;
    if (wanted.empty()) return pattern != Pattern::kCollective;
    return std::find(wanted.begin(), wanted.end(), pattern) != wanted.end();
  }

  const MeasureOptions& options_;
  std::vector<Series> series_;
};

// Pairs that tell a slow host from the others: all of them, or each rank with the first one and
// with the one before it.
void add_ping_pongs(Plan& plan, const MeasureOptions& options) {
  using Part = MeasureOptions::Part;
  if (options.part != Part::kPairs)
    plan.add(Pattern::kPingPong, plan.first_ranks(2), ping_pong_sizes(options.bytes_max));
  if (options.part == Part::kRest) return;
  const auto sizes = up_to(options.bytes_max, {8 * kKiB, kMiB});
  if (options.part == Part::kPairs) plan.add(Pattern::kPingPong, {0, 1}, sizes);
  for (int a = 0; a < options.ranks; ++a)
    for (int b = std::max(a + 1, 2); b < options.ranks; ++b)
      if (options.ranks <= kAllPairsRanksMax || a == 0 || b == a + 1)
        plan.add(Pattern::kPingPong, {a, b}, sizes);
}

void add_fans(Plan& plan, const MeasureOptions& options) {
  for (const int others : std::set<int>{2, 4, options.ranks - 1}) {
    if (others < 2 || others > options.ranks - 1) continue;
    const auto sizes = pattern_sizes(std::min(options.bytes_max, kFanMemoryMax / others));
    plan.add(Pattern::kFanIn, plan.first_ranks(others + 1), sizes);
    plan.add(Pattern::kFanOut, plan.first_ranks(others + 1), sizes);
  }
}

void add_pairs(Plan& plan, const MeasureOptions& options) {
  const auto [first, second] = plan.sides();
  const auto most = static_cast<int>(std::min(first.size(), second.size()));
  for (const int count : std::set<int>{1, 2, most}) {
    if (count < 1 || count > most) continue;
    std::vector<int> members(first.begin(), first.begin() + count);
    members.insert(members.end(), second.begin(), second.begin() + count);
    plan.add(Pattern::kPairs, members, pattern_sizes(options.bytes_max));
  }
}

void add_local_work(Plan& plan, std::int64_t bytes_max) {
  const auto sizes = up_to(bytes_max, powers(64, kLocalMax, 4));
  plan.add(Pattern::kReduction, {0}, sizes);
  plan.add(Pattern::kMemoryCopy, {0}, sizes);
  std::vector<std::int64_t> matrices;
  for (const std::int64_t order : powers(256, 2048, 2))
    if (12 * order * order <= std::max(bytes_max, kMiB)) matrices.push_back(12 * order * order);
  plan.add(Pattern::kGemm, {0}, matrices);
}

void check(const MeasureOptions& options) {
  const auto refuse = [](const std::string& option, const std::string& value,
                         const std::string& constraint) {
    throw InputError({.source = option, .path = "", .value = value, .constraint = constraint});
  };
  if (options.ranks < 1) refuse("--ranks", std::to_string(options.ranks), "must be >= 1");
  if (!(options.budget_s >= 0.1) || !std::isfinite(options.budget_s))
    refuse("--budget", fmt::format("{} s", options.budget_s), "must be at least 0.1 s");
  if (options.bytes_max < 4 || options.bytes_max > kRequestMax)
    refuse("--max-bytes", std::to_string(options.bytes_max), "must be between 4 B and 1 GiB");
}

}  // namespace

std::vector<Series> series_to_measure(const MeasureOptions& options) {
  check(options);
  Plan plan(options);
  const int ranks = options.ranks;
  if (options.part == MeasureOptions::Part::kPairs) {
    add_ping_pongs(plan, options);
    return plan.series();
  }
  if (ranks >= 2) {
    const auto sizes = pattern_sizes(options.bytes_max);
    add_ping_pongs(plan, options);
    for (const int count : rank_counts(ranks))
      plan.add(Pattern::kShift, plan.first_ranks(count), sizes);
    for (const int count : std::set<int>{2, ranks / 2 * 2})
      plan.add(Pattern::kExchange, plan.first_ranks(count), sizes);
    add_fans(plan, options);
    add_pairs(plan, options);
    plan.add(Pattern::kStream, plan.first_ranks(2), sizes);
    plan.add(Pattern::kLateReceive, plan.first_ranks(2),
             up_to(options.bytes_max, powers(kKiB, kLateMax, 2)));
    for (const int count : rank_counts(ranks))
      plan.add(Pattern::kBarrier, plan.first_ranks(count), {0});
    for (const CollectiveOp op :
         {CollectiveOp::kReduce, CollectiveOp::kBroadcast, CollectiveOp::kAllReduce})
      for (const int count : rank_counts(ranks))
        plan.add(Pattern::kCollective, plan.first_ranks(count),
                 up_to(options.bytes_max, powers(64, kLocalMax, 4)), name_of(op));
  }
  add_local_work(plan, options.bytes_max);
  if (plan.series().empty())
    throw InputError({.source = "--patterns",
                      .path = "",
                      .value = "",
                      .constraint = "none of them can be measured with one rank"});
  return plan.series();
}

std::string default_request(const MeasureOptions& options) {
  json series = json::array();
  for (const Series& one : series_to_measure(options)) {
    json sizes = json::array();
    for (const MeasuredPoint& point : one.points) sizes.push_back(point.bytes);
    series.push_back({{"pattern", name_of(one.pattern)},
                      {"ranks", one.ranks},
                      {"members", one.members},
                      {"bytes", sizes}});
    if (!one.op.empty()) series.back()["op"] = one.op;
  }
  return json{{"format", "forescale-mpi-request-1"},
              {"task", "patterns"},
              {"wait", {{"nap_s", options.nap_s}}},
              {"budget_s", options.budget_s},
              {"relative_interval", options.relative_interval},
              {"repetitions_max", options.repetitions_max},
              {"seed", options.seed},
              {"include_environment", options.include_environment},
              {"include_hosts", options.include_hosts},
              {"machine", options.machine},
              {"provenance", options.provenance},
              {"series", series}}
      .dump(1);
}

namespace {

MeasureOutcome measure_part(const std::vector<std::string>& command, const MeasureOptions& options,
                            const std::function<void(const std::string&)>& on_progress) {
  const MpiOutcome run = run_mpi(command, default_request(options), on_progress,
                                 options.budget_s + kTimeoutBeyondBudget_s);
  MeasureOutcome outcome{.measurement = {}, .failure = run.failure};
  if (run.answer.empty()) return outcome;
  try {
    outcome.measurement = read_measurement_text(run.answer, "the MPI program's answer");
  } catch (const InputError& error) {
    // An answer of the first moments has no series yet.
    if (outcome.failure.empty()) outcome.failure = error.what();
  }
  if (!outcome.failure.empty()) outcome.measurement.notes.push_back(outcome.failure);
  return outcome;
}

bool knows_pairs(const MeasureOptions& options) {
  return options.patterns.empty() || std::find(options.patterns.begin(), options.patterns.end(),
                                               Pattern::kPingPong) != options.patterns.end();
}

}  // namespace

MeasureOutcome measure(const std::vector<std::string>& command, const MeasureOptions& options,
                       const std::function<void(const std::string&)>& on_progress) {
  using Part = MeasureOptions::Part;
  if (options.part != Part::kAll || options.ranks <= 2 || !knows_pairs(options))
    return measure_part(command, options, on_progress);
  constexpr double kShareOfPairs = 0.15;  // of the budget
  MeasureOptions pairs = options;
  pairs.part = Part::kPairs;
  pairs.budget_s = kShareOfPairs * options.budget_s;
  MeasureOutcome outcome = measure_part(command, pairs, on_progress);
  if (!outcome.failure.empty()) return outcome;
  const ClusterShape shape = shape_of(outcome.measurement);
  MeasureOptions rest = options;
  rest.part = Part::kRest;
  rest.budget_s = (1 - kShareOfPairs) * options.budget_s;
  rest.order = shape.ordinary();
  for (int rank = 0; rank < options.ranks; ++rank)
    if (std::find(rest.order.begin(), rest.order.end(), rank) == rest.order.end())
      rest.order.push_back(rank);
  rest.switch_of = shape.switch_of;
  MeasureOutcome second = measure_part(command, rest, on_progress);
  std::vector<Series>& series = outcome.measurement.series;
  series.insert(series.end(), second.measurement.series.begin(), second.measurement.series.end());
  std::vector<std::string>& notes = outcome.measurement.notes;
  notes.insert(notes.end(), second.measurement.notes.begin(), second.measurement.notes.end());
  outcome.failure = second.failure;
  return outcome;
}

}  // namespace forescale
