// Published claims held against predictions: rows, errors and a summary.
//
// How a number is compared. The error is (predicted - measured) / measured. "exact" and
// "approximately" compare the number; "up to" and "at most" state the largest, "at least" the
// smallest over a stated domain, so the claim's formula takes that extreme and the number is
// compared; a range has no error inside, else the distance to its nearer end. "x % less time" is a
// speed-up in other words and is compared as one, 1 / (1 - x / 100): else 1 % beside 2 % would be
// an error of 100 %, the same result told as 1.01 beside 1.02 one of 1 %.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "studies/validate/claim_runs.hpp"
#include "studies/validate/claims.hpp"

namespace forescale {

struct StepOutcome {
  std::string text;
  std::vector<double> values;
  bool right = false;
};

struct ValidationRow {
  Claim claim;
  std::optional<double> predicted;  // none: not predictable, an ordering, or `failure`
  std::optional<double> fast;       // assumed numbers at their ends, where asked for
  std::optional<double> slow;
  std::optional<double> error_percent;
  std::vector<StepOutcome> steps;  // of an ordering
  std::optional<bool> right;       // all steps
  std::string failure;             // why a number could not be had
  std::vector<std::string> systems;
  std::vector<std::string> platforms;
  std::vector<std::string> commands;     // that repeat its runs
  double compute_scale = 1;              // of a calibrated request
  std::vector<std::string> shared_with;  // ids of rows with a rule in common
};

// Over some rows. Only predictions with a number count for the errors.
struct ValidationSummary {
  std::string of;  // "five papers", "open", "s-caffe"
  int rows = 0;
  std::map<std::string, int> roles;
  int scored = 0;
  int failed = 0;  // predictions and orderings without an answer
  double median_error_percent = 0;
  double within_15_percent = 0;  // share of the scored
  double within_30_percent = 0;
  int orderings_right = 0;
  int orderings_wrong = 0;
};

struct Validation {
  std::vector<ValidationRow> rows;
  std::vector<std::pair<std::string, OmissionRule>> rules;  // with their papers, those used
  std::vector<ValidationSummary> summaries;  // all papers together, open tables, each paper
  size_t runs = 0;                           // distinct simulations
};

struct ValidationChoice {
  std::vector<std::string> papers;  // empty: all
  std::vector<std::string> ids;
  std::vector<std::string> roles;
  bool range = false;
};

// InputError for a paper, id or role that does not exist.
Validation validate(const std::vector<ClaimFile>& files, const ValidationChoice& choice);

// One row from numbers that are there already; what cannot be had becomes its failure.
ValidationRow compare(const Claim& claim, FormulaValues& values);
// The error by the rule above; the claim has a measured number.
double error_percent(const Claim& claim, double predicted);
ValidationSummary summarise(const std::string& of, const std::vector<const ValidationRow*>& rows);

// Predictions that miss by more than 30 %.
bool is_miss(const ValidationRow& row);

nlohmann::json to_json(const Validation& validation);  // "forescale-validation-1"

}  // namespace forescale
