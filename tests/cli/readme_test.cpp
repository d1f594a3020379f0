// Every command of the README, and of docs/own_machine.md, word for word: a line "./run ARGUMENTS"
// of a shell block is run as the program with those arguments and must answer, in a tree where only
// ./run has built.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "base/json_text.hpp"
#include "calibrate/testbed/testbed.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale {
namespace {

namespace fs = std::filesystem;

using testing::Outcome;
using testing::run_program;
using testing::source_file;
using testing::text_of;
using testing::Workshop;

std::vector<std::string> readme_commands() {
  std::istringstream readme(text_of(source_file("README.md")));
  std::vector<std::string> commands;
  bool in_shell_block = false;
  for (std::string line; std::getline(readme, line);) {
    if (line.starts_with("```")) in_shell_block = line == "```sh";
    if (in_shell_block && line.starts_with("./run ")) commands.push_back(line.substr(6));
  }
  return commands;
}

TEST(Readme, NamesTheMainJobAndMore) {
  // ./run without arguments is the demo; the others are the examples.
  EXPECT_GE(readme_commands().size(), 10U);
}

bool measures(const std::string& command) { return command.find("--testbed") != std::string::npos; }

// The tree as it is after ./run: its sources and, of its build folder, what the target `product` of
// CMake makes and nothing else.
class TreeOfRun {
 public:
  TreeOfRun() {
    const fs::path source = FORESCALE_SOURCE_DIR;
    fs::create_directory(root());
    for (const auto& entry : fs::directory_iterator(source))
      if (const std::string name = entry.path().filename();
          name != "build" && name != "out" && name != ".git" && name != "tests")
        fs::copy(entry.path(), fs::path(root()) / name, fs::copy_options::recursive);
    fs::create_directories(root() + "/build/release");
    std::istringstream programs(FORESCALE_PRODUCT);
    for (std::string program; std::getline(programs, program, ':');) {
      const fs::path copied = fs::path(root()) / "build/release" / fs::path(program).filename();
      std::error_code elsewhere;  // another file system than the build's
      fs::create_hard_link(program, copied, elsewhere);
      if (elsewhere) fs::copy_file(program, copied);
    }
  }

  std::string root() const { return workshop_.path("tree"); }
  Outcome run(const std::string& arguments) const {
    return run_program(arguments, "cd " + root() + " && FORESCALE_DATA=" + root(),
                       "build/release/forescale");
  }

 private:
  Workshop workshop_;
};

TEST(Readme, RunBuildsTheProduct) {
  EXPECT_NE(text_of(source_file("run")).find("set_up release product "), std::string::npos);
}

std::string expect_something(const TreeOfRun& tree, const std::string& command) {
  const Outcome result = tree.run(command);
  EXPECT_EQ(result.exit_code, 0) << command << "\n" << result.err;
  EXPECT_FALSE(result.out.empty()) << command;
  return result.out;
}

// Both tables, and JSON and traces of both.
void expect_both_systems(const std::string& out, const std::string& folder) {
  EXPECT_NE(out.find("s-caffe-b-hr: googlenet on kesch"), std::string::npos);
  EXPECT_NE(out.find("s-caffe-obr-hr: googlenet on kesch"), std::string::npos);
  EXPECT_NE(out.find("out of GPU memory"), std::string::npos);
  std::map<std::string, double> iteration_s;
  for (const std::string system : {"s-caffe-b-hr", "s-caffe-obr-hr"}) {
    const std::string stem = folder + "/googlenet-" + system;
    const auto prediction = parse_json(text_of(stem + ".json"));
    const auto& last = prediction.at("points").back();
    EXPECT_EQ(last.at("gpus"), 160);
    EXPECT_GE(last.at("iteration_s").get<double>(), last.at("bound_s").get<double>());
    iteration_s[system] = last.at("iteration_s");
    const auto trace = parse_json(text_of(stem + "-trace.json"));
    EXPECT_GT(trace.at("traceEvents").size(), 1000U);
  }
  EXPECT_LT(iteration_s["s-caffe-obr-hr"], iteration_s["s-caffe-b-hr"]);
}

TEST(Readme, EveryCommandAnswers) {
  const TreeOfRun tree;
  for (const std::string& command : readme_commands()) {
    // ./run without arguments is the demo, whose files later commands read.
    if (command.find_first_not_of(' ') == command.find('#'))
      expect_both_systems(expect_something(tree, "demo --out out"), tree.root() + "/out");
    else if (!measures(command))
      expect_something(tree, command);
  }
}

// docs/own_machine.md: a block behind "`NAME`:" is that file, and the commands are run beside it.
TEST(OwnMachine, EveryCommandOfThePageAnswers) {
  const Workshop workshop;
  std::istringstream page(text_of(source_file("docs/own_machine.md")));
  std::string named;
  std::string file;
  std::string text;
  std::string block;
  int commands = 0;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("```")) {
      if (block == "```json" || block == "```text") workshop.file(file, text);
      block = block.empty() ? line : "";
      text.clear();
      file = named;
    } else if (block == "```json" || block == "```text") {
      text += line + "\n";
    } else if (block == "```sh" && line.starts_with("./run ")) {
      ++commands;
      testing::expect_answer(line.substr(6), {}, "cd " + workshop.path("") + " &&");
    } else if (line.starts_with("`") && line.ends_with("`:")) {
      named = line.substr(1, line.size() - 3);
    }
  }
  EXPECT_GE(commands, 15);
}

TEST(ReadmeAlone, EveryCommandThatMeasuresAnswers) {
  if (const std::string obstacle = testbed_obstacle(); !obstacle.empty()) GTEST_SKIP() << obstacle;
  const TreeOfRun tree;
  for (const std::string& command : readme_commands())
    if (measures(command)) expect_something(tree, command);
}

}  // namespace
}  // namespace forescale
