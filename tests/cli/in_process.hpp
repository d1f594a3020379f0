// The program's own main, run here: what a test's file registers is part of it.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale::testing {

// `arguments` are words between spaces.
inline Outcome run_here(const std::string& arguments) {
  std::vector<std::string> words{"forescale"};
  std::istringstream text(arguments);
  for (std::string word; text >> word;) words.push_back(word);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  Outcome result;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  result.exit_code = forescale_main(static_cast<int>(pointers.size()), pointers.data());
  result.err = ::testing::internal::GetCapturedStderr();
  result.out = ::testing::internal::GetCapturedStdout();
  return result;
}

// What it prints; the test fails unless that is an answer with all of `parts` in it.
inline std::string answer_here(const std::string& arguments,
                               const std::vector<std::string>& parts = {}) {
  const Outcome result = run_here(arguments);
  EXPECT_EQ(result.exit_code, 0) << arguments << "\n" << result.err;
  for (const std::string& part : parts)
    EXPECT_NE(result.out.find(part), std::string::npos) << part << " is not in\n" << result.out;
  return result.out;
}

}  // namespace forescale::testing
