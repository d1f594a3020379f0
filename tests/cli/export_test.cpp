// `export`: programs and traces for other simulators, read again by the importers, and run by
// SimGrid's own SMPI replay.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "base/json_text.hpp"
#include "tests/cli/run_program.hpp"
#include "tests/traces/grid_traces.hpp"

namespace forescale::testing {
namespace {

class Exported : public ::testing::Test {
 protected:
  nlohmann::json replayed(const std::string& files, const std::string& options = "") const {
    return expect_answer("replay " + files + " --no-range --no-critical-path --json " + options)
        .json();
  }
  std::string recorded(const std::string& system) {
    const std::string file = workshop_.path("run.jsonl");
    expect_answer("predict --platform cluster-b --gpus 8 --model googlenet --batch 256 --system " +
                  system + " --record " + file);
    return file;
  }
  std::string chakra_files(const std::string& prefix, int ranks) const {
    std::string files;
    for (int rank = 0; rank < ranks; ++rank) files += fmt::format("{}.{}.et ", prefix, rank);
    return files;
  }

  Workshop workshop_;
};

TEST_F(Exported, ChakraTakesTheTimeOfTheProgram) {
  const std::string program = recorded("s-caffe-ob");
  const nlohmann::json original = replayed(program);
  const std::string prefix = workshop_.path("run");
  expect_answer("export " + program + " --format chakra -o " + prefix, {"groups", "note"});
  const nlohmann::json again =
      replayed(chakra_files(prefix, 8), "--platform cluster-b --stack mvapich2-gdr-no-hr");
  // A Chakra trace is one iteration: all three, which are alike.
  const double whole_s =
      original["iterations"].get<double>() * original["iteration_s"].get<double>();
  EXPECT_NEAR(again["iteration_s"].get<double>(), whole_s, 1e-3 * whole_s);
  EXPECT_EQ(again["messages"], original["messages"]);
  EXPECT_EQ(again["bytes_sent"], original["bytes_sent"]);
}

TEST_F(Exported, GoalHasTheMessagesThatAreSimulated) {
  const std::string program = recorded("s-caffe-obr-hr");
  const nlohmann::json original = replayed(program);
  const std::string goal = workshop_.path("run.goal");
  expect_answer("export " + program + " --format goal -o " + goal,
                {fmt::format("{} messages", original["messages"].get<int>())});
  // The importer refuses sends without their receives, and cycles.
  const nlohmann::json imported = expect_answer("import " + goal + " --json").json();
  EXPECT_EQ(imported["messages"]["count"], original["messages"]);
  EXPECT_EQ(imported["messages"]["bytes"], original["bytes_sent"]);
  EXPECT_EQ(imported["ranks"], 8);
  expect_answer("replay " + goal + " --no-range --platform cluster-b --stack mvapich2-2.3");
}

// What a plan's operations wait for is in it: each send of a ring but the first passes on what was
// received before.
TEST_F(Exported, GoalTakesTheTimeAndTheOrderOfTheCollectives) {
  const std::string trace = workshop_.file("r0.json", GridTraces({.tensor = 4}).timeline(0));
  const std::string place =
      " --platform star:hosts=4,bandwidth=10GB/s,latency=1ms --stack ideal --plan all-reduce/ring ";
  const std::string goal = workshop_.path("ring.goal");
  expect_answer("export " + trace + place + "--format goal -o " + goal);
  const nlohmann::json original = replayed(trace, place);
  const double whole_s = 3 * original["iteration_s"].get<double>();
  EXPECT_GT(original["communication_s"], 0.3 * whole_s / 3);
  EXPECT_NEAR(replayed(goal, place)["iteration_s"].get<double>(), whole_s, 0.02 * whole_s);
  std::istringstream lines(text_of(goal));
  std::map<std::string, std::string> kinds;  // of a rank's labels
  std::set<std::string> passed_on;           // sends that need a receive
  size_t sends = 0;
  for (std::string line; std::getline(lines, line) && line != "}";) {
    std::istringstream words(line);
    std::string label;
    std::string what;
    std::string other;
    words >> label >> what >> other;
    if (label.back() == ':') {
      kinds[label.substr(0, label.size() - 1)] = what;
      sends += what == "send" ? 1 : 0;
    } else if (what == "requires" && kinds[label] == "send" && kinds[other] == "recv") {
      passed_on.insert(label);
    }
  }
  // Six all-reduces of three steps there and three back.
  EXPECT_EQ(sends, 36U);
  EXPECT_EQ(passed_on.size(), 30U);
}

// Groups of tensor and data parallelism, from one rank's trace.
TEST_F(Exported, GroupsOfATrace) {
  const std::string trace =
      workshop_.file("r0.json", GridTraces({.tensor = 2, .data = 4}, GroupsAs::kNames).timeline(0));
  const std::string prefix = workshop_.path("grid");
  expect_answer("export " + trace + " --format chakra -o " + prefix);
  const nlohmann::json groups = parse_json(text_of(prefix + ".groups.json"));
  std::set<std::vector<int>> members;
  for (const auto& [name, group] : groups.items()) members.insert(group.get<std::vector<int>>());
  EXPECT_EQ(members, (std::set<std::vector<int>>{
                         {0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2, 4, 6}, {1, 3, 5, 7}}));
  const std::string place = " --platform dgx-a100 ";
  const nlohmann::json original = replayed(trace, place);
  const nlohmann::json again = replayed(chakra_files(prefix, 8), place);
  EXPECT_EQ(again["bytes_sent"], original["bytes_sent"]);
  const double whole_s = 3 * original["iteration_s"].get<double>();
  EXPECT_NEAR(again["iteration_s"].get<double>(), whole_s, 0.02 * whole_s);
  const std::string goal = workshop_.path("grid.goal");
  expect_answer("export " + trace + place + "--format goal -o " + goal);
  EXPECT_EQ(expect_answer("import " + goal + " --json").json()["messages"]["bytes"],
            original["bytes_sent"]);
  expect_refused("export " + trace + " --format smpi -o " + workshop_.path("x"),
                 {"all-reduce of 2 ranks", "all ranks in every collective"});
  expect_refused("export " + trace + " --format gaol -o " + workshop_.path("x"),
                 {"--format", "did you mean \"goal\""});
  expect_refused("export " + trace + " --format goal -o " + workshop_.path("x"), {"--platform"});
}

// What SMPI's replay prints as the simulated time.
double smpi_time_s(const std::string& folder, const std::string& list, int ranks) {
  const std::string command = fmt::format(
      "cd {} && smpirun -np {} -platform p.xml -hostfile hosts -replay {} "
      "--cfg=smpi/simulate-computation:no --cfg=smpi/host-speed:1Gf 2>&1",
      folder, ranks, list);
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string said;
  std::array<char, 4096> buffer;
  while (fgets(buffer.data(), static_cast<int>(buffer.size()), pipe.get()) != nullptr)
    said += buffer.data();
  const std::string key = "Simulation time ";
  const size_t at = said.find(key);
  EXPECT_NE(at, std::string::npos) << said;
  return at == std::string::npos ? 0 : std::stod(said.substr(at + key.size()));
}

TEST_F(Exported, SmpiReplaysIt) {
  const std::string program = recorded("s-caffe-ob");
  const nlohmann::json original = expect_answer("import " + program + " --json").json();
  const std::string file = workshop_.file("run.smpi", "");
  expect_answer("export " + program + " --format smpi -o " + file, {"actions"});
  workshop_.file("list", "run.smpi\n");
  workshop_.file("p.xml",
                 "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM "
                 "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\"><zone id=\"z\" "
                 "routing=\"Full\"><cluster id=\"c\" prefix=\"h\" suffix=\"\" radical=\"0-7\" "
                 "speed=\"1Gf\" bw=\"1GBps\" lat=\"5us\"/></zone></platform>\n");
  std::string hosts;
  for (int host = 0; host < 8; ++host) hosts += fmt::format("h{}\n", host);
  const std::string folder = std::filesystem::path(workshop_.file("hosts", hosts)).parent_path();
  const double smpi_s = smpi_time_s(folder, "list", 8);
  // The same calls with other algorithms on other models of the network: compute is most of it.
  const double compute_s = original["compute_s"].get<double>() / 8;
  EXPECT_GT(smpi_s, compute_s);
  const double ours_s =
      replayed(file,
               "--flops-per-s 1e9 --platform star:hosts=8,bandwidth=1GB/s,latency=10us "
               "--stack ideal")["iteration_s"];
  EXPECT_NEAR(smpi_s, ours_s, 0.15 * ours_s);
}

}  // namespace
}  // namespace forescale::testing
