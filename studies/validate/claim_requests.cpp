#include "studies/validate/claim_requests.hpp"

#include <set>

#include "base/error.hpp"

namespace forescale {
namespace {

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
  request.question.about = Question::About::kTraining;
  read_question(in, request.question, {"calibration"});
  if (const auto found = in.find("calibration")) request.calibration = read_calibration(*found);
  // A layout's batch is its own; a series of layouts says it for each.
  const bool has_batch = request.question.batch > 0 || request.question.sequence > 0;
  for (const char* key : {"platform", "model", has_batch ? "model" : "batch"})
    if (question_field(key).print(request.question).empty())
      in.at(key);  // says that it is required
}

void read_collective(const JsonInput& in, RunRequest& request) {
  request.question.about = Question::About::kCollective;
  read_question(in, request.question);
  for (const char* key : {"platform", "plan"})
    if (question_field(key).print(request.question).empty()) in.at(key);
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
    const auto training = in.find("predict");
    const auto collective = in.find("collective");
    if (training.has_value() == collective.has_value() &&
        !(in.has("extends") && !training.has_value()))
      in.fail("must have either \"predict\" or \"collective\"");
    if (training) read_training(*training, request);
    if (collective) read_collective(*collective, request);
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

std::map<std::string, RunRequest> read_requests(const JsonInput& in) {
  return RequestReader(in).all();
}

}  // namespace forescale
