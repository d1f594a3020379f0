#include "studies/execute/collective_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/error.hpp"
#include "base/median.hpp"
#include "base/options_text.hpp"

namespace forescale {
namespace {

using nlohmann::json;

ErrorSummary summary_of(const std::string& of, const std::vector<const CollectiveRow*>& rows) {
  ErrorSummary summary{.of = of};
  std::vector<double> magnitudes;
  int inside = 0;
  for (const CollectiveRow* row : rows) {
    const std::optional<double> error = row->error();
    if (!error) continue;
    magnitudes.push_back(std::abs(*error));
    if (std::abs(*error) > std::abs(summary.worst)) summary.worst = *error;
    if (*row->is_inside()) ++inside;
  }
  summary.rows = static_cast<int>(magnitudes.size());
  summary.median_abs = median(magnitudes);
  if (summary.rows > 0) summary.inside_share = static_cast<double>(inside) / summary.rows;
  return summary;
}

// Upper ends, exclusive.
constexpr std::int64_t kSizeClasses[] = {4096,
                                         65'536,
                                         kLargeMessage_bytes,
                                         1'048'576,
                                         4'194'304,
                                         16'777'216,
                                         std::numeric_limits<std::int64_t>::max()};

size_t size_class(std::int64_t bytes) {
  return static_cast<size_t>(
      std::upper_bound(std::begin(kSizeClasses), std::end(kSizeClasses), bytes) -
      std::begin(kSizeClasses));
}

std::string class_name(size_t number) {
  if (number == 0) return "below " + to_text(Bytes{kSizeClasses[0]});
  const std::string from = to_text(Bytes{kSizeClasses[number - 1]});
  if (number + 1 == std::size(kSizeClasses)) return from + " and more";
  return fmt::format("{} to below {}", from, to_text(Bytes{kSizeClasses[number]}));
}

// Where an operation was predicted and measured with several algorithms.
std::vector<AlgorithmPick> picks_of(const std::vector<CollectiveRow>& rows) {
  std::map<std::tuple<CollectiveOp, int, std::int64_t>, std::vector<const CollectiveRow*>> groups;
  for (const CollectiveRow& row : rows)
    if (row.error())
      groups[{row.question.plan.collective->op, row.question.ranks, row.question.bytes}].push_back(
          &row);
  std::vector<AlgorithmPick> picks;
  for (const auto& [key, group] : groups) {
    if (group.size() < 2) continue;
    const auto measured_s = [](const CollectiveRow* row) {
      return row->executed.time->median.time_s;
    };
    const CollectiveRow* chosen = *std::min_element(
        group.begin(), group.end(), [](const CollectiveRow* a, const CollectiveRow* b) {
          return a->predicted->time_s < b->predicted->time_s;
        });
    const CollectiveRow* best = *std::min_element(
        group.begin(), group.end(), [&](const CollectiveRow* a, const CollectiveRow* b) {
          return measured_s(a) < measured_s(b);
        });
    picks.push_back({.op = std::get<0>(key),
                     .ranks = std::get<1>(key),
                     .bytes = std::get<2>(key),
                     .predicted_best = plan_text(chosen->question.plan),
                     .measured_best = plan_text(best->question.plan),
                     .regret = measured_s(chosen) / measured_s(best) - 1});
  }
  return picks;
}

double parse_percent(const OptionsText& text, const std::string& key) {
  const std::string value = text.at(key);
  const std::string digits =
      value.ends_with('%') ? value.substr(0, value.size() - 1) : std::string();
  double percent = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), percent);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() ||
      !(percent >= 0 && percent <= 1000))
    throw InputError({.source = text.where(key),
                      .path = "",
                      .value = value,
                      .constraint = "must be a percentage from 0% to 1000%, such as 10%"});
  return percent / 100;
}

json to_json(const ErrorSummary& summary) {
  return {{"of", summary.of},
          {"rows", summary.rows},
          {"median_abs_error", summary.median_abs},
          {"worst_error", summary.worst},
          {"inside_share", summary.inside_share}};
}

}  // namespace

std::optional<double> CollectiveRow::error() const {
  if (!predicted || !executed.time || executed.time->median.time_s <= 0) return std::nullopt;
  return predicted->time_s / executed.time->median.time_s - 1;
}

std::optional<bool> CollectiveRow::is_inside() const {
  if (!error()) return std::nullopt;
  const double time_s = executed.time->median.time_s;
  return predicted->low_s <= time_s && time_s <= predicted->high_s;
}

std::vector<CollectiveRow> compare_collectives(const std::vector<CollectiveQuestion>& questions,
                                               const std::vector<TimeRange>& predicted,
                                               const Execution& execution) {
  std::vector<CollectiveRow> rows;
  for (size_t i = 0; i < questions.size(); ++i) {
    CollectiveRow& row = rows.emplace_back();
    row.question = questions[i];
    if (!predicted.empty()) row.predicted = predicted[i];
    row.executed = execution.collectives[i];
  }
  return rows;
}

