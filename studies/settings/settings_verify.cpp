#include "studies/settings/settings_verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/median.hpp"
#include "calibrate/measure/measurement.hpp"
#include "calibrate/measure/mpi_launch.hpp"

namespace forescale {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;
using OnProgress = std::function<void(const std::string&)>;

constexpr double kTimeout_s = 120;  // of what has no budget, and beyond one

bool has_blocks(CollectiveOp op) {
  return op == CollectiveOp::kAllGather || op == CollectiveOp::kReduceScatter ||
         op == CollectiveOp::kAllToAll;
}

// What is asked of the library, in the order of the rows.
struct Case {
  CollectiveOp op;
  std::int64_t bytes;
  bool operator==(const Case&) const = default;
};

std::vector<Case> cases_of(const VerifyRequest& request) {
  std::vector<Case> cases;
  for (const CollectiveOp op : request.ops)
    for (const std::int64_t bytes : request.sizes) {
      const std::int64_t unit = has_blocks(op) ? 4 * std::int64_t{request.ranks} : 4;
      const Case one{.op = op, .bytes = bytes - bytes % unit};
      const bool is_there = !cases.empty() && cases.back() == one;
      if (one.bytes > 0 && !is_there) cases.push_back(one);
    }
  if (cases.empty())
    throw InputError({.source = "--bytes",
                      .path = "",
                      .value = fmt::format("{}", fmt::join(request.sizes, ",")),
                      .constraint = "leaves nothing to verify: must be one element of 4 B at "
                                    "least, of allgather and the like one a rank"});
  return cases;
}

// `is_loaded`: with the file, which then is to blame.
std::string answer_of(const MpiOutcome& outcome, bool is_loaded) {
  if (outcome.failure.empty()) return outcome.answer;
  const std::string said =
      outcome.failure + (outcome.err_tail.empty() ? "" : "\n") + outcome.err_tail;
  if (is_loaded) throw CheckFailed("the library did not come to an end with the file: " + said);
  throw SimulationStuck("the library did not come to an end without the file: " + said);
}

CountedMessages counted(const SettingsFile& settings, const std::vector<Case>& cases,
                        const Words& command, bool is_loaded) {
  json request = {{"format", "forescale-mpi-request-1"},
                  {"task", "counts"},
                  {"wait", {{"nap_s", 0}}},
                  {"cases", json::array()}};
  for (const Case& one : cases)
    request["cases"].push_back({{"op", name_of(one.op)}, {"bytes", one.bytes}});
  const Words whole = settings.counting(command, is_loaded);
  return read_counted_messages(answer_of(run_mpi(whole, request.dump(), {}, kTimeout_s), is_loaded),
                               "the MPI program's answer", cases.size());
}

// One launch: medians by case, with their intervals; nothing where the budget ended before.
std::vector<std::optional<TimeRange>> timed(const SettingsFile& settings,
                                            const VerifyRequest& request,
                                            const std::vector<Case>& cases, const Words& command,
                                            bool is_loaded, int round,
                                            const OnProgress& on_progress) {
  const double budget_s = request.budget_s / (2 * request.rounds);
  json series = json::array();
  for (const Case& one : cases) {
    if (series.empty() || series.back()["op"] != name_of(one.op))
      series.push_back({{"pattern", "collective"},
                        {"ranks", request.ranks},
                        {"op", name_of(one.op)},
                        {"bytes", json::array()}});
    series.back()["bytes"].push_back(one.bytes);
  }
  const json wanted = {{"format", "forescale-mpi-request-1"},
                       {"task", "patterns"},
                       {"wait", {{"nap_s", request.nap_s}}},
                       {"budget_s", budget_s},
                       {"relative_interval", 0.01},
                       {"repetitions_max", 1000},
                       {"seed", request.seed + static_cast<std::uint64_t>(round)},
                       {"series", series}};
  const MpiOutcome outcome = run_mpi(is_loaded ? settings.loaded(command) : command, wanted.dump(),
                                     on_progress, budget_s + kTimeout_s);
  const Measurement measurement =
      read_measurement_text(answer_of(outcome, is_loaded), "the MPI program's answer");
  std::vector<std::optional<TimeRange>> times(cases.size());
  for (const Series& one : measurement.series)
    for (const MeasuredPoint& point : one.points)
      for (std::size_t i = 0; i < cases.size(); ++i)
        if (name_of(cases[i].op) == one.op && cases[i].bytes == point.bytes)
          times[i] =
              TimeRange{.time_s = point.time_s, .low_s = point.low_s, .high_s = point.high_s};
  return times;
}

std::optional<TimeRange> over_rounds(const std::vector<TimeRange>& rounds) {
  if (rounds.empty()) return std::nullopt;
  std::vector<double> medians;
  TimeRange whole = rounds.front();
  for (const TimeRange& round : rounds) {
    medians.push_back(round.time_s);
    whole.low_s = std::min(whole.low_s, round.low_s);
    whole.high_s = std::max(whole.high_s, round.high_s);
  }
  whole.time_s = median(medians);
  return whole;
}

void measure(const SettingsFile& settings, const VerifyRequest& request,
             const std::vector<Case>& cases, const Words& command, std::vector<VerifiedSize>& rows,
             const OnProgress& on_progress) {
  std::vector<std::vector<TimeRange>> plain(cases.size());
  std::vector<std::vector<TimeRange>> tuned(cases.size());
  for (int round = 0; round < request.rounds; ++round)
    for (const bool is_second : {false, true}) {
      const bool is_loaded = is_second != (round % 2 == 1);  // each goes first as often
      const auto times =
          timed(settings, request, cases, command, is_loaded, round, [&](const std::string& line) {
            if (on_progress)
              on_progress(fmt::format("round {} of {}, {} the file: {}", round + 1, request.rounds,
                                      is_loaded ? "with" : "without", line));
          });
      for (std::size_t i = 0; i < cases.size(); ++i)
        if (times[i]) (is_loaded ? tuned : plain)[i].push_back(*times[i]);
    }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    rows[i].plain = over_rounds(plain[i]);
    rows[i].tuned = over_rounds(tuned[i]);
  }
}

