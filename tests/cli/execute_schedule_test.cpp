// `forescale execute schedule` end to end: refusals, and four hosts at 200 Mbit/s for real.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "calibrate/testbed/testbed.hpp"
#include "tests/calibrate/mpi_here.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale {
namespace {

using nlohmann::json;
using testing::expect_refused;
using testing::Outcome;
using testing::run_program;
using testing::Workshop;

constexpr int kHosts = 4;

// Hosts on one switch, and a stack whose numbers are right within some ten percent: TCP over jumbo
// frames moves 98 % of the cable's rate, a message costs about 100 us with all ranks at work.
struct Files {
  std::string platform;
  std::string stack;
};
Files write_files(const Workshop& workshop) {
  json links = json::array();
  for (int host = 0; host < kHosts; ++host)
    links.push_back({{"from", "host" + std::to_string(host)},
                     {"to", "switch0"},
                     {"class", {{"bandwidth_bytes_per_s", 0.98 * 25e6}, {"latency_s", 0}}}});
  const json platform = {
      {"format", "forescale-platform-1"},
      {"name", "four-hosts"},
      {"description", "four hosts at 200 Mbit/s"},
      {"source", "test"},
      {"node", {{"count", kHosts}, {"layout", "host"}, {"emulated_gpu", "k80"}}},
      {"fabric", {{"layout", "explicit"}, {"switches", {"switch0"}}, {"links", links}}}};
  const json adding = {{"place", "fixed"},
                       {"overlaps_transfer", true},
                       {"overhead_s", 0},
                       {"rate_bytes_per_s", 2e9}};
  const auto only = [](const char* algorithm) { return json::array({{{"algorithm", algorithm}}}); };
  const json path = {{"where", "any"},
                     {"buffers", "host"},
                     {"mechanism", "direct"},
                     {"o_send_s", 30e-6},
                     {"latency_s", 70e-6}};
  const json stack = {{"format", "forescale-stack-1"},
                      {"name", "mpi"},
                      {"description", "MPI on four hosts"},
                      {"source", "test"},
                      {"channels", 1},
                      {"eager_limit_bytes", 65536},
                      {"latency_holds_ports", false},
                      {"shared_cores", 0},
                      {"progress", "hardware"},
                      {"reduction", adding},
                      {"host_reduction", adding},
                      {"paths", json::array({path})},
                      {"selection",
                       {{"all-reduce", only("ring")},
                        {"reduce", only("binomial")},
                        {"broadcast", only("binomial")}}}};
  return {.platform = workshop.file("platform.json", platform.dump()),
          .stack = workshop.file("stack.json", stack.dump())};
}

std::string command(const Files& files, const std::string& rest) {
  return "execute schedule --platform " + files.platform + " --stack " + files.stack +
         " --model cifar10-quick --batch 512 " + rest;
}

TEST(ExecuteScheduleCommand, RefusesWhatItCannotDo) {
  const Workshop workshop;
  const Files files = write_files(workshop);
  const std::string ranks = "--ranks 4 --schedules ";
  expect_refused(command(files, ranks + "sc-obb"), {"--schedules", "sc-obr"});
  expect_refused(command(files, ranks + "phases --algorithm reduce/nothing"), {"--algorithm"});
  expect_refused(command(files, ranks + "phases --bytes-scale 2"), {"--bytes-scale", "at most 1"});
  expect_refused(command(files, ranks + "phases --straggler 7:2"), {"--straggler", "below 4"});
  expect_refused(command(files, ranks + "phases --iterations 1"), {"--iterations", "must be >= 2"});
  expect_refused(command(files, "--ranks 4 --gpus 9 --schedules phases"), {"--gpus", "9"});
  expect_refused(command(files, ranks + "phases,sc-ob --executed nothing.json"),
                 {"--schedules", "must be one schedule with --executed"});
  expect_refused(
      "execute schedule --platform kesch --stack mvapich2-gdr --model googlenet "
      "--batch 64 --ranks 4 --schedules phases",
      {"--platform", "has real GPUs"});
}

// What mpirun left of an earlier run is compared without running anything.
TEST(ExecuteScheduleCommand, ComparesWithWhatWasExecuted) {
  const Workshop workshop;
  const Files files = write_files(workshop);
  json iterations = json::array();
  for (int i = 0; i < 6; ++i) {
    json ranks = json::array();
    for (int rank = 0; rank < kHosts; ++rank)
      ranks.push_back({{"end_s", 0.5 * (i + 1)},
                       {"period_s", 0.5},
                       {"phases_s", {{"forward", 0.1}, {"backward", 0.2}, {"aggregation", 0.2}}}});
    iterations.push_back({{"time_s", 0.5}, {"ranks", ranks}});
  }
  const std::string answer = workshop.file("answer.json", json{{"format", "forescale-executed-1"},
                                                               {"library", "Open MPI 4.1.4"},
                                                               {"payload_bytes", 0},
                                                               {"iterations", iterations}}
                                                              .dump());
  const Outcome result = run_program(
      command(files, "--gpus 4 --ranks 4 --schedules phases --json --executed " + answer));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json row = result.json().at("schedules").at(0);
  EXPECT_DOUBLE_EQ(row.at("measured").at("iteration_s"), 0.5);
  EXPECT_DOUBLE_EQ(row.at("measured").at("exposed_communication_s"), 0.2);
  const json& predicted = row.at("predicted");
  EXPECT_DOUBLE_EQ(predicted.at("exposed_communication_s").get<double>() +
                       predicted.at("waiting_s").get<double>(),
                   row.at("predicted_communication_or_waiting").at("time_s").get<double>());
  EXPECT_DOUBLE_EQ(row.at("communication_share"), 0.4);
}

// Bounds wide enough for a busy machine: this shows that both engines run the same thing.
TEST(ExecuteScheduleAlone, FourHostsKeepNearThePrediction) {
  const std::string obstacle = testbed_obstacle();
  if (!obstacle.empty()) GTEST_SKIP() << "no testbed here: " << obstacle;
  if (const std::string reason = testing::mpi_obstacle("openmpi"); !reason.empty())
    GTEST_SKIP() << reason;
  const Workshop workshop;
  const Files files = write_files(workshop);
  TestbedSpec spec;
  spec.name = "sched";
  spec.hosts = kHosts;
  spec.rate = {200e6 / 8};
  const ScopedTestbed testbed(spec);
  const Outcome result =
      run_program(command(files,
                          "--testbed sched --compute-scale 2 --schedules "
                          "phases,sc-ob,sc-obr,layer-all-reduce --json --no-range"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json answer = result.json();
  for (const json& row : answer.at("schedules")) {
    const std::string schedule = row.at("schedule");
    ASSERT_FALSE(row.contains("failure")) << schedule << ": " << row.at("failure");
    EXPECT_LT(std::abs(row.at("iteration_error").get<double>()), 0.4) << row.dump(2);
    EXPECT_NEAR(row.at("measured").at("payload_bytes").get<double>(),
                row.at("predicted").at("payload_bytes").get<double>(), 0.5)
        << schedule;
    // An emulated GPU takes the time it is told, but for what the machine adds.
    EXPECT_NEAR(row.at("measured").at("compute_s").get<double>(),
                row.at("predicted").at("compute_s").get<double>(),
                0.1 * row.at("predicted").at("compute_s").get<double>())
        << schedule;
  }
}

}  // namespace
}  // namespace forescale
