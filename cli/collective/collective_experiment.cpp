#include "cli/collective/collective_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "calibrate/measure/measure.hpp"
#include "cli/collective/collective_chart.hpp"
#include "cli/text.hpp"

namespace forescale {
namespace {

using nlohmann::json;

double clock_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string interval_cell(const TimeRange& range) {
  return fmt::format("{} .. {}", to_text(Seconds{range.low_s}), to_text(Seconds{range.high_s}));
}

std::string share_cell(double share, const char* sign = "") {
  return fmt::format(fmt::runtime(fmt::format("{{:{}.1f}} %", sign)), 100 * share);
}

bool is_predicted(const CollectiveExperiment& experiment) {
  return !experiment.rows.empty() && experiment.rows.front().predicted.has_value();
}

void print_experiment_rows(const CollectiveExperiment& experiment) {
  const bool predicted = is_predicted(experiment);
  std::vector<std::string> headings{"<plan", "ranks", "bytes"};
  if (predicted) headings.insert(headings.end(), {"predicted", "interval"});
  headings.insert(headings.end(), {"measured", "median within", "samples"});
  if (predicted) headings.emplace_back("error");
  Table table(headings);
  for (const CollectiveRow& row : experiment.rows) {
    std::vector<std::string> cells{plan_text(row.question.plan), std::to_string(row.question.ranks),
                                   to_text(Bytes{row.question.bytes})};
    if (predicted) {
      cells.push_back(to_text(Seconds{row.predicted->time_s}));
      cells.push_back(interval_cell(*row.predicted));
    }
    if (const auto& time = row.executed.time) {
      cells.push_back(to_text(Seconds{time->median.time_s}));
      cells.push_back(interval_cell(time->median));
      cells.push_back(std::to_string(time->samples));
    } else {
      cells.insert(cells.end(), {"-", "", ""});
    }
    if (predicted) cells.push_back(row.error() ? share_cell(*row.error(), "+") : "");
    table.add(cells);
  }
  fmt::print("{}", table.text());
}

void print_errors(const CollectiveSummary& summary) {
  Table table({"<predicted against measured", "rows", "median |error|", "worst", "in interval"});
  const auto add = [&](const ErrorSummary& one) {
    if (one.rows > 0)
      table.add({one.of, std::to_string(one.rows), share_cell(one.median_abs),
                 share_cell(one.worst, "+"), share_cell(one.inside_share)});
  };
  add(summary.all);
  add(summary.large);
  for (const ErrorSummary& one : summary.by_size) add(one);
  for (const ErrorSummary& one : summary.by_algorithm) add(one);
  fmt::print("\n{}", table.text());
}

void print_picks(const CollectiveSummary& summary) {
  if (summary.picks.empty()) return;
  const auto good = std::count_if(summary.picks.begin(), summary.picks.end(),
                                  [](const auto& pick) { return pick.regret <= kGoodRegret; });
  fmt::print(
      "\nchoice of algorithm: the one predicted fastest is within {:.0f} % of the best measured in "
      "{} of {} cases ({})\n",
      100 * kGoodRegret, good, summary.picks.size(), share_cell(summary.good_pick_share));
  for (const AlgorithmPick& pick : summary.picks)
    if (pick.regret > kGoodRegret)
      fmt::print("  {} on {} ranks, {}: {} is {} slower than {}\n", name_of(pick.op), pick.ranks,
                 to_text(Bytes{pick.bytes}), pick.predicted_best, share_cell(pick.regret),
                 pick.measured_best);
}

// What was not executed, by reason.
void print_gaps(const CollectiveExperiment& experiment) {
  for (const std::string& refused : experiment.refused) fmt::print("left out: {}\n", refused);
  std::map<std::string, int> notes;
  for (const CollectiveRow& row : experiment.rows)
    if (!row.executed.time) ++notes[row.executed.note];
  for (const auto& [note, count] : notes)
    fmt::print("{} of {}: {}\n", count, experiment.rows.size(), note);
}

}  // namespace

void add_experiment_options(Subcommand command, CollectiveExperimentText& text) {
  command.add_option("--plans", text.plans,
                     fmt::format("Collectives with their options, separated by spaces (see "
                                 "`forescale algorithm list`; default: {})",
                                 fmt::join(default_plans(), " ")));
  command
      .add_option("--wait", text.wait,
                  "How ranks wait: nap (default; few cores for many ranks) or spin")
      .one_of({"nap", "spin"});
  command.add_option("--seed", text.seed, "Of the order in which things are measured (default 1)");
  command.add_option("--expect", text.expect,
                     "Exit with 4 unless it is so: median_256k=10%,median=20% (median |error| of "
                     "256 KiB and more, of all; at most), regret5=90% (algorithm choices within 5 "
                     "% of the best; at least), inside=50% (of the interval; at least)");
  command.add_option("-o,--out", text.file, "Write the comparison as JSON");
  command.add_option("--chart", text.chart,
                     "Draw time over size to this SVG file, predicted and measured");
  command.add_flag("--json", text.json, "Print JSON for machines");
}

CollectiveQuestions questions_of(const CollectiveExperimentText& text,
                                 const std::vector<std::int64_t>& ranks) {
  // All that can be wrong is found before anything runs.
  parse_expectations(text.expect, "--expect");
  check_writable(text.file, "-o");
  check_writable(text.chart, "--chart");
  std::vector<PlanChoice> plans;
  for (const std::string& plan : text.plans) plans.push_back(parse_plan(plan, "--plans"));
  return make_questions(plans, ranks, parse_byte_list(text.bytes, "--bytes"));
}

double nap_of(const CollectiveExperimentText& text) {
  return text.wait == "spin" ? 0 : MeasureOptions{}.nap_s;
}

RunProgress::RunProgress(std::string what, double budget_s)
    : what_(std::move(what)), end_s_(clock_s() + budget_s), shown_from_s_(clock_s() + 2) {}

RunProgress::~RunProgress() {
  if (is_shown_) fmt::print(stderr, "\r\033[K");
}

std::function<void(const std::string&)> RunProgress::line() {
  return [this](const std::string& said) {
    if (isatty(STDERR_FILENO) != 1 || clock_s() < shown_from_s_) return;
    is_shown_ = true;
    fmt::print(stderr, "\r\033[K{}: {}; at most {:.0f} s left", what_, said,
               std::max(0.0, end_s_ - clock_s()));
    std::fflush(stderr);
  };
}

json to_json(const CollectiveExperiment& experiment) {
  json document = experiment.about;
  document["format"] = "forescale-executed-collectives-1";
  document["library"] = experiment.library;
  document["refused"] = experiment.refused;
  document["rows"] = json::array();
  for (const CollectiveRow& row : experiment.rows) document["rows"].push_back(to_json(row));
  if (is_predicted(experiment))
    document["summary"] = to_json(summarise_collectives(experiment.rows));
  if (!experiment.failure.empty()) document["failure"] = experiment.failure;
  return document;
}

void report(const CollectiveExperiment& experiment, const CollectiveExperimentText& text) {
  json document = to_json(experiment);
  document["command"] = text.line;
  if (!text.file.empty()) write_json(text.file, document, "-o");
  if (!text.chart.empty())
    write_file(text.chart,
               collective_chart(experiment.rows, "Collectives on real MPI, " + experiment.library),
               "--chart");
  const CollectiveSummary summary = summarise_collectives(experiment.rows);
  if (text.json) {
    fmt::print("{}\n", document.dump(2));
  } else {
    print_experiment_rows(experiment);
    print_gaps(experiment);
    if (summary.all.rows > 0) print_errors(summary);
    print_picks(summary);
  }
  std::fflush(stdout);
  if (!experiment.failure.empty()) throw SimulationStuck(experiment.failure);
  const std::vector<std::string> broken =
      broken_expectations(parse_expectations(text.expect, "--expect"), summary);
  if (!broken.empty()) throw CheckFailed(fmt::format("{}", fmt::join(broken, "; ")));
}

}  // namespace forescale
