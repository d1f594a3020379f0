#include "studies/validate/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "sim/ask/spread.hpp"
#include "studies/validate/claim_runs.hpp"

namespace forescale {
namespace {

using nlohmann::json;

double in_gib(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

// Notes which runs a formula asks for, on the way to an answer that nobody reads.
class Needs : public FormulaValues {
 public:
  Needs(const ClaimFile& file, std::vector<NeededRun>& runs) : file_(file), runs_(runs) {}
  double point(const std::string& request, int gpus, const std::string& /*value*/) override {
    return note(request, gpus, 0);
  }
  double collective(const std::string& request, int ranks, std::int64_t bytes) override {
    return note(request, ranks, bytes);
  }
  double bound(const std::string& request, int ranks, std::int64_t bytes) override {
    return note(request, ranks, bytes);
  }
  double claim(const std::string& /*id*/) override { return 1; }

 private:
  double note(const std::string& request, int ranks, std::int64_t bytes) {
    runs_.push_back(NeededRun::of(file_.requests.at(request), ranks, bytes));
    return 1;
  }
  const ClaimFile& file_;
  std::vector<NeededRun>& runs_;
};

// Of a formula's runs: those that ClaimRuns has, or what an influence makes of them.
class Answers : public FormulaValues {
 public:
  Answers(const ClaimFile& file, const ClaimRuns& runs) : file_(file), runs_(runs) {}
  // In place of the nominal answers of `runs`, in their order.
  Answers(const ClaimFile& file, const ClaimRuns& runs, const std::vector<NeededRun>& varied,
          const std::vector<Answer>& answers)
      : file_(file), runs_(runs) {
    for (size_t i = 0; i < varied.size(); ++i) varied_[&runs.answer(varied[i])] = &answers[i];
  }

  double point(const std::string& request, int gpus, const std::string& value) override {
    const Answer& of_request = answer(request, gpus, 0);
    const PredictionPoint& found = of_request.training;
    if (value == "memory_gib") return in_gib(found.memory_bytes);
    if (value == "allocated_gib") return in_gib(of_request.allocated_bytes);
    if (value == "memory_high_gib") return in_gib(of_request.memory_high_bytes);
    if (!found.fits)
      throw OutOfMemory(fmt::format("a batch of {} a GPU does not fit in GPU memory at {} GPUs",
                                    found.batch_per_gpu, gpus));
    if (value == "images_per_s") return found.images_per_s;
    if (value == "iteration_s") return found.iteration_s;
    if (value == "compute_s") return found.compute_s;
    if (value == "exposed_communication_s") return found.exposed_communication_s;
    return found.root_s.at(value.substr(0, value.size() - 2));  // "aggregation_s"
  }
  double collective(const std::string& request, int ranks, std::int64_t bytes) override {
    return answer(request, ranks, bytes).collective.time_s;
  }
  double bound(const std::string& request, int ranks, std::int64_t bytes) override {
    return answer(request, ranks, bytes).collective.bound_s;
  }
  double claim(const std::string& id) override {
    for (const Claim& claim : file_.claims)
      if (claim.id == id) return claim.measured.front();
    FORESCALE_CHECK(false, "a claim that the reader let pass: " + id);
  }

 private:
  const Answer& answer(const std::string& request, int ranks, std::int64_t bytes) const {
    const RangedAnswer& ranged =
        runs_.answer(NeededRun::of(file_.requests.at(request), ranks, bytes));
    const auto varied = varied_.find(&ranged);
    const Answer& found = varied == varied_.end() ? ranged.nominal : *varied->second;
    if (!found.failure.empty()) throw Unavailable(found.failure);
    return found;
  }
  const ClaimFile& file_;
  const ClaimRuns& runs_;
  std::map<const RangedAnswer*, const Answer*> varied_ = {};
};

std::vector<NeededRun> runs_of(const Claim& claim, const ClaimFile& file) {
  std::vector<NeededRun> runs;
  Needs needs(file, runs);
  for (const Formula* formula : formulas_of(claim)) evaluate(*formula, needs);
  return runs;
}

StepOutcome outcome_of(const OrderingStep& step, FormulaValues& values) {
  StepOutcome outcome{.text = step.text, .values = {}, .right = true};
  for (const Formula& operand : step.operands) outcome.values.push_back(evaluate(operand, values));
  for (size_t i = 1; i < outcome.values.size(); ++i) {
    const double share = step.within_percent / 100;
    const bool holds = step.equal ? std::abs(outcome.values[i] / outcome.values[0] - 1) <= share
                                  : outcome.values[i - 1] * (1 + share) > outcome.values[i];
    outcome.right = outcome.right && holds;
  }
  return outcome;
}

void add_unique(std::vector<std::string>& list, const std::string& text) {
  if (!text.empty() && std::find(list.begin(), list.end(), text) == list.end())
    list.push_back(text);
}

void add_inputs(ValidationRow& row, const std::vector<NeededRun>& needed, const ClaimRuns& runs) {
  for (const NeededRun& run : needed) {
    const Question question = runs.question_of(run);
    add_unique(row.systems, !question.system.empty() ? question.system
                            : !question.schedule.empty()
                                ? question.schedule + " with " + question.stack
                                : question.stack);
    add_unique(row.platforms, question.platform);
    if (run.calibration) row.compute_scale = question.compute_scale;
    add_unique(row.commands, command_of(question));
  }
}

// The 90 % interval of what is predicted.
void add_range(ValidationRow& row, const ClaimFile& file, const ClaimRuns& runs) {
  if (!row.predicted || !row.claim.formula) return;
  std::vector<NeededRun> needed;
  Needs needs(file, needed);
  evaluate(*row.claim.formula, needs);
  std::vector<NeededRun> distinct;
  std::vector<const RangedAnswer*> answers;
  for (const NeededRun& run : needed) {
    const RangedAnswer* answer = &runs.answer(run);
    // What does not fit in memory is left out of extremes: at all ends alike.
    if (!answer->nominal.is_there() ||
        std::find(answers.begin(), answers.end(), answer) != answers.end())
      continue;
    distinct.push_back(run);
    answers.push_back(answer);
  }
  const Spread spread = spread_of(answers, [&](const std::vector<Answer>& varied) {
    Answers values(file, runs, distinct, varied);
    return evaluate(*row.claim.formula, values);
  });
  row.runs = static_cast<int>(answers.size());
  if (!answers.empty()) {
    row.about = answers.front()->nominal.about;
    for (const RangedAnswer* answer : answers) {
      row.nodes = std::max(row.nodes, answer->nominal.nodes);
      row.reads_images = row.reads_images || answer->nominal.reads_images;
      row.from_kernels = row.from_kernels || answer->nominal.from_kernels;
      row.busiest_share = std::max(row.busiest_share, answer->nominal.busiest_share());
    }
  }
  if (!spread.is_known) return;
  row.low = spread.low;
  row.high = spread.high;
  row.shares = spread.shares;
}

void check_choice(const std::vector<std::string>& chosen, const std::vector<std::string>& known,
                  const std::string& option) {
  for (const std::string& name : chosen)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw InputError(
          {.source = option, .path = "", .value = name, .constraint = unknown_name(name, known)});
}

bool allows(const std::vector<std::string>& chosen, const std::string& name) {
  return chosen.empty() || std::find(chosen.begin(), chosen.end(), name) != chosen.end();
}

void check_choices(const std::vector<ClaimFile>& files, const ValidationChoice& choice) {
  std::vector<std::string> papers;
  std::vector<std::string> ids;
  for (const ClaimFile& file : files) {
    add_unique(papers, file.paper);
    for (const Claim& claim : file.claims) ids.push_back(claim.id);
  }
  check_choice(choice.papers, papers, "--paper");
  check_choice(choice.ids, ids, "--id");
  for (const std::string& role : choice.roles) parse_role(role, "--role");
}

void add_shared(Validation& validation) {
  for (ValidationRow& row : validation.rows)
    for (const ValidationRow& other : validation.rows) {
      if (&row == &other || row.claim.paper != other.claim.paper) continue;
      for (const std::string& key : row.claim.omitted)
        if (std::find(other.claim.omitted.begin(), other.claim.omitted.end(), key) !=
            other.claim.omitted.end())
          add_unique(row.shared_with, other.claim.id);
    }
}

void add_summaries(Validation& validation) {
  std::vector<const ValidationRow*> of_papers;
  std::map<std::pair<bool, std::string>, std::vector<const ValidationRow*>> by_file;
  for (const ValidationRow& row : validation.rows) {
    if (!row.claim.is_open) of_papers.push_back(&row);
    by_file[{row.claim.is_open, row.claim.paper}].push_back(&row);
  }
  if (!of_papers.empty()) validation.summaries.push_back(summarise("papers", of_papers));
  for (const auto& [name, rows] : by_file)
    validation.summaries.push_back(summarise(name.second, rows));
}

// What cannot be had is none, and no failure of the row.
std::optional<double> value_of(const std::optional<Formula>& formula, FormulaValues& values) {
  if (!formula) return std::nullopt;
  try {
    return evaluate(*formula, values);
  } catch (const Unavailable&) {
    return std::nullopt;
  }
}

json measured_json(const Claim& claim) {
  if (!claim.measured_text.empty()) return claim.measured_text;
  if (claim.measured.empty()) return {};
  if (claim.measured.size() == 1) return claim.measured.front();
  return claim.measured;
}

json percent_json(const std::optional<double>& percent) {
  return percent ? json(*percent / 100) : json();
}

json row_json(const ValidationRow& row) {
  const Claim& claim = row.claim;
  json steps = json::array();
  for (const StepOutcome& step : row.steps)
    steps.push_back({{"text", step.text}, {"values", step.values}, {"right", step.right}});
  return {{"id", claim.id},
          {"paper", claim.paper},
          {"section", claim.section},
          {"claim", claim.claim},
          {"measured", measured_json(claim)},
          {"unit", claim.unit},
          {"predicted", optional_json(row.predicted)},
          {"predicted_low", optional_json(row.low)},
          {"predicted_high", optional_json(row.high)},
          {"influences", row.shares},
          {"about", row.about == Question::About::kTraining ? "training" : "collective"},
          {"nodes", row.nodes},
          {"busiest_share", row.busiest_share},
          {"reads_images", row.reads_images},
          {"from_kernels", row.from_kernels},
          {"runs", row.runs},
          {"error", percent_json(row.error_percent)},
          {"trivial", optional_json(row.trivial)},
          {"trivial_error", percent_json(row.trivial_error_percent)},
          {"right", optional_json(row.right)},
          {"steps", steps},
          {"role", name_of(claim.role)},
          {"qualifier", claim.qualifier},
          {"reason", claim.reason},
          {"failure", row.failure},
          {"note", claim.note},
          {"contradiction", claim.contradiction},
          {"cause", claim.cause ? claim.cause->text : ""},
          {"cause_test", claim.cause ? claim.cause->test : ""},
          {"broken_cause", row.broken_cause()},
          {"suspected", claim.suspected},
          {"decided_by", claim.decided_by},
          {"same_as", claim.same_as},
          {"open", claim.is_open},
          {"shared", claim.omitted},
          {"shared_with", row.shared_with},
          {"systems", row.systems},
          {"platforms", row.platforms},
          {"commands", row.commands},
          {"compute_scale", row.compute_scale}};
}

json accuracy_json(const Accuracy& accuracy) {
  return {{"scored", accuracy.scored},
          {"median_absolute_error", accuracy.median_error_percent / 100},
          {"within_15_percent", accuracy.within_15_percent},
          {"within_30_percent", accuracy.within_30_percent},
          {"trivial_median_absolute_error", accuracy.trivial_median_error_percent / 100}};
}

json summary_json(const ValidationSummary& summary) {
  return {{"of", summary.of},
          {"rows", summary.rows},
          {"roles", summary.roles},
          {"predictions", accuracy_json(summary.predictions)},
          {"adjusted", accuracy_json(summary.adjusted)},
          {"coverage",
           {{"ranged", summary.coverage.ranged},
            {"holding", summary.coverage.holding},
            {"median_half_width", summary.coverage.median_half_width_percent / 100}}},
          {"failed", summary.failed},
          {"orderings_right", summary.orderings_right},
          {"orderings_wrong", summary.orderings_wrong},
          {"unexplained_misses", summary.unexplained}};
}

using ChosenClaim = std::pair<const ClaimFile*, const Claim*>;

std::vector<ChosenClaim> chosen_of(const ValidationCase& of) {
  std::vector<ChosenClaim> chosen;
  for (const ClaimFile& file : of.files) {
    if (!allows(of.choice.papers, file.paper)) continue;
    for (const Claim& claim : file.claims)
      if (allows(of.choice.ids, claim.id) && allows(of.choice.roles, name_of(claim.role)))
        chosen.emplace_back(&file, &claim);
  }
  if (chosen.empty())
    throw InputError({.source = "validate",
                      .path = "",
                      .value = "",
                      .constraint = "no claim is in all of --paper, --id and --role"});
  return chosen;
}

Validation validation_of(const ValidationCase& of, const ClaimRuns& runs) {
  Validation validation;
  validation.runs = runs.count();
  std::set<std::pair<std::string, std::string>> used;
  for (const auto& [file, claim] : chosen_of(of)) {
    Answers answers(*file, runs);
    ValidationRow row = compare(*claim, answers);
    add_inputs(row, runs_of(*claim, *file), runs);
    if (of.choice.draws.has_range()) add_range(row, *file, runs);
    for (const std::string& key : claim->omitted) used.emplace(file->paper, key);
    validation.rows.push_back(std::move(row));
  }
  for (const ClaimFile& file : of.files)
    for (const OmissionRule& rule : file.rules)
      if (used.erase({file.paper, rule.key}) > 0) validation.rules.emplace_back(file.paper, rule);
  add_shared(validation);
  add_summaries(validation);
  return validation;
}

}  // namespace

ValidationRow compare(const Claim& claim, FormulaValues& values) {
  ValidationRow row;
  row.claim = claim;
  row.trivial = value_of(claim.trivial, values);
  if (row.trivial) row.trivial_error_percent = error_percent(claim, *row.trivial);
  if (claim.cause) row.cause_value = value_of(claim.cause->shown, values);
  try {
    if (claim.formula) {
      row.predicted = evaluate(*claim.formula, values);
      if (!claim.measured.empty()) row.error_percent = error_percent(claim, *row.predicted);
    }
    for (const OrderingStep& step : claim.ordering) {
      row.steps.push_back(outcome_of(step, values));
      row.right = row.right.value_or(true) && row.steps.back().right;
    }
  } catch (const Unavailable& unavailable) {
    row.failure = unavailable.what();
    row.predicted.reset();
    row.error_percent.reset();
    row.right.reset();
  }
  return row;
}

Validation validate(const std::vector<ClaimFile>& files, const ValidationChoice& choice) {
  Asker asker;
  return validate_each({{.files = files, .choice = choice}}, asker,
                       "simulating what the claims need")
      .front();
}

std::vector<Validation> validate_each(const std::vector<ValidationCase>& cases, Asker& asker,
                                      const std::string& label) {
  if (cases.empty()) return {};
  ClaimRuns runs(cases.front().choice.draws, asker);
  for (const ValidationCase& each : cases) {
    check_choices(each.files, each.choice);
    for (const auto& [file, claim] : chosen_of(each))
      for (const NeededRun& run : runs_of(*claim, *file)) runs.need(run);
  }
  runs.run_all(label);
  std::vector<Validation> validations;
  for (const ValidationCase& each : cases) validations.push_back(validation_of(each, runs));
  return validations;
}

json to_json(const Validation& validation) {
  json rows = json::array();
  for (const ValidationRow& row : validation.rows) rows.push_back(row_json(row));
  json rules = json::array();
  for (const auto& [paper, rule] : validation.rules)
    rules.push_back({{"paper", paper},
                     {"key", rule.key},
                     {"input", rule.input},
                     {"value", rule.value},
                     {"rule", rule.rule}});
  json summaries = json::object();
  for (const ValidationSummary& summary : validation.summaries)
    summaries[summary.of] = summary_json(summary);
  return {{"format", "forescale-validation-1"},
          {"rows", rows},
          {"rules", rules},
          {"summary", summaries},
          {"runs", validation.runs}};
}

}  // namespace forescale
