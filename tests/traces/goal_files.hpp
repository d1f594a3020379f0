// GOAL schedules made in tests, and what becomes of them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/registry.hpp"
#include "base/scratch_folder.hpp"
#include "tests/base/refusal.hpp"
#include "traces/formats/trace_format.hpp"

namespace forescale::testing {

inline const TraceFormat& goal() { return Registry<TraceFormat>::find("goal", "test"); }

// In a folder of this process: ctest runs tests side by side.
inline std::string goal_file(const std::string& text) {
  static const ScratchFolder folder("goal");
  std::ofstream(folder.file("schedule.goal"), std::ios::binary) << text;
  return folder.file("schedule.goal");
}

inline ImportedTrace import_goal(const std::string& text, const ImportOptions& options = {}) {
  return goal().import({goal_file(text)}, options);
}

// A file of one rank.
inline std::string rank_of(const std::string& statements) {
  return "num_ranks 1\nrank 0 {\n" + statements + "}\n";
}

inline std::string goal_refusal(const std::string& text, const ImportOptions& options = {}) {
  return refusal([&] { import_goal(text, options); });
}

}  // namespace forescale::testing
