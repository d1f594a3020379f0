// A field of a question is an option of every command that asks such questions, with its help.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/ask/question.hpp"
#include "tests/cli/in_process.hpp"

namespace forescale {
namespace {

using testing::answer_here;

// Without line breaks and the spaces of columns.
std::string words_of(const std::string& text) {
  std::string words;
  for (const char letter : text)
    if (std::isspace(static_cast<unsigned char>(letter)) == 0) words += letter;
  return words;
}

void expect_fields(const std::string& command, Question::About about) {
  const std::string help = words_of(answer_here(command + " --help"));
  for (const QuestionField& field : question_fields()) {
    if (!field.is_of(about)) continue;
    EXPECT_NE(help.find(field.option), std::string::npos) << command << " " << field.name;
    // The first words; what a command asks in its own way it explains in its own words.
    const bool is_its_own =
        field.name == "plan" ||
        (command == "compare" && (field.name == "platform" || field.name == "system"));
    EXPECT_TRUE(is_its_own || help.find(words_of(field.doc.substr(0, 30))) != std::string::npos)
        << command << " " << field.name;
  }
}

TEST(QuestionOptions, HelpHasEveryField) {
  expect_fields("predict", Question::About::kTraining);
  expect_fields("compare", Question::About::kTraining);
  expect_fields("tune schedule", Question::About::kTraining);
  expect_fields("collective", Question::About::kCollective);
}

}  // namespace
}  // namespace forescale
