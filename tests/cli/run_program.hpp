// Runs the real program, as a person would, and keeps what it said.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/json_text.hpp"
#include "base/scratch_folder.hpp"

namespace forescale::testing {

inline std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

// A fresh folder, removed at the end.
class Workshop {
 public:
  std::string path(const std::string& name) const { return folder_.file(name); }
  // Writes a file, with its folders, and gives its path.
  std::string file(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

 private:
  ScratchFolder folder_{"cli"};
};

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;

  nlohmann::json json() const { return parse_json(out); }
};

// `arguments` are shell text; `before` is put in front of the program: "NO_COLOR=1".
inline Outcome run_program(const std::string& arguments, const std::string& before = "",
                           const std::string& program = FORESCALE_PROGRAM) {
  const Workshop workshop;
  const std::string err = workshop.path("stderr");
  const std::string command =
      before + (before.empty() ? "" : " ") + program + " " + arguments + " 2>" + err;
  Outcome result;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> buffer{};
  while (const size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
    result.out.append(buffer.data(), count);
  const int status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.err = text_of(err);
  return result;
}

inline std::string source_file(const std::string& path) {
  return std::string(FORESCALE_SOURCE_DIR) + "/" + path;
}

// Bad input: exit code 2, nothing on stdout, and an error that says all of `parts`.
inline void expect_refused(const std::string& arguments, const std::vector<std::string>& parts,
                           const std::string& before = "") {
  const Outcome result = run_program(arguments, before);
  EXPECT_EQ(result.exit_code, 2) << arguments << "\n" << result.err;
  EXPECT_EQ(result.out, "") << arguments;
  EXPECT_EQ(result.err.rfind("forescale: ", 0), 0U) << arguments << "\n" << result.err;
  for (const std::string& part : parts)
    EXPECT_NE(result.err.find(part), std::string::npos)
        << arguments << " does not say \"" << part << "\":\n"
        << result.err;
}

// An answer: exit code 0, nothing on stderr, and all of `parts` on stdout.
inline Outcome expect_answer(const std::string& arguments,
                             const std::vector<std::string>& parts = {},
                             const std::string& before = "") {
  Outcome result = run_program(arguments, before);
  EXPECT_EQ(result.exit_code, 0) << arguments << "\n" << result.err;
  EXPECT_EQ(result.err, "") << arguments;
  for (const std::string& part : parts)
    EXPECT_NE(result.out.find(part), std::string::npos)
        << arguments << " does not print \"" << part << "\":\n"
        << result.out;
  return result;
}

}  // namespace forescale::testing
