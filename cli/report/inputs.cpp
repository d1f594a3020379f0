#include "cli/report/inputs.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "algorithms/phase.hpp"
#include "base/error.hpp"
#include "base/json_input.hpp"
#include "base/json_text.hpp"
#include "cli/report/sha256.hpp"
#include "cli/report/timeline.hpp"

namespace forescale {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kPrediction = "forescale-prediction-1";
constexpr const char* kValidation = "forescale-validation-1";
constexpr const char* kTuning = "forescale-tuned-1";
constexpr const char* kComparison = "forescale-comparison-1";
constexpr int kDepthMax = 64;  // of JSON; results need 6
constexpr double kAny = std::numeric_limits<double>::lowest();

json phases() {
  json list = json::array();
  for (const PhaseEntry& phase : kPhases)
    list.push_back({{"name", phase.name}, {"verb", phase.verb}, {"kind", name_of(phase.kind)}});
  return list;
}

std::string read_text(const std::string& file) {
  std::error_code error;
  if (fs::is_directory(file, error)) refuse(file, "", "is a folder, not a result");
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  if (stream) text << stream.rdbuf();
  if (!stream) refuse(file, "", "cannot be opened for reading");
  return text.str();
}

// Parses `text`; the elements of traceEvents go into `trace` as they are met and are not kept.
json parse(const std::string& text, const std::string& file, TraceColumns& trace) {
  int event_depth = -1;  // of the elements of traceEvents; -1 outside of them
  const auto on_event = [&](int depth, json::parse_event_t event, json& parsed) {
    using Kind = json::parse_event_t;
    if (depth > kDepthMax) refuse(file, "", fmt::format("must nest at most {} deep", kDepthMax));
    if (event == Kind::array_start && depth == 0) event_depth = 1;
    if (event == Kind::key && depth == 1) event_depth = parsed == "traceEvents" ? 2 : -1;
    if (event != Kind::object_end || depth != event_depth) return true;
    trace.add(parsed, file);
    return false;
  };
  try {
    return parse_json(text, on_event);
  } catch (const json::parse_error&) {
    JsonInput::from_text(text, file);  // says where
    throw;
  } catch (const json::out_of_range&) {
    refuse(file, "", "must be JSON with numbers that fit into 64 bits");
  }
}

void check_text(const JsonInput& object, const char* key) {
  if (const auto text = object.find(key)) text->string();
}

void check_numbers(const JsonInput& object, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (const auto number = object.find(key); number && !number->raw().is_null()) number->number(0);
}

void check_prediction(const JsonInput& result) {
  for (const char* key : {"title", "platform", "model", "system", "schedule", "stack", "compute"})
    check_text(result, key);
  const auto points = result.at("points").elements();
  if (points.empty()) result.at("points").fail("must have at least one point");
  for (const JsonInput& point : points) {
    point.at("gpus").integer(1);
    if (const auto fits = point.find("fits"); fits && !fits->boolean()) continue;
    for (const char* key : {"iteration_s", "images_per_s"}) {
      const JsonInput number = point.at(key);
      if (number.number(0) == 0) number.fail("must be > 0 where the share fits in memory");
    }
    check_numbers(point, {"iteration_fast_s", "iteration_slow_s", "speedup", "efficiency",
                          "bound_s", "memory_bytes", "images_per_iteration", "batch_per_gpu"});
    for (const char* key : {"root_s", "mean_s"})
      if (const auto phases = point.find(key))
        for (const std::string& phase : phases->keys()) phases->at(phase).number(kAny);
  }
  if (const auto warnings = result.find("warnings"))
    for (const JsonInput& warning : warnings->elements()) warning.string();
  if (const auto numbers = result.find("numbers"))
    for (const JsonInput& number : numbers->elements()) {
      for (const char* key : {"file", "path", "source"}) number.at(key).string();
      number.at("assumed").boolean();
    }
}

void check_validation(const JsonInput& result) {
  for (const JsonInput& row : result.at("rows").elements()) {
    for (const char* key : {"id", "paper", "claim", "role"}) row.at(key).string();
    if (const auto error = row.find("error"); error && !error->raw().is_null()) error->number(kAny);
  }
}

void check_tuned_plan(const JsonInput& plan) {
  plan.at("plan").string();
  plan.at("time_s").number(0);
}

void check_tuning(const JsonInput& result) {
  check_text(result, "title");
  const auto points = result.at("points").elements();
  if (points.empty()) result.at("points").fail("must have at least one point");
  for (const JsonInput& point : points) {
    point.at("op").string();
    point.at("ranks").integer(1);
    point.at("bytes").integer(0);
    check_tuned_plan(point.at("known").at("best"));
    if (const auto next = point.at("known").find("next")) {
      check_tuned_plan(*next);
      next->at("margin").number(kAny);
      next->at("tie").boolean();
    }
    if (const auto plan = point.find("default")) {
      check_tuned_plan(*plan);
      plan->at("margin").number(kAny);
    }
    if (const auto offered = point.find("offered")) {
      check_tuned_plan(offered->at("best"));
      offered->at("loss").number(kAny);
    }
  }
}

class Document {
 public:
  // Once each: a timeline may be named by a result and on the command line.
  void add(const std::string& file) {
    std::error_code error;
    if (!seen_.insert(fs::weakly_canonical(file, error).string()).second) return;
    const std::string text = read_text(file);
    TraceColumns trace;
    json content = parse(text, file, trace);
    const bool is_trace = content.is_array() || content.contains("traceEvents");
    const std::string kind = is_trace ? "timeline" : checked_kind(text, file);
    const size_t index = files_.size();
    files_.push_back(
        {{"name", file}, {"bytes", text.size()}, {"sha256", sha256_hex(text)}, {"kind", kind}});
    if (is_trace) {
      if (content.is_object() && !content["traceEvents"].is_array())
        JsonInput::from_text(text, file).at("traceEvents").fail("must be an array");
      timelines_.push_back({{"file", index}, {"timeline", trace.finish(file)}});
    } else if (kind == "prediction") {
      predictions_.push_back({{"file", index}, {"result", content}});
      add_named_timeline(content, file);
    } else if (kind == "validation") {
      validations_.push_back({{"file", index}, {"result", content}});
    } else if (kind == "comparison") {
      for (const json& contender : content["contenders"])
        predictions_.push_back({{"file", index}, {"result", contender["prediction"]}});
    } else {
      tunings_.push_back({{"file", index}, {"result", content}});
    }
  }

