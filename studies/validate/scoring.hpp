// How far off predictions are, and what one would have scored without a model.
//
// An improvement is compared with the improvement: of "14 % less time" and 1.8 % the error is -87
// %, of a factor of 1.2 and 1.4 it is +100 %, as the improvement doubled. "nothing changes" scores
// 100 %. Every other number is compared as it is, (predicted - measured) / measured. "exact" and
// "approximately" compare the number; "up to" and "at most" state the largest, "at least" the
// smallest over a stated domain, so the claim's formula takes that extreme; a range has no error
// inside, else that to its nearer end.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

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
  std::optional<double> low;        // of the 90 % interval, where asked for
  std::optional<double> high;
  std::map<std::string, double> shares;  // of its squared half-width, by influence
  // With a range: what its simulations are of, how many they are; of the one where it is greatest,
  // nodes, and the busiest resource's share of the time.
  Question::About about = Question::About::kTraining;
  int runs = 0;
  int nodes = 1;
  double busiest_share = 0;
  bool reads_images = false;
  bool from_kernels = false;
  std::optional<double> error_percent;
  std::optional<double> trivial;  // what one would say without a model
  std::optional<double> trivial_error_percent;
  std::optional<double> cause_value;  // of the formula that shows the cause
  std::vector<StepOutcome> steps;     // of an ordering
  std::optional<bool> right;          // all steps
  std::string failure;                // why a number could not be had
  std::vector<std::string> systems;
  std::vector<std::string> platforms;
  std::vector<std::string> commands;     // that repeat its runs
  double compute_scale = 1;              // of a calibrated request
  std::vector<std::string> shared_with;  // ids of rows with a rule in common

  // Why its cause is none: the error is another one, or what should show it does not; empty: it is.
  std::string broken_cause() const;
};

// Of rows with a number that is compared.
struct Accuracy {
  int scored = 0;
  double median_error_percent = 0;
  double within_15_percent = 0;  // share
  double within_30_percent = 0;
  double trivial_median_error_percent = 0;
};

// Of rows whose range is known.
struct Coverage {
  int ranged = 0;
  int holding = 0;                       // the measured number, or a part of the measured range
  double median_half_width_percent = 0;  // of the number, or of the improvement
};

struct ValidationSummary {
  std::string of;  // "papers", "open-clusters", "s-caffe"
  int rows = 0;
  std::map<std::string, int> roles;
  Accuracy predictions;
  Accuracy adjusted;
  Coverage coverage;  // of both
  int failed = 0;     // scored rows without an answer
  int orderings_right = 0;
  int orderings_wrong = 0;
  int unexplained = 0;  // misses without a cause
};

double error_percent(const Claim& claim, double predicted);  // the claim has a measured number
// A scored number that misses by more than 30 %.
bool is_miss(const ValidationRow& row);
ValidationSummary summarise(const std::string& of, const std::vector<const ValidationRow*>& rows);

}  // namespace forescale
