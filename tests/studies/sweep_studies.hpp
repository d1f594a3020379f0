// Studies of a command that exists in tests only.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/scratch_folder.hpp"
#include "studies/sweep/sweep_database.hpp"
#include "studies/sweep/sweep_study.hpp"

namespace forescale::testing {

inline constexpr const char* kVersion = "1.2.3";

// Needs --bytes; takes --ranks of three digits at most, --option as often as wanted, --platform and
// the flag --interval.
class ToyCommand : public CommandLine {
 public:
  std::vector<std::string> options() const override {
    return {"bytes", "interval", "option", "platform", "ranks"};
  }
  bool is_flag(const std::string& option) const override { return option == "interval"; }
  bool is_repeatable(const std::string& option) const override { return option == "option"; }
  std::string complaint_about(const std::string& option,
                              const std::vector<std::string>& values) const override {
    return option == "ranks" && values.front().size() > 3 ? "--ranks: too many" : "";
  }
  std::string complaint_about_line(const std::vector<std::string>& arguments) const override {
    const bool has_bytes =
        std::any_of(arguments.begin(), arguments.end(),
                    [](const std::string& word) { return word.starts_with("--bytes="); });
    return has_bytes ? "" : "--bytes is required";
  }
};

inline std::string written(const ScratchFolder& folder, const std::string& name,
                           const std::string& text) {
  std::ofstream(folder.file(name)) << text;
  return folder.file(name);
}

inline std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

inline Study read_study(const std::string& file) {
  CommandLines commands;
  commands.emplace("toy", std::make_unique<ToyCommand>());
  return load_study(file, commands);
}

// {"format": ..., "command": "toy", CONTENT}, read.
inline Study toy_study(const ScratchFolder& folder, const std::string& content) {
  return read_study(
      written(folder, "study.json",
              R"({"format": "forescale-study-1", "command": "toy", )" + content + "}"));
}

// Points "toy", "--bytes=0", "--json", then 1, 2, ...
inline Study numbered_study(const ScratchFolder& folder, int points) {
  std::string list = "0";
  for (int i = 1; i < points; ++i) list += ", " + std::to_string(i);
  return toy_study(folder, R"("grid": {"bytes": [)" + list + "]}");
}

inline SweepRow done_row(const Study& study, std::size_t place, const std::string& answer) {
  return {.key = study.points[place].key,
          .place = static_cast<std::int64_t>(place),
          .inputs = study.points[place].inputs,
          .exit_code = 0,
          .reason = "",
          .answer = answer,
          .wall_s = 0.5,
          .host = "here",
          .finished = "2026-01-31T23:59:59Z"};
}

inline SweepRow failed_row(const Study& study, std::size_t place, const std::string& reason,
                           int exit_code = 2) {
  SweepRow row = done_row(study, place, "");
  row.exit_code = exit_code;
  row.reason = reason;
  return row;
}

inline void expect_says(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "\"" << part << "\" is not in: " << text;
}

}  // namespace forescale::testing