  json finish() const {
    return {{"phases", phases()},
            {"files", files_},
            {"predictions", predictions_},
            {"validations", validations_},
            {"tunings", tunings_},
            {"timelines", timelines_},
            {"notes", notes_}};
  }

 private:
  static std::string checked_kind(const std::string& text, const std::string& file) {
    const JsonInput result = JsonInput::from_text(text, file);
    const auto format = result.find("format");
    if (!format)
      refuse(
          file, "",
          fmt::format("must have \"format\": \"{}\", \"{}\", \"{}\" or \"{}\" (predict, validate, "
                      "compare, tune collective with --json), or \"traceEvents\" (a Chrome trace)",
                      kPrediction, kValidation, kComparison, kTuning));
    const std::string name = format->one_of({kPrediction, kValidation, kComparison, kTuning});
    if (name == kPrediction) {
      check_prediction(result);
      return "prediction";
    }
    if (name == kValidation) {
      check_validation(result);
      return "validation";
    }
    if (name == kComparison) {
      for (const JsonInput& contender : result.at("contenders").elements())
        check_prediction(contender.at("prediction"));
      return "comparison";
    }
    check_tuning(result);
    return "tuning";
  }

  // A timeline that a result names but that is gone is no reason to show nothing.
  void add_named_timeline(const json& result, const std::string& file) {
    const auto named = result.find("trace");
    if (named == result.end() || !named->is_string()) return;
    const auto name = named->get<std::string>();
    if (name.empty()) return;
    const fs::path path = fs::path(file).parent_path() / name;
    if (fs::is_regular_file(path))
      add(path.string());
    else
      notes_.push_back(
          fmt::format("{} names the timeline {}, which is not there", file, path.string()));
  }

  std::set<std::string> seen_;
  json files_ = json::array();
  json predictions_ = json::array();
  json validations_ = json::array();
  json tunings_ = json::array();
  json timelines_ = json::array();
  json notes_ = json::array();
};

}  // namespace

json read_report_inputs(const std::vector<std::string>& files) {
  Document document;
  for (const std::string& file : files) document.add(file);
  return document.finish();
}

}  // namespace forescale
