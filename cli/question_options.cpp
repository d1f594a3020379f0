#include "cli/question_options.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace forescale {
namespace {

constexpr int kDrawsMin = 2;
constexpr int kDrawsMax = 10000;

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Question QuestionOptions::question() const {
  Question question{.about = about};
  for (const auto& [name, text] : once) {
    const QuestionField& field = question_field(name);
    if (!text.empty()) field.parse(question, text, field.option);
  }
  for (const auto& [name, is_given] : flags)
    if (is_given) question_field(name).parse(question, "true", question_field(name).option);
  for (const auto& [name, texts] : repeated) {
    const QuestionField& field = question_field(name);
    for (const std::string& text : texts) {
      Question alone;
      field.parse(alone, text, field.option);
      const size_t wanted = field.print(question).size() + field.print(alone).size();
      field.parse(question, text, field.option);
      if (field.print(question).size() != wanted)
        throw InputError({.source = field.option,
                          .path = "",
                          .value = text,
                          .constraint = "gives an option for the second time"});
    }
  }
  return question;
}

void add_question_options(Subcommand command, QuestionOptions& options,
                          const std::vector<std::string>& required,
                          const std::vector<std::string>& others) {
  for (const QuestionField& field : question_fields()) {
    if (!field.is_of(options.about) || holds(others, field.name)) continue;
    if (field.repeats == QuestionField::kFlag) {
      command.add_flag(field.option, options.flags[field.name], field.doc);
      continue;
    }
    CommandOption option =
        field.repeats == QuestionField::kRepeats
            ? command.add_option(field.option, options.repeated[field.name], field.doc)
                  .allow_extra_args(false)
            : command.add_option(field.option, options.once[field.name], field.doc);
    if (holds(required, field.name)) option.required();
  }
}

Draws RangeOptions::asked() const {
  if (draws > 0) return {.drawn = draws};
  return interval ? Draws::kEnds : Draws::kNominal;
}

void add_range_options(Subcommand command, RangeOptions& options) {
  command.add_flag("--interval,!--no-range", options.interval,
                   std::string("The 90 % interval that uncertain numbers and what the model leaves "
                               "out cause (three times the work; ") +
                       (options.interval ? "default)" : "not the default)"));
  command
      .add_option("--draws", options.draws,
                  "The interval of so many joint draws of all uncertain numbers instead (each is a "
                  "simulation; 40 or more)")
      .in_range(kDrawsMin, kDrawsMax);
}

}  // namespace forescale