CollectiveSummary summarise_collectives(const std::vector<CollectiveRow>& rows) {
  std::vector<const CollectiveRow*> all;
  std::vector<const CollectiveRow*> large;
  std::map<size_t, std::vector<const CollectiveRow*>> by_size;
  std::map<std::string, std::vector<const CollectiveRow*>> by_algorithm;
  for (const CollectiveRow& row : rows) {
    if (!row.error()) continue;
    all.push_back(&row);
    if (row.question.bytes >= kLargeMessage_bytes) large.push_back(&row);
    by_size[size_class(row.question.bytes)].push_back(&row);
    by_algorithm[plan_text(row.question.plan)].push_back(&row);
  }
  CollectiveSummary summary;
  summary.all = summary_of("all", all);
  summary.large = summary_of(to_text(Bytes{kLargeMessage_bytes}) + " and more", large);
  for (const auto& [number, of_class] : by_size)
    summary.by_size.push_back(summary_of(class_name(number), of_class));
  for (const auto& [name, of_algorithm] : by_algorithm)
    summary.by_algorithm.push_back(summary_of(name, of_algorithm));
  summary.picks = picks_of(rows);
  int good = 0;
  for (const AlgorithmPick& pick : summary.picks) {
    if (pick.regret <= kGoodRegret) ++good;
    summary.worst_regret = std::max(summary.worst_regret, pick.regret);
  }
  if (!summary.picks.empty())
    summary.good_pick_share = static_cast<double>(good) / static_cast<double>(summary.picks.size());
  return summary;
}

Expectations parse_expectations(const std::string& text, const std::string& option) {
  Expectations expected;
  if (text.empty()) return expected;
  const OptionsText parts = OptionsText::parse("expected:" + text, option);
  parts.allow_only({"median_256k", "median", "regret5", "inside"});
  if (parts.find("median_256k")) expected.median_large = parse_percent(parts, "median_256k");
  if (parts.find("median")) expected.median = parse_percent(parts, "median");
  if (parts.find("regret5")) expected.good_picks = parse_percent(parts, "regret5");
  if (parts.find("inside")) expected.inside = parse_percent(parts, "inside");
  return expected;
}

std::vector<std::string> broken_expectations(const Expectations& expected,
                                             const CollectiveSummary& summary) {
  std::vector<std::string> broken;
  const auto expect = [&](const std::optional<double>& limit, const std::string& what, bool has_any,
                          double value, bool at_most) {
    if (!limit) return;
    if (!has_any)
      broken.push_back(what + ": nothing was predicted and measured");
    else if (at_most ? value > *limit : value < *limit)
      broken.push_back(fmt::format("{}: {:.1f} %, expected {} {:g} %", what, 100 * value,
                                   at_most ? "<=" : ">=", 100 * *limit));
  };
  const std::string large = "median |error| of " + summary.large.of;
  expect(expected.median_large, large, summary.large.rows > 0, summary.large.median_abs, true);
  expect(expected.median, "median |error|", summary.all.rows > 0, summary.all.median_abs, true);
  expect(expected.good_picks, "choices within 5 % of the best", !summary.picks.empty(),
         summary.good_pick_share, false);
  expect(expected.inside, "measured inside the predicted interval", summary.all.rows > 0,
         summary.all.inside_share, false);
  return broken;
}

json to_json(const CollectiveRow& row) {
  const CollectiveQuestion& question = row.question;
  json result = {{"op", name_of(question.plan.collective->op)},
                 {"algorithm", question.plan.collective->algorithm},
                 {"plan", plan_text(question.plan)},
                 {"ranks", question.ranks},
                 {"bytes", question.bytes}};
  result.update(options_json(question.plan.options));
  for (const char* key :
       {"predicted_s", "low_s", "high_s", "measured_s", "measured_low_s", "measured_high_s",
        "p10_s", "p90_s", "samples", "is_correct", "error", "inside"})
    result[key] = nullptr;
  if (row.predicted) {
    result["predicted_s"] = row.predicted->time_s;
    result["low_s"] = row.predicted->low_s;
    result["high_s"] = row.predicted->high_s;
  }
  if (const auto& time = row.executed.time) {
    result["measured_s"] = time->median.time_s;
    result["measured_low_s"] = time->median.low_s;
    result["measured_high_s"] = time->median.high_s;
    result["p10_s"] = time->p10_s;
    result["p90_s"] = time->p90_s;
    result["samples"] = time->samples;
    result["is_correct"] = true;  // else read_execution() had thrown
  }
  if (const auto error = row.error()) result["error"] = *error;
  if (const auto inside = row.is_inside()) result["inside"] = *inside;
  if (!row.executed.note.empty()) result["note"] = row.executed.note;
  return result;
}

json to_json(const CollectiveSummary& summary) {
  json by_size = json::array();
  json by_algorithm = json::array();
  json picks = json::array();
  for (const ErrorSummary& one : summary.by_size) by_size.push_back(to_json(one));
  for (const ErrorSummary& one : summary.by_algorithm) by_algorithm.push_back(to_json(one));
  for (const AlgorithmPick& pick : summary.picks)
    picks.push_back({{"op", name_of(pick.op)},
                     {"ranks", pick.ranks},
                     {"bytes", pick.bytes},
                     {"predicted_best", pick.predicted_best},
                     {"measured_best", pick.measured_best},
                     {"regret", pick.regret}});
  return {{"all", to_json(summary.all)},
          {"large", to_json(summary.large)},
          {"by_size", by_size},
          {"by_algorithm", by_algorithm},
          {"picks", picks},
          {"good_pick_share", summary.good_pick_share},
          {"worst_regret", summary.worst_regret}};
}

}  // namespace forescale
