#include "studies/validate/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/data_files.hpp"
#include "base/error.hpp"

namespace forescale {
namespace {

constexpr const char* kFolder = "studies/claims";
constexpr double kLowest = std::numeric_limits<double>::lowest();

std::string text_of(const JsonInput& in, const char* key) {
  const auto found = in.find(key);
  return found ? found->string() : "";
}

std::vector<std::string> texts_of(const JsonInput& in, const char* key) {
  std::vector<std::string> texts;
  if (const auto found = in.find(key))
    for (const JsonInput& element : found->elements()) texts.push_back(element.string());
  return texts;
}

Role read_role(const JsonInput& in) {
  return parse_role(
      in.one_of({"prediction", "calibration", "arithmetic", "ordering", "not predictable"}),
      in.file());
}

OrderingStep read_step(const JsonInput& in) {
  in.allow_only({"text", "falling", "equal", "within_percent"});
  OrderingStep step;
  step.text = in.at("text").string();
  step.equal = in.has("equal");
  if (step.equal == in.has("falling")) in.fail("must have either \"falling\" or \"equal\"");
  if (step.equal) step.within_percent = in.at("within_percent").number(0);
  const JsonInput operands = in.at(step.equal ? "equal" : "falling");
  for (const JsonInput& operand : operands.elements())
    step.operands.push_back(read_formula(operand));
  if (step.operands.size() < 2) operands.fail("must have at least two operands");
  return step;
}

void read_measured(const JsonInput& in, Claim& claim) {
  if (in.is_string()) {
    claim.measured_text = in.string();
  } else if (in.is_array()) {
    for (const JsonInput& end : in.elements()) claim.measured.push_back(end.number(kLowest));
    if (claim.measured.size() != 2 || claim.measured[0] > claim.measured[1])
      in.fail("must be a number, text or [low, high]");
  } else {
    claim.measured.push_back(in.number(kLowest));
  }
}

Claim read_claim(const JsonInput& in, const ClaimFile& file) {
  in.allow_only({"id", "section", "claim", "role", "qualifier", "measured", "unit", "reason",
                 "formula", "ordering", "omitted", "contradiction", "cause"});
  Claim claim;
  claim.paper = file.paper;
  claim.id = in.at("id").string();
  claim.section = in.at("section").string();
  claim.claim = in.at("claim").string();
  claim.role = read_role(in.at("role"));
  claim.qualifier =
      in.at("qualifier")
          .one_of({"exact", "approximately", "up to", "at least", "at most", "range", "ordering"});
  claim.unit = text_of(in, "unit");
  claim.reason = text_of(in, "reason");
  claim.contradiction = text_of(in, "contradiction");
  claim.cause = text_of(in, "cause");
  claim.note = text_of(in, "note");
  claim.omitted = texts_of(in, "omitted");
  if (const auto measured = in.find("measured")) read_measured(*measured, claim);
  if (const auto formula = in.find("formula")) claim.formula = read_formula(*formula);
  if (const auto steps = in.find("ordering"))
    for (const JsonInput& step : steps->elements()) claim.ordering.push_back(read_step(step));
  switch (claim.role) {
    case Role::kPrediction:
    case Role::kArithmetic:
      in.at("formula");
      if (claim.measured.empty()) in.at("measured").fail("must be a number to be compared with");
      break;
    case Role::kOrdering:
      in.at("ordering");
      break;
    case Role::kNotPredictable:
      in.at("reason");
      break;
    case Role::kCalibration:
      break;
  }
  return claim;
}

Formula number_formula(double number) {
  Formula formula;
  formula.number = number;
  return formula;
}

Formula collective_formula(const std::string& request, int ranks, std::int64_t bytes) {
  Formula formula;
  formula.kind = Formula::Kind::kCollective;
  formula.name = request;
  formula.ranks = ranks;
  formula.bytes = {bytes};
  return formula;
}

// Throughput by GPU count, or time by bytes ("ranks" given): the smallest is the calibration.
void read_series(const JsonInput& in, ClaimFile& file) {
  in.allow_only({"id", "claim", "request", "ranks", "measured", "unit", "omitted", "cause"});
  const JsonInput request_in = in.at("request");
  const auto request = file.requests.find(request_in.string());
  if (request == file.requests.end()) request_in.fail("is no request of this file");
  const bool is_collective = request->second.question.about == Question::About::kCollective;
  const std::string id = in.at("id").string();
  const std::string source = in.at("source").string();
  const JsonInput measured_in = in.at("measured");
  std::map<std::int64_t, double> measured;
  for (const std::string& key : measured_in.keys())
    measured[parse_integer(key, measured_in.file() + ":" + measured_in.path())] =
        measured_in.at(key).number(0);
  if (measured.size() < 2) measured_in.fail("must have at least two scales");
  if (is_collective) in.at("ranks");
  const auto& [least, at_least] = *measured.begin();

  RunRequest own = request->second;
  own.name = id;
  if (!is_collective)
    own.calibration =
        Calibration{.gpus = static_cast<int>(least), .images_per_s = at_least, .source = source};
  file.requests[id] = own;
  for (const auto& [scale, value] : measured) {
    Claim claim;
    claim.paper = file.paper;
    claim.id = fmt::format("{}-{}", id, scale);
    claim.section = source;
    claim.claim =
        fmt::format("{}, {}", in.at("claim").string(),
                    is_collective ? to_text(Bytes{scale}) : fmt::format("{} GPUs", scale));
    claim.role = scale == least ? Role::kCalibration : Role::kPrediction;
    claim.qualifier = "exact";
    claim.measured = {value};
    claim.unit = in.at("unit").string();
    claim.omitted = texts_of(in, "omitted");
    claim.cause = text_of(in, "cause");
    claim.note = text_of(in, "note");
    Formula formula;
    if (is_collective) {
      const int ranks = static_cast<int>(in.at("ranks").integer(1, 1 << 20));
      Formula ratio;
      ratio.kind = Formula::Kind::kRatio;
      ratio.operands = {collective_formula(id, ranks, scale), collective_formula(id, ranks, least)};
      formula.kind = Formula::Kind::kProduct;
      formula.operands = {number_formula(at_least), ratio};
    } else {
      formula.kind = Formula::Kind::kPoint;
      formula.name = id;
      formula.ranks = static_cast<int>(scale);
      formula.value = "images_per_s";
    }
    claim.formula = formula;
    file.claims.push_back(claim);
  }
}

void add_requests(const Formula& formula, std::vector<std::string>& names) {
  using Kind = Formula::Kind;
  for (const Formula& operand : formula.operands) add_requests(operand, names);
  const bool one = formula.kind == Kind::kPoint || formula.kind == Kind::kCollective ||
                   formula.kind == Kind::kEfficiency;
  const bool two = formula.kind == Kind::kOverSizes || formula.kind == Kind::kCrossover;
  if (one || two) names.push_back(formula.name);
  if (two) names.push_back(formula.other);
}

void check_kind(const Formula& formula, const ClaimFile& file, const JsonInput& in) {
  using Kind = Formula::Kind;
  for (const Formula& operand : formula.operands) check_kind(operand, file, in);
  const bool trains = formula.kind == Kind::kPoint || formula.kind == Kind::kEfficiency;
  const bool two = formula.kind == Kind::kOverSizes || formula.kind == Kind::kCrossover;
  if (formula.kind == Kind::kClaim) {
    for (const Claim& claim : file.claims)
      if (claim.id == formula.name && claim.measured.size() == 1) return;
    in.fail(formula.name + " is no claim of this file with one measured number");
  }
  if (!trains && !two && formula.kind != Kind::kCollective) return;
  for (const std::string& name : {formula.name, two ? formula.other : formula.name}) {
    const auto request = file.requests.find(name);
    if (request == file.requests.end()) in.fail(name + " is no request of this file");
    if ((request->second.question.about == Question::About::kTraining) != trains)
      in.fail(name + (trains ? " is no training run" : " is no collective"));
  }
}

// Names that are used exist, ids once; a claim omits what its requests omit. `origins`: where each
// claim was read.
void connect(const JsonInput& in, const std::vector<JsonInput>& origins, ClaimFile& file) {
  std::set<std::string> rules;
  for (const OmissionRule& rule : file.rules) rules.insert(rule.key);
  const auto check_rule = [&](const std::string& key, const JsonInput& user) {
    if (!rules.contains(key)) user.fail("omits \"" + key + "\", which is no rule of this file");
  };
  if (const auto requests = in.find("requests"))
    for (const std::string& name : requests->keys())
      for (const std::string& key : file.requests.at(name).omitted)
        check_rule(key, requests->at(name));
  std::set<std::string> ids;
  for (size_t i = 0; i < file.claims.size(); ++i) {
    Claim& claim = file.claims[i];
    const JsonInput& origin = origins[i];
    if (!ids.insert(claim.id).second) origin.fail("has the id of another claim, " + claim.id);
    std::set<std::string> omitted(claim.omitted.begin(), claim.omitted.end());
    for (const std::string& key : omitted) check_rule(key, origin);
    if (claim.formula) check_kind(*claim.formula, file, origin);
    for (const OrderingStep& step : claim.ordering)
      for (const Formula& operand : step.operands) check_kind(operand, file, origin);
    for (const std::string& name : requests_of(claim))
      for (const std::string& key : file.requests.at(name).omitted) omitted.insert(key);
    claim.omitted.assign(omitted.begin(), omitted.end());
  }
}

}  // namespace

std::string name_of(Role role) {
  switch (role) {
    case Role::kPrediction:
      return "prediction";
    case Role::kCalibration:
      return "calibration";
    case Role::kArithmetic:
      return "arithmetic";
    case Role::kOrdering:
      return "ordering";
    case Role::kNotPredictable:
      return "not predictable";
  }
  FORESCALE_CHECK(false, "unknown role");
}

Role parse_role(const std::string& text, const std::string& option) {
  std::vector<std::string> names;
  for (const Role role : {Role::kPrediction, Role::kCalibration, Role::kArithmetic, Role::kOrdering,
                          Role::kNotPredictable}) {
    if (name_of(role) == text) return role;
    names.push_back(name_of(role));
  }
  throw InputError(
      {.source = option, .path = "", .value = text, .constraint = unknown_name(text, names)});
}

ClaimFile load_claims(const std::string& file_name) {
  const JsonInput in = JsonInput::from_file(file_name);
  in.allow_only({"format", "paper", "title", "rules", "requests", "claims", "series"});
  in.at("format").one_of({"forescale-claims-1"});
  ClaimFile file;
  file.paper = in.at("paper").string();
  file.title = in.at("title").string();
  if (const auto rules = in.find("rules"))
    for (const std::string& key : rules->keys()) {
      const JsonInput rule = rules->at(key);
      rule.allow_only({"input", "value", "rule"});
      file.rules.push_back({.key = key,
                            .input = rule.at("input").string(),
                            .value = rule.at("value").string(),
                            .rule = rule.at("rule").string()});
    }
  if (const auto requests = in.find("requests")) file.requests = read_requests(*requests);
  std::vector<JsonInput> origins;
  if (const auto claims = in.find("claims"))
    for (const JsonInput& claim : claims->elements()) {
      file.claims.push_back(read_claim(claim, file));
      origins.push_back(claim);
    }
  if (const auto series = in.find("series"))
    for (const JsonInput& one : series->elements()) {
      read_series(one, file);
      origins.resize(file.claims.size(), one);
    }
  connect(in, origins, file);
  return file;
}

std::vector<ClaimFile> load_all_claims() {
  std::vector<ClaimFile> files;
  for (const std::string& name : catalogue(kFolder))
    files.push_back(load_claims(find_data_file(kFolder, name, "validate")));
  std::set<std::string> ids;
  for (const ClaimFile& file : files)
    for (const Claim& claim : file.claims)
      if (!ids.insert(claim.id).second)
        throw InputError({.source = kFolder,
                          .path = "",
                          .value = claim.id,
                          .constraint = "is the id of claims in two files"});
  return files;
}

std::vector<std::string> requests_of(const Claim& claim) {
  std::vector<std::string> names;
  if (claim.formula) add_requests(*claim.formula, names);
  for (const OrderingStep& step : claim.ordering)
    for (const Formula& operand : step.operands) add_requests(operand, names);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace forescale
