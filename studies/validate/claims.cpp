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
constexpr Role kRoles[] = {Role::kPrediction, Role::kAdjusted,  Role::kCalibration,
                           Role::kArithmetic, Role::kDuplicate, Role::kNotPredictable};

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
  std::vector<std::string> names;
  for (const Role role : kRoles) {
    if (in.string() == name_of(role)) return role;
    names.push_back(name_of(role));
  }
  in.fail(unknown_name(in.string(), names));
}

OrderingStep read_step(const JsonInput& in) {
  in.allow_only({"text", "falling", "equal", "within_percent"});
  OrderingStep step;
  step.text = in.at("text").string();
  step.equal = in.has("equal");
  if (step.equal == in.has("falling")) in.fail("must have either \"falling\" or \"equal\"");
  if (step.equal || in.has("within_percent"))
    step.within_percent = in.at("within_percent").number(0);
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

Limits read_limits(const JsonInput& in) {
  const std::vector<JsonInput> ends = in.elements();
  if (ends.size() != 2) in.fail("must be [low, high]");
  const Limits limits{.low = ends[0].number(kLowest), .high = ends[1].number(kLowest)};
  if (limits.low > limits.high) in.fail("must be [low, high]: its ends are reversed");
  return limits;
}

MissCause read_cause(const JsonInput& in) {
  in.allow_only({"text", "error_percent", "shown", "test"});
  MissCause cause{.text = in.at("text").string(),
                  .error_percent = read_limits(in.at("error_percent"))};
  if (in.has("shown") == in.has("test"))
    in.fail("must have either \"shown\" or \"test\": what shows that it is the cause");
  if (const auto shown = in.find("shown")) {
    shown->allow_only({"formula", "between"});
    cause.shown = read_formula(shown->at("formula"));
    cause.between = read_limits(shown->at("between"));
  }
  cause.test = text_of(in, "test");
  return cause;
}

// A collective's time is never below its bound: without a model one would say that.
std::optional<Formula> bound_of(const Formula& formula) {
  if (formula.kind != Formula::Kind::kCollective) return std::nullopt;
  Formula bound = formula;
  bound.kind = Formula::Kind::kBound;
  return bound;
}

void read_scored(const JsonInput& in, Claim& claim) {
  if (!claim.ordering.empty()) {
    if (claim.formula) in.fail("must have either \"formula\" or \"ordering\"");
    return;
  }
  in.at("formula");
  if (claim.measured.empty()) in.at("measured").fail("must be a number to be compared with");
  if (!claim.trivial) claim.trivial = bound_of(*claim.formula);
  if (!claim.trivial) in.at("trivial");  // says that it is required
  if (claim.is_factor() &&
      std::find(claim.measured.begin(), claim.measured.end(), 1.0) != claim.measured.end())
    in.at("measured").fail("must not be 1: there is no improvement to compare with");
}

Claim read_claim(const JsonInput& in, const ClaimFile& file) {
  in.allow_only({"id", "section", "claim", "role", "qualifier", "measured", "unit", "reason",
                 "same_as", "formula", "trivial", "ordering", "omitted", "contradiction", "cause",
                 "suspected", "decided_by"});
  Claim claim;
  claim.paper = file.paper;
  claim.is_open = file.is_open;
  claim.id = in.at("id").string();
  claim.section = in.at("section").string();
  claim.claim = in.at("claim").string();
  claim.role = read_role(in.at("role"));
  claim.qualifier =
      in.at("qualifier")
          .one_of({"exact", "approximately", "up to", "at least", "at most", "range", "ordering"});
  claim.unit = text_of(in, "unit");
  claim.reason = text_of(in, "reason");
  claim.same_as = text_of(in, "same_as");
  claim.contradiction = text_of(in, "contradiction");
  claim.suspected = text_of(in, "suspected");
  claim.decided_by = text_of(in, "decided_by");
  claim.note = text_of(in, "note");
  claim.omitted = texts_of(in, "omitted");
  if (const auto cause = in.find("cause")) claim.cause = read_cause(*cause);
  if (const auto measured = in.find("measured")) read_measured(*measured, claim);
  if (const auto formula = in.find("formula")) claim.formula = read_formula(*formula);
  if (const auto trivial = in.find("trivial")) claim.trivial = read_formula(*trivial);
  if (const auto steps = in.find("ordering"))
    for (const JsonInput& step : steps->elements()) claim.ordering.push_back(read_step(step));
  switch (claim.role) {
    case Role::kPrediction:
    case Role::kAdjusted:
      read_scored(in, claim);
      break;
    case Role::kArithmetic:
      in.at("formula");
      if (claim.measured.empty()) in.at("measured").fail("must be a number to be compared with");
      break;
    case Role::kDuplicate:
      in.at("same_as");
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

Formula point_formula(const std::string& request, int gpus, const std::string& value) {
  Formula formula;
  formula.kind = Formula::Kind::kPoint;
  formula.name = request;
  formula.ranks = gpus;
  formula.value = value;
  return formula;
}

// Of a row of `series`, what all of its claims say.
Claim claim_of_row(const JsonInput& series, const JsonInput& row, const ClaimFile& file) {
  Claim claim;
  claim.paper = file.paper;
  claim.is_open = file.is_open;
  const std::int64_t gpus = row.at("gpus").integer(1, 1 << 24);
  const std::string layout = row.at("layout").string();
  claim.id = fmt::format("{}-{}-{}", series.at("id").string(), gpus, layout);
  std::erase(claim.id, '=');
  std::replace(claim.id.begin(), claim.id.end(), ',', '-');
  claim.section = series.at("source").string();
  claim.claim = fmt::format("{}, {} GPUs, {}", series.at("claim").string(), gpus, layout);
  claim.role = read_role(row.has("role") ? row.at("role") : series.at("role"));
  claim.qualifier = "exact";
  claim.measured = {row.at("measured").number(0)};
  claim.unit = series.at("unit").string();
  claim.omitted = texts_of(series, "omitted");
  claim.suspected = text_of(series, "suspected");
  return claim;
}

// A row is {"gpus", "layout", "measured", "trivial"}, its role where it is another one than the
// series'. Of memory, what did not fit is "out_of_memory": true and has measured what the GPU has.
// "network_scale": {"16": 0.6} is what was measured of that cluster between nodes, by GPU count.
void read_layouts(const JsonInput& in, const RunRequest& request, ClaimFile& file) {
  const std::string value = in.at("value").one_of({"iteration_s", "memory_gib", "allocated_gib"});
  for (const JsonInput& row : in.at("layouts").elements()) {
    row.allow_only(
        {"gpus", "layout", "measured", "trivial", "role", "reason", "out_of_memory", "decided_by"});
    Claim claim = claim_of_row(in, row, file);
    RunRequest own = request;
    own.name = claim.id;
    own.question.layout = row.at("layout").string();
    if (const auto scales = in.find("network_scale"))
      if (const auto scale = scales->find(std::to_string(row.at("gpus").integer(1))))
        own.question.network_scale = scale->number(0.01, 100);
    file.requests[claim.id] = own;
    if (claim.role == Role::kNotPredictable) {
      claim.reason = row.at("reason").string();
      file.claims.push_back(claim);
      continue;
    }
    const Formula formula =
        point_formula(claim.id, static_cast<int>(row.at("gpus").integer(1)), value);
    if (const auto out = row.find("out_of_memory"); out && out->boolean()) {
      const Formula at_most =
          point_formula(claim.id, static_cast<int>(row.at("gpus").integer(1)), "memory_high_gib");
      claim.ordering = {{.text = "may need more than a GPU has",
                         .operands = {at_most, number_formula(claim.measured.front())}}};
      claim.measured.clear();
      claim.qualifier = "ordering";
      claim.decided_by = text_of(row, "decided_by");
    } else {
      claim.formula = formula;
      if (claim.is_scored()) claim.trivial = number_formula(row.at("trivial").number(0));
    }
    file.claims.push_back(claim);
  }
}

// Throughput by GPU count, or time by bytes ("ranks" given): the smallest is the calibration, and
// without a model the rest is in proportion to it. "absolute" times by bytes are all predicted as
// they are, and without a model they are the bound.
void read_series(const JsonInput& in, ClaimFile& file) {
  in.allow_only({"id", "claim", "role", "request", "ranks", "measured", "unit", "omitted",
                 "suspected", "layouts", "value", "absolute", "network_scale"});
  const JsonInput request_in = in.at("request");
  const auto request = file.requests.find(request_in.string());
  if (request == file.requests.end()) request_in.fail("is no request of this file");
  if (in.has("layouts")) {
    read_layouts(in, RunRequest(request->second), file);
    return;
  }
  if (const auto scales = in.find("network_scale")) scales->fail("is of layouts");
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
  const auto absolute = in.find("absolute");
  const bool is_absolute = absolute && absolute->boolean();
  if (is_absolute && !is_collective) absolute->fail("is of collectives");
  const Role role = read_role(in.at("role"));
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
    claim.is_open = file.is_open;
    claim.id = fmt::format("{}-{}", id, scale);
    claim.section = source;
    claim.claim =
        fmt::format("{}, {}", in.at("claim").string(),
                    is_collective ? to_text(Bytes{scale}) : fmt::format("{} GPUs", scale));
    claim.role = scale == least && !is_absolute ? Role::kCalibration : role;
    claim.qualifier = "exact";
    claim.measured = {value};
    claim.unit = in.at("unit").string();
    claim.omitted = texts_of(in, "omitted");
    claim.suspected = text_of(in, "suspected");
    claim.note = text_of(in, "note");
    Formula formula;
    Formula trivial =
        number_formula(at_least * static_cast<double>(scale) / static_cast<double>(least));
    if (is_collective) {
      const int ranks = static_cast<int>(in.at("ranks").integer(1, 1 << 20));
      Formula ratio;
      ratio.kind = Formula::Kind::kRatio;
      ratio.operands = {collective_formula(id, ranks, scale), collective_formula(id, ranks, least)};
      formula.kind = Formula::Kind::kProduct;
      formula.operands = {number_formula(at_least), ratio};
      if (is_absolute) {
        formula = collective_formula(id, ranks, scale);
        trivial = formula;
        trivial.kind = Formula::Kind::kBound;
      }
    } else {
      formula = point_formula(id, static_cast<int>(scale), "images_per_s");
    }
    claim.formula = formula;
    if (claim.is_scored()) claim.trivial = trivial;
    file.claims.push_back(claim);
  }
}

void add_requests(const Formula& formula, std::vector<std::string>& names) {
  using Kind = Formula::Kind;
  for (const Formula& operand : formula.operands) add_requests(operand, names);
  const bool one = formula.kind == Kind::kPoint || formula.kind == Kind::kCollective ||
                   formula.kind == Kind::kBound || formula.kind == Kind::kEfficiency;
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
  if (!trains && !two && formula.kind != Kind::kCollective && formula.kind != Kind::kBound) return;
  for (const std::string& name : {formula.name, two ? formula.other : formula.name}) {
    const auto request = file.requests.find(name);
    if (request == file.requests.end()) in.fail(name + " is no request of this file");
    if ((request->second.question.about == Question::About::kTraining) != trains)
      in.fail(name + (trains ? " is no training run" : " is no collective"));
  }
}

void check_duplicate(const Claim& claim, const ClaimFile& file, const JsonInput& in) {
  if (claim.role != Role::kDuplicate) return;
  for (const Claim& other : file.claims)
    if (other.id == claim.same_as && other.is_scored()) return;
  in.at("same_as").fail("is no row of this file that is scored");
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
    for (const Formula* formula : formulas_of(claim)) check_kind(*formula, file, origin);
    check_duplicate(claim, file, origin);
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
    case Role::kAdjusted:
      return "adjusted";
    case Role::kCalibration:
      return "calibration";
    case Role::kArithmetic:
      return "arithmetic";
    case Role::kDuplicate:
      return "duplicate";
    case Role::kNotPredictable:
      return "not predictable";
  }
  FORESCALE_CHECK(false, "unknown role");
}

Role parse_role(const std::string& text, const std::string& option) {
  std::vector<std::string> names;
  for (const Role role : kRoles) {
    if (name_of(role) == text) return role;
    names.push_back(name_of(role));
  }
  throw InputError(
      {.source = option, .path = "", .value = text, .constraint = unknown_name(text, names)});
}

ClaimFile load_claims(const std::string& file_name) {
  const JsonInput in = JsonInput::from_file(file_name);
  in.allow_only({"format", "paper", "open", "title", "rules", "requests", "claims", "series"});
  in.at("format").one_of({"forescale-claims-1"});
  ClaimFile file;
  file.paper = in.at("paper").string();
  file.title = in.at("title").string();
  if (const auto open = in.find("open")) file.is_open = open->boolean();
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

std::vector<const Formula*> formulas_of(const Claim& claim) {
  std::vector<const Formula*> formulas;
  if (claim.formula) formulas.push_back(&*claim.formula);
  if (claim.trivial) formulas.push_back(&*claim.trivial);
  if (claim.cause && claim.cause->shown) formulas.push_back(&*claim.cause->shown);
  for (const OrderingStep& step : claim.ordering)
    for (const Formula& operand : step.operands) formulas.push_back(&operand);
  return formulas;
}

std::vector<std::string> requests_of(const Claim& claim) {
  std::vector<std::string> names;
  for (const Formula* formula : formulas_of(claim)) add_requests(*formula, names);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace forescale
