// Published numbers and how each is predicted: studies/claims/NAME.json.
//
//   {"format": "forescale-claims-1", "paper": "s-caffe", "title",
//    "rules":    {KEY: {"input", "value", "rule"}},     inputs that the paper omits, fixed once
//    "requests": {KEY: {"predict": {...}} or {"collective": {...}}, with "omitted": [rule keys]},
//    "claims":   [{"id", "section", "claim", "role", ...}],
//    "series":   [...]}                                 measured scaling, expanded into claims
// A request may "extend" another one of the file and state only what differs. Roles: `prediction`
// (scored), `calibration` (its number was used), `arithmetic` (a count or formula, not scored),
// `ordering` (right or wrong), `not predictable` (with "reason").
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

enum class Role { kPrediction, kCalibration, kArithmetic, kOrdering, kNotPredictable };
std::string name_of(Role role);
Role parse_role(const std::string& text, const std::string& option);

// One step of an ordering: the operands fall strictly, or lie within `within_percent` of the first.
struct OrderingStep {
  std::string text;
  bool equal = false;
  double within_percent = 0;
  std::vector<Formula> operands;
};

struct Claim {
  std::string id;
  std::string paper;
  std::string section;
  std::string claim;
  Role role = Role::kPrediction;
  std::string qualifier;         // exact, up to, at least, approximately, range
  std::vector<double> measured;  // one number, the two ends of a range, or none
  std::string measured_text;     // for what is no number
  std::string unit;
  std::string reason;  // why not predictable
  std::optional<Formula> formula;
  std::vector<OrderingStep> ordering;
  std::vector<std::string> omitted;  // keys of rules, those of its requests included
  std::string contradiction;         // where the source contradicts itself
  std::string cause;                 // of a large error, looked for
  std::string note;
};

struct ClaimFile {
  std::string paper;
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

// Names of the requests that a formula or ordering uses.
std::vector<std::string> requests_of(const Claim& claim);

}  // namespace forescale
