// The options that a question consists of, made from its table of fields.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "sim/ask/ask.hpp"

namespace forescale {

struct QuestionOptions {
  Question::About about = Question::About::kTraining;
  // As typed, by field; empty: not given.
  std::map<std::string, std::string> once = {};
  std::map<std::string, std::vector<std::string>> repeated = {};
  std::map<std::string, bool> flags = {};

  // InputError naming the option.
  Question question() const;
};

// All fields of its kind but `others`, which the command gives itself; those in `required` must be
// there.
void add_question_options(Subcommand command, QuestionOptions& options,
                          const std::vector<std::string>& required,
                          const std::vector<std::string>& others = {});

// Of the flag --interval, --no-range.
inline Draws draws_of(bool range) { return range ? Draws::kEnds : Draws::kNominal; }

}  // namespace forescale
