// One line of a program's file.
#pragma once

#include "base/json_input.hpp"
#include "traces/program/action.hpp"

namespace forescale {

inline constexpr int kProgramThreadsMax = 1 << 16;

// InputError naming the file, the line, the key and what is wrong with it. Does not look at the key
// "thread", nor whether the requests are made.
Action read_action(const JsonInput& line, int ranks);

// Keys that may be left out.
bool read_flag(const JsonInput& line, const char* key);
std::int64_t read_integer(const JsonInput& line, const char* key, std::int64_t least,
                          std::int64_t most);

}  // namespace forescale