void prove(VerifiedSize& row, int ranks, const PairCounts& plain, const PairCounts& tuned) {
  const auto& algorithm = row.rule.algorithm;
  const std::string refusal = algorithm ? algorithm->refuse(ranks, row.bytes) : "";
  const bool has_plan = algorithm && refusal.empty();
  const bool is_as_plain = is_same_traffic(plain, tuned);
  bool is_right = !has_plan && (!row.rule.is_own_choice || is_as_plain);
  row.evidence = tuned.text();
  if (has_plan) {
    const PairCounts planned = planned_counts(*algorithm, ranks, row.bytes);
    is_right = is_same_traffic(planned, tuned);
    row.evidence += is_right ? ", as planned" : "; planned " + planned.text();
  }
  row.evidence += is_as_plain ? ", as without the file" : "; without the file " + plain.text();
  if (!refusal.empty()) row.evidence += fmt::format("; {} {}", algorithm->title, refusal);
  if (!is_right)
    row.proof = RuleProof::kDidNotAct;
  else if (is_as_plain)
    row.proof = RuleProof::kAsWithout;
  else
    row.proof = has_plan ? RuleProof::kActed : RuleProof::kActedUnplanned;
}

}  // namespace

const char* name_of(RuleProof proof) {
  switch (proof) {
    case RuleProof::kActed:
      return "acted";
    case RuleProof::kActedUnplanned:
      return "acted, no plan to compare";
    case RuleProof::kAsWithout:
      return "as without the file";
    case RuleProof::kDidNotAct:
      return "did not act";
    case RuleProof::kNotSeen:
      return "not seen";
  }
  FORESCALE_CHECK(false, "unknown proof");
}

std::optional<double> VerifiedSize::speedup() const {
  if (!plain || !tuned) return std::nullopt;
  return plain->time_s / tuned->time_s;
}

bool Verification::is_proven() const {
  bool has_acted = false;
  for (const VerifiedSize& row : rows) {
    if (row.proof == RuleProof::kDidNotAct || row.proof == RuleProof::kNotSeen) return false;
    if (row.proof != RuleProof::kAsWithout) has_acted = true;
  }
  return has_acted;
}

std::optional<double> Verification::geometric_mean() const {
  double sum = 0;
  int count = 0;
  for (const VerifiedSize& row : rows)
    if (const auto speedup = row.speedup()) {
      sum += std::log(*speedup);
      ++count;
    }
  if (count == 0) return std::nullopt;
  return std::exp(sum / count);
}

std::optional<double> Verification::least_speedup() const {
  std::optional<double> least;
  for (const VerifiedSize& row : rows)
    if (const auto speedup = row.speedup()) least = std::min(least.value_or(*speedup), *speedup);
  return least;
}

json to_json(const Verification& verification) {
  const auto range = [](const TimeRange& time) -> json {
    return {{"time_s", time.time_s}, {"low_s", time.low_s}, {"high_s", time.high_s}};
  };
  json rows = json::array();
  for (const VerifiedSize& row : verification.rows) {
    rows.push_back({{"op", name_of(row.op)},
                    {"bytes", row.bytes},
                    {"rule", row.rule.text},
                    {"proof", name_of(row.proof)},
                    {"evidence", row.evidence}});
    if (row.rule.algorithm) rows.back()["plan"] = plan_text(row.rule.algorithm->plan);
    if (row.plain) rows.back()["default"] = range(*row.plain);
    if (row.tuned) rows.back()["tuned"] = range(*row.tuned);
    if (const auto speedup = row.speedup()) rows.back()["speedup"] = *speedup;
  }
  json document = {{"format", "forescale-verified-settings-1"},
                   {"library", verification.library},
                   {"counted_by", verification.counted_by},
                   {"is_proven", verification.is_proven()},
                   {"rows", rows}};
  if (const auto mean = verification.geometric_mean()) document["geometric_mean_speedup"] = *mean;
  if (const auto least = verification.least_speedup()) document["least_speedup"] = *least;
  return document;
}

Verification verify_settings(const SettingsFile& settings, const VerifyRequest& request,
                             const Words& command, const OnProgress& on_progress) {
  const std::vector<Case> cases = cases_of(request);
  if (on_progress) on_progress("counting messages");
  const CountedMessages plain = counted(settings, cases, command, false);
  settings.check_library(plain.library);
  Verification verification;
  const CountedMessages tuned = counted(settings, cases, command, true);
  verification.library = tuned.library;
  verification.counted_by = tuned.counted_by;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    VerifiedSize row{.op = cases[i].op,
                     .bytes = cases[i].bytes,
                     .rule = settings.rule_for(cases[i].op, request.ranks, cases[i].bytes)};
    if (!plain.counted_by.empty() && !tuned.counted_by.empty())
      prove(row, request.ranks, plain.cases[i], tuned.cases[i]);
    verification.rows.push_back(row);
  }
  if (request.budget_s > 0)
    measure(settings, request, cases, command, verification.rows, on_progress);
  return verification;
}

}  // namespace forescale
