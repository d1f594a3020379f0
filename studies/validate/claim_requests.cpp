#include "studies/validate/claim_requests.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "models/plan_options.hpp"

namespace forescale {
namespace {

void set_text(const JsonInput& in, const char* key, std::string& text) {
  if (const auto found = in.find(key)) text = found->string();
}

Calibration read_calibration(const JsonInput& in) {
  in.allow_only({"gpus", "images_per_s", "source"});
  Calibration calibration;
  calibration.gpus = static_cast<int>(in.at("gpus").integer(1, 1 << 20));
  calibration.images_per_s = in.at("images_per_s").number(1e-9);
  calibration.source = in.at("source").string();
  return calibration;
}

// Keys that are there replace those of `request`, the one that is extended.
void read_training(const JsonInput& in, RunRequest& request) {
  in.allow_only({"platform", "model", "system", "schedule", "stack", "batch", "scaling", "options",
                 "data", "placement", "noise", "stragglers", "iterations", "calibration"});
  if (!request.training) request.training = PredictionText{};
  PredictionText& text = *request.training;
  set_text(in, "platform", text.platform);
  set_text(in, "model", text.model);
  set_text(in, "system", text.system);
  set_text(in, "schedule", text.schedule);
  set_text(in, "stack", text.stack);
  set_text(in, "data", text.data);
  set_text(in, "placement", text.placement);
  set_text(in, "noise", text.noise);
  set_text(in, "stragglers", text.stragglers);
  if (const auto batch = in.find("batch")) text.batch = std::to_string(batch->integer(1));
  if (const auto scaling = in.find("scaling")) text.scaling = scaling->one_of({"strong", "weak"});
  if (const auto iterations = in.find("iterations"))
    text.iterations = static_cast<int>(iterations->integer(2, 10000));
  if (const auto options = in.find("options"))
    for (const std::string& key : options->keys()) text.options[key] = options->at(key).string();
  if (const auto found = in.find("calibration")) request.calibration = read_calibration(*found);
  for (const auto& [key, value] : {std::pair{"platform", text.platform},
                                   std::pair{"model", text.model}, std::pair{"batch", text.batch}})
    if (value.empty()) in.at(key);  // says that it is required
}

void read_collective(const JsonInput& in, RunRequest& request) {
  in.allow_only(with_plan_options({"platform", "placement", "stack", "op", "algorithm", "plan"}));
  if (!request.collective) request.collective = ClaimedCollective{};
  ClaimedCollective& collective = *request.collective;
  set_text(in, "platform", collective.platform);
  set_text(in, "placement", collective.placement);
  set_text(in, "stack", collective.stack);
  set_text(in, "algorithm", collective.algorithm);
  if (const auto op = in.find("op")) {
    collective.op = op->string();
    try {
      parse_collective_op(collective.op, op->file());
    } catch (const InputError& error) {
      op->fail(error.parts().constraint);
    }
  }
  const OptionValues options = read_plan_options(in);
  for (const auto& [name, value] : options.given()) collective.options.set(name, value);
  if (const auto text = in.find("plan")) {
    const PlanChoice plan = parse_plan(text->string(), text->file() + text->path());
    collective.op = name_of(plan.collective->op);
    collective.algorithm = plan.collective->algorithm;
    collective.options = plan.options;
  }
  if (collective.platform.empty()) in.at("platform");
  if (collective.op.empty()) in.at("op");
  collective.plan();
}

// Reads requests in the order of their need: a request may extend any other one.
class RequestReader {
 public:
  explicit RequestReader(const JsonInput& in) : in_(in) {}

  const RunRequest& read(const std::string& name) {
    if (const auto done = done_.find(name); done != done_.end()) return done->second;
    const JsonInput in = in_.at(name);
    in.allow_only({"extends", "predict", "collective", "omitted"});
    if (!open_.insert(name).second) in.fail("extends itself");
    RunRequest request;
    if (const auto base = in.find("extends")) {
      if (!in_.has(base->string())) base->fail(unknown_name(base->string(), in_.keys()));
      request = read(base->string());
    }
    request.name = name;
    if (const auto training = in.find("predict")) read_training(*training, request);
    if (const auto collective = in.find("collective")) read_collective(*collective, request);
    if (request.training.has_value() == request.collective.has_value())
      in.fail("must have either \"predict\" or \"collective\"");
    if (const auto omitted = in.find("omitted"))
      for (const JsonInput& key : omitted->elements()) request.omitted.push_back(key.string());
    return done_[name] = request;
  }

  std::map<std::string, RunRequest> all() {
    for (const std::string& name : in_.keys()) read(name);
    return done_;
  }

 private:
  JsonInput in_;
  std::map<std::string, RunRequest> done_;
  std::set<std::string> open_;
};

}  // namespace

std::optional<PlanChoice> ClaimedCollective::plan() const {
  if (algorithm.empty()) return std::nullopt;
  return make_plan(parse_collective_op(op, "op"), algorithm, options, "algorithm " + algorithm);
}

std::map<std::string, RunRequest> read_requests(const JsonInput& in) {
  return RequestReader(in).all();
}

}  // namespace forescale
