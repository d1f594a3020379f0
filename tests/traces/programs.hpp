// What tests ask of a program: its text, and the message of an action.
#pragma once

#include <sstream>
#include <string>
#include <variant>

#include "traces/program/program.hpp"

namespace forescale::testing {

inline std::string program_text(const Program& program) {
  std::ostringstream text;
  write_program(program, text);
  return text.str();
}

inline const MessageStep& message_of(const Action& action) {
  return std::get<MessageStep>(action.what);
}

}  // namespace forescale::testing
