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

// --interval, --no-range and --draws N.
struct RangeOptions {
  bool interval = true;
  int draws = 0;

  Draws asked() const;
};
// `options.interval` says whether there is one without a word.
void add_range_options(Subcommand command, RangeOptions& options);

}  // namespace forescale
