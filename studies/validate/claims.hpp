// Published numbers and how each is predicted: studies/claims/NAME.json.
//
//   {"format": "forescale-claims-1", "paper": "s-caffe", "title",
//    "open":     true,                                  of tables by others, not of a paper
//    "rules":    {KEY: {"input", "value", "rule"}},     inputs that the paper omits, fixed once
//    "requests": {KEY: {"predict": {...}} or {"collective": {...}}, with "omitted": [rule keys]},
//    "claims":   [{"id", "section", "claim", "role", ...}],
//    "series":   [...]}                                 measured scaling, or layouts, expanded into
//                                                       claims
// A request may "extend" another one of the file and state only what differs. A claim is a number
// ("formula") or an order ("ordering"). Roles: `prediction`, `adjusted` (the model was changed
// after the row was compared), `calibration` (its number was used), `arithmetic` (a count or
// formula), `duplicate` (another row, "same_as", has the same quantity), `not predictable` (with
// "reason"). A number that is predicted or adjusted says with "trivial" what one would say without
// a model: linear scaling, no effect. Of a collective's time that is its bound.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "studies/validate/claim_requests.hpp"
#include "studies/validate/formula.hpp"

namespace forescale {

// An input that a paper omits.
struct OmissionRule {
  std::string key;
  std::string input;
  std::string value;
  std::string rule;  // how the value was chosen, before any comparison
};

enum class Role { kPrediction, kAdjusted, kCalibration, kArithmetic, kDuplicate, kNotPredictable };
std::string name_of(Role role);
Role parse_role(const std::string& text, const std::string& option);

// One step of an ordering: the operands fall, each below the one before or, where a paper calls
// them comparable too, at most `within_percent` above it; or they lie within `within_percent` of
// the first.
struct OrderingStep {
  std::string text;
  bool equal = false;
  double within_percent = 0;
  std::vector<Formula> operands;
};

struct Limits {
  double low = 0;
  double high = 0;
  bool holds(double value) const { return low <= value && value <= high; }
};

// Why a row is far off, shown and not only said: by a number that lies where the cause has it, or
// by a test. {"text", "error_percent": [low, high], "shown": {"formula", "between": [low, high]}}
// or "test": "SUITE.NAME" for "shown".
struct MissCause {
  std::string text;
  Limits error_percent;  // of the row; of another error it is not the cause
  std::optional<Formula> shown = {};
  Limits between = {};
  std::string test = {};
};

struct Claim {
  std::string id;
  std::string paper;
  bool is_open = false;
  std::string section;
  std::string claim;
  Role role = Role::kPrediction;
  std::string qualifier;         // exact, up to, at least, approximately, range
  std::vector<double> measured;  // one number, the two ends of a range, or none
  std::string measured_text;     // for what is no number
  std::string unit;
  std::string reason;   // why not predictable
  std::string same_as;  // of a duplicate: the row that is scored
  std::optional<Formula> formula;
  std::optional<Formula> trivial;
  std::vector<OrderingStep> ordering;
  std::vector<std::string> omitted;  // keys of rules, those of its requests included
  std::string contradiction;         // where the source contradicts itself
  std::optional<MissCause> cause;    // of a large error
  std::string suspected;             // a cause that nothing shows
  std::string decided_by;            // of an ordering that comes out wrong: what to measure
  std::string note;

  bool is_scored() const { return role == Role::kPrediction || role == Role::kAdjusted; }
  bool is_factor() const { return unit == "x"; }  // of one time, or speed, over another
};

struct ClaimFile {
  std::string paper;
  bool is_open = false;
  std::string title;
  std::vector<OmissionRule> rules;
  std::map<std::string, RunRequest> requests;
  std::vector<Claim> claims;
};

// InputError naming file, path, value and constraint; also for ids, rules and requests that do not
// exist or exist twice.
ClaimFile load_claims(const std::string& file);
// All of studies/claims, by file name; an id may appear only once.
std::vector<ClaimFile> load_all_claims();

// All that it has: its own, the trivial one, what shows its cause, the operands of its ordering.
std::vector<const Formula*> formulas_of(const Claim& claim);
// Names of the requests that they use.
std::vector<std::string> requests_of(const Claim& claim);

}  // namespace forescale
