#include "sim/ask/known_answers.hpp"

#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "base/units.hpp"

namespace forescale {
namespace {

constexpr std::size_t kMostBytes = 64 * kMiB;

}  // namespace

KnownAnswers& KnownAnswers::of_this_process() {
  static KnownAnswers answers;
  return answers;
}

const std::string* KnownAnswers::find(const std::string& question) const {
  const auto found = known_.find(question);
  return found == known_.end() ? nullptr : &found->second;
}

bool KnownAnswers::keep(const std::string& question, const std::string& answer) {
  std::string& kept = known_[question];
  const std::size_t bytes =
      bytes_ + question.size() + answer.size() - (kept.empty() ? 0 : question.size() + kept.size());
  const bool is_kept = bytes <= kMostBytes;
  if (is_kept) {
    bytes_ = bytes;
    kept = answer;
  } else if (kept.empty()) {
    known_.erase(question);
  }
  return is_kept;
}

void KnownAnswers::add(const std::string& question, const std::string& answer) {
  if (shares_ && keep(question, answer)) added_[question] = answer;
}

std::string KnownAnswers::told() const { return nlohmann::json(added_).dump(); }

void KnownAnswers::gather(const std::string& told) {
  const nlohmann::json answers = parse_json_or_discard(told);
  if (!answers.is_object()) return;
  for (const auto& [question, answer] : answers.items())
    if (answer.is_string()) keep(question, answer.get<std::string>());
}

}  // namespace forescale
