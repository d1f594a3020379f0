#include "cli/replay/replay_what_if.hpp"

#include <functional>
#include <map>
#include <sstream>

#include "base/error.hpp"
#include "sim/run/compute_noise.hpp"
#include "topologies/platform.hpp"

namespace forescale {
namespace {

using Change = std::function<void(ReplayQuestion&, const std::string&)>;

// All of `text`, or InputError.
template <class Number>
Number number(const std::string& text) {
  std::istringstream in(text);
  Number value{};
  if (!(in >> value) || !in.eof()) refuse("--what-if", text, "must be a number");
  return value;
}

std::map<std::string, Change> all_changes() {
  std::map<std::string, Change> all{
      {"platform",
       [](auto& question, const auto& value) {
         load_platform(value);  // before anything is simulated
         question.text.platform = value;
       }},
      {"stack", [](auto& question, const auto& value) { question.text.stack = value; }},
      {"placement", [](auto& question, const auto& value) { question.text.placement = value; }},
      {"plan", [](auto& question, const auto& value) { question.text.plans.push_back(value); }},
      {"gpu", [](auto& question, const auto& value) { question.text.gpu = value; }},
      {"traced-gpu", [](auto& question, const auto& value) { question.text.traced_gpu = value; }},
      {"compute-scale",
       [](auto& question, const auto& value) {
         question.text.compute_scale = number<double>(value);
       }},
      {"ranks",
       [](auto& question, const auto& value) { question.trace.ranks = number<int>(value); }},
      {"group", [](auto& question, const auto& value) { question.trace.groups.push_back(value); }},
      {"split", [](auto& question, const auto& value) { question.trace.splits.push_back(value); }},
      {"size", [](auto& question, const auto& value) { question.trace.sizes.push_back(value); }},
      {"bucket", [](auto& question, const auto& value) { question.trace.bucket = value; }},
      {"without-stragglers", [](auto& question, const auto& value) {
         if (!value.empty()) refuse("--what-if", "without-stragglers=" + value, "takes no value");
         question.trace.without_stragglers = true;
       }}};
  for (const char* name : kReplayVariation) {
    const QuestionField& field = question_field(name);
    all[field.option.substr(2)] = [&field](auto& question, const auto& value) {
      field.parse(question.text.varied, value, "--what-if " + field.option.substr(2));
      parse_noise(question.text.varied.noise, question.text.varied.stragglers);
    };
  }
  return all;
}

const std::map<std::string, Change>& changes() {
  static const std::map<std::string, Change> kChanges = all_changes();
  return kChanges;
}

}  // namespace

ReplayQuestion changed(ReplayQuestion question, const std::string& what_if) {
  ReplayText& text = question.text;
  if (text.traced_platform.empty()) {  // it was traced where nothing changes
    text.traced_is_assumed = !text.calibrate;
    text.traced_platform = text.platform;
    text.traced_stack = text.stack;
    text.traced_placement = text.placement;
    text.traced_plans = text.plans;
  }
  std::istringstream words(what_if);
  bool is_empty = true;
  for (std::string word; words >> word; is_empty = false) {
    const size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    const auto change = changes().find(key);
    if (change == changes().end())
      refuse("--what-if", word, "is " + unknown_name(key, what_if_keys()));
    if (value.empty() && key != "without-stragglers")
      refuse("--what-if", word, "needs a value: " + key + "=...");
    change->second(question, value);
  }
  if (is_empty) refuse("--what-if", what_if, "must say what is changed: \"gpu=h100 bucket=5MiB\"");
  return question;
}

std::vector<std::string> what_if_keys() {
  std::vector<std::string> keys;
  for (const auto& [name, does] : changes()) keys.push_back(name);
  return keys;
}

Replay answer(const ReplayQuestion& question) {
  ReplayText text = question.text;
  text.files = question.trace.files;
  text.import = parse_trace_options(question.trace);
  return replay(text);
}

}  // namespace forescale
