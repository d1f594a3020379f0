// Every command of the README, and of some pages of docs/, word for word: a line "./run ARGUMENTS"
// of a shell block is run as the program with those arguments and must answer; those of the README
// as the Debian package installs it, where there are no sources.
#include <gtest/gtest.h>

#include <cstdlib>
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

// The Debian packages of this build, which ctest's package.debian has made, unpacked; commands run
// in an empty folder of its own.
class InstalledPackage {
 public:
  InstalledPackage() {
    fs::create_directory(folder());
    const fs::path packages = fs::path(FORESCALE_PROGRAM).parent_path() / "test_packages";
    if (!fs::is_directory(packages)) ADD_FAILURE() << "no packages: ctest -R package.debian";
    for (const auto& entry : fs::directory_iterator(packages))
      if (entry.path().extension() == ".deb") {
        if (entry.path().filename().string().starts_with("forescale_")) package_ = entry.path();
        run_tool("dpkg-deb -x " + entry.path().string() + " " + workshop_.path("root"));
      }
  }

  std::string folder() const { return workshop_.path("folder"); }
  std::string installed(const std::string& path) const {
    return workshop_.path("root") + "/usr/" + path;
  }
  const std::string& file() const { return package_; }  // of the program

  Outcome run(const std::string& arguments, const std::string& before = "") const {
    return run_program(arguments, "cd " + folder() + " && " + before, installed("bin/forescale"));
  }

 private:
  void run_tool(const std::string& command) const {
    const std::string log = workshop_.path("log");
    if (std::system((command + " >" + log + " 2>&1").c_str()) != 0)
      ADD_FAILURE() << command << "\n" << text_of(log);
  }

  Workshop workshop_;
  std::string package_;
};

// In front of a command: where a mount namespace may be made, it finds nothing in the sources'
// folder, which holds the build too.
std::string without_sources() {
  for (const std::string unshare : {"unshare -m", "unshare -rm"}) {
    const std::string before =
        unshare + " sh -c 'mount -t tmpfs none " FORESCALE_SOURCE_DIR " && exec \"$0\" \"$@\"' ";
    if (std::system((before + "true 2>/dev/null").c_str()) == 0) return before;
  }
  return "";
}

TEST(Readme, RunBuildsTheProduct) {
  EXPECT_NE(text_of(source_file("run")).find("set_up release product "), std::string::npos);
}

std::string expect_something(const InstalledPackage& package, const std::string& command,
                             const std::string& before = "") {
  const Outcome result = package.run(command, before);
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

void expect_what_users_look_for(const InstalledPackage& package) {
  for (const char* file :
       {"share/man/man1/forescale.1.gz", "share/man/man1/forescale-predict.1.gz",
        "share/man/man1/forescale-calibrate-fit.1.gz", "share/doc/forescale/copyright",
        "share/bash-completion/completions/forescale", "share/zsh/vendor-completions/_forescale",
        "share/fish/vendor_completions.d/forescale.fish",
        "share/forescale/topologies/presets/kesch.json", "lib/forescale/forescale-simgrid.so",
        "lib/forescale/libnccl-tuner-forescale.so", "lib/libforescale.so",
        "lib/cmake/forescale/forescale-config.cmake", "include/forescale/forescale.hpp"})
    EXPECT_TRUE(fs::is_regular_file(package.installed(file))) << file;
#ifndef __SANITIZE_ADDRESS__  // which names sources in its reports
  for (const auto& program : fs::directory_iterator(package.installed("bin")))
    EXPECT_EQ(text_of(program.path()).find(FORESCALE_SOURCE_DIR "/"), std::string::npos) << program;
#endif
  const auto field = [&](const std::string& name) {
    return testing::run_program(package.file() + " " + name, "", "dpkg-deb -f").out;
  };
  EXPECT_EQ(field("Package"), "forescale\n");
  for (const char* library : {"libc6", "libsimgrid3.32", "libjemalloc2"})
    EXPECT_NE(field("Depends").find(library), std::string::npos) << field("Depends");
}

TEST(Readme, EveryCommandAnswers) {
  const InstalledPackage package;
  expect_what_users_look_for(package);
  const std::string before = without_sources();
  for (const std::string& command : readme_commands()) {
    // ./run without arguments is the demo, whose files later commands read.
    if (command.find_first_not_of(' ') == command.find('#'))
      expect_both_systems(expect_something(package, "demo --out out", before),
                          package.folder() + "/out");
    else if (!measures(command))
      expect_something(package, command, before);
  }
}

TEST(Package, ProgramWithoutItsDataSaysWhatIsMissing) {
  const Workshop workshop;
  const std::string alone = workshop.path("forescale");
  fs::copy_file(FORESCALE_PROGRAM, alone);
  const Outcome outcome = run_program("stack list", "", alone);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("FORESCALE_DATA: must name the folder of the data files"),
            std::string::npos)
      << outcome.err;
}

TEST(Package, ProgramWithoutItsSimulatorSaysWhatIsMissing) {
  const Workshop workshop;
  const std::string alone = workshop.path("forescale");
  fs::copy_file(FORESCALE_PROGRAM, alone);
  const std::string star =
      "collective --platform star:hosts=4,bandwidth=1GB/s,latency=1us --plan all-reduce/ring "
      "--ranks 4 --bytes 1MiB --engine ";
  const std::string data = "FORESCALE_DATA=" FORESCALE_SOURCE_DIR;
  EXPECT_EQ(run_program(star + "cost", data, alone).exit_code, 0);  // SimGrid is not asked for
  const Outcome outcome = run_program(star + "sim", data, alone);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("forescale-simgrid.so: is part of forescale, but no folder above"),
            std::string::npos)
      << outcome.err;
}

// A block behind "`NAME`:" is that file, and the commands are run beside it. How many there were.
int run_page(const std::string& file_of_page) {
  const Workshop workshop;
  std::istringstream page(text_of(source_file(file_of_page)));
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
  return commands;
}

TEST(OwnMachine, EveryCommandOfThePageAnswers) { EXPECT_GE(run_page("docs/own_machine.md"), 15); }

TEST(Variation, EveryCommandOfThePageAnswers) { EXPECT_GE(run_page("docs/variation.md"), 5); }

TEST(ReadmeAlone, EveryCommandThatMeasuresAnswers) {
  if (const std::string obstacle = testbed_obstacle(); !obstacle.empty()) GTEST_SKIP() << obstacle;
  const InstalledPackage package;  // whose MPI programs are all that there is
  for (const std::string& command : readme_commands())
    if (measures(command)) expect_something(package, command);
}

}  // namespace
}  // namespace forescale
