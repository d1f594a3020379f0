// `forescale execute`: real MPI, over loopback and on a small testbed. Skipped where MPI or
// namespaces are missing. How accurate predictions are is not decided here: machines that run tests
// are busy with others.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>

#include "base/json_text.hpp"
#include "calibrate/measure/mpi_launch.hpp"
#include "calibrate/testbed/testbed.hpp"
#include "tests/calibrate/mpi_here.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

void expect_complete(const json& document, bool is_predicted) {
  EXPECT_EQ(document["format"], "forescale-executed-collectives-1");
  for (const json& row : document["rows"]) {
    EXPECT_EQ(row["is_correct"], true) << row;
    EXPECT_GT(row["measured_s"].get<double>(), 0) << row;
    EXPECT_LE(row["measured_low_s"], row["measured_s"]) << row;
    EXPECT_LE(row["measured_s"], row["measured_high_s"]) << row;
    EXPECT_GT(row["samples"].get<int>(), 0) << row;
    EXPECT_EQ(row["error"].is_null(), !is_predicted) << row;
    if (!is_predicted) continue;
    EXPECT_LE(row["low_s"], row["predicted_s"]) << row;
    EXPECT_LE(row["predicted_s"], row["high_s"]) << row;
  }
}

class ExecuteOverLoopback : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (const std::string obstacle = mpi_obstacle(GetParam()); !obstacle.empty())
      GTEST_SKIP() << obstacle;
  }
};

TEST_P(ExecuteOverLoopback, ThreeRanksGiveRightSums) {
  const Outcome result = expect_answer(
      "execute collective --ranks 3 --bytes 4KiB,20KiB --budget 5s --json --mpi " + GetParam());
  const json document = result.json();
  expect_complete(document, false);
  // All six plans at two sizes, but for what a plan refuses on three ranks.
  EXPECT_EQ(document["rows"].size() + 2 * document["refused"].size(), 12U);
  EXPECT_THAT(document["library"].get<std::string>(), HasSubstr(mpi_library_title(GetParam())));
}

TEST_P(ExecuteOverLoopback, ComparesWithAPredictionAndExpects) {
  const Workshop workshop;
  const std::string command =
      "execute collective --ranks 3 --bytes 4KiB --budget 5s --plans reduce/binomial "
      "reduce/chain:chunk_bytes=1KiB --platform star:hosts=3,bandwidth=1GB/s,latency=1us "
      "--stack ideal --mpi " +
      GetParam();
  const std::string file = workshop.path("executed.json");
  const std::string chart = workshop.path("chart.svg");
  expect_answer(command + " -o " + file + " --chart " + chart,
                {"predicted", "interval", "measured", "error", "reduce/chain:chunk_bytes=1KiB",
                 "choice of algorithm"});
  const json document = parse_json(text_of(file));
  expect_complete(document, true);
  EXPECT_EQ(document["summary"]["all"]["rows"], 2);
  EXPECT_EQ(document["summary"]["picks"].size(), 1U);
  EXPECT_THAT(text_of(chart), HasSubstr("</svg>"));
  // A network of 1 GB/s without overheads is no loopback of processes that share cores.
  const Outcome failed = run_program(command + " --expect median=1%");
  EXPECT_EQ(failed.exit_code, 4) << failed.err;
  EXPECT_THAT(failed.err, HasSubstr("median |error|"));
  EXPECT_THAT(failed.out, HasSubstr("reduce/binomial"));
}

TEST_P(ExecuteOverLoopback, UnderMpirunRankZeroAnswers) {
  std::string launcher;
  for (const std::string& word : loopback_command(GetParam(), 3)) launcher += word + " ";
  const Workshop workshop;
  const std::string file = workshop.path("executed.json");
  const Outcome result = run_program(
      "execute collective --bytes 4KiB --budget 5s --plans all-reduce/ring -o " + file, launcher);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json document = parse_json(text_of(file));
  expect_complete(document, false);
  ASSERT_EQ(document["rows"].size(), 1U);
  EXPECT_EQ(document["rows"][0]["ranks"], 3);
  const Outcome refused = run_program("execute collective --bytes 4KiB --ranks 4", launcher);
  EXPECT_NE(refused.exit_code, 0);
  const std::string complaint = "the ranks of this job";
  const size_t first = refused.err.find(complaint);
  ASSERT_NE(first, std::string::npos) << refused.err;
  EXPECT_EQ(refused.err.find(complaint, first + 1), std::string::npos) << refused.err;
}

INSTANTIATE_TEST_SUITE_P(Libraries, ExecuteOverLoopback, ::testing::Values("openmpi", "mpich"),
                         [](const auto& library) { return library.param; });

TEST(Execute, RefusesBadInput) {
  expect_refused("execute", {"needs --testbed"});
  expect_refused("execute --testbed --hosts 4 --ranks 5", {"--ranks", "5", "at most 4"});
  expect_refused("execute --testbed --rate 3", {"--rate"});
  expect_refused("execute --testbed --execute-budget 0s", {"--execute-budget", "at least 1s"});
  expect_refused("execute --testbed --expect medain=3%", {"--expect", "did you mean \"median\""});
  expect_refused("execute --testbed --plans reduce/rink", {"--plans", "rink"});
  expect_refused("execute --testbed -o /nowhere/x.json", {"-o", "cannot be written"});
  expect_refused("execute collective --bytes 4KiB", {"--ranks", "is needed"});
  expect_refused("execute collective --bytes 4KiB --ranks 1", {"--ranks", "must be >= 2"});
  expect_refused("execute collective --bytes 6 --ranks 2", {"--bytes", "FP32"});
  expect_refused("execute collective --bytes 1TiB --ranks 2", {"--bytes", "1 TiB", "<= 1 GiB"});
  expect_refused("execute collective --bytes 4KiB --ranks 2 --stack ideal", {"needs --platform"});
  expect_refused("execute collective --bytes 4KiB --ranks 2 --expect median=1%",
                 {"--expect", "needs --platform"});
  expect_refused("execute collective --bytes 4KiB --ranks 2 --testbed nosuch", {"nosuch"});
}

TEST(ExecuteAlone, OnATestbedFromMeasurementToComparison) {
  if (const std::string obstacle = testbed_obstacle(); !obstacle.empty()) GTEST_SKIP() << obstacle;
  if (const std::string obstacle = mpi_obstacle("openmpi"); !obstacle.empty())
    GTEST_SKIP() << obstacle;
  const Workshop workshop;
  const std::string folder = workshop.path("kept");
  const std::string name = fmt::format("t{}", getpid());
  const Outcome result = expect_answer(fmt::format(
      "execute --testbed {} --hosts 4 --rate 200mbit --ranks 2,4 --bytes 64KiB,256KiB,1MiB "
      "--measure-budget 8s --execute-budget 8s --keep {} --json",
      name, folder));
  const json document = result.json();
  EXPECT_EQ(document["rows"].size(), 6U * 2 * 3);
  expect_complete(document, true);
  EXPECT_LT(document["summary"]["all"]["median_abs_error"].get<double>(), 0.3);
  EXPECT_THAT(Testbed::all(), Not(Contains(name)));

  // Predictions were there before anything was executed.
  const json predicted = parse_json(text_of(folder + "/predicted.json"));
  EXPECT_LT(std::filesystem::last_write_time(folder + "/predicted.json"),
            std::filesystem::last_write_time(folder + "/executed.json"));
  ASSERT_EQ(predicted["rows"].size(), document["rows"].size());
  for (size_t i = 0; i < predicted["rows"].size(); ++i) {
    EXPECT_EQ(predicted["rows"][i]["predicted_s"], document["rows"][i]["predicted_s"]);
    EXPECT_TRUE(predicted["rows"][i]["measured_s"].is_null());
  }
  // No collective was timed for the fit, and what it wrote is what others take.
  const json measurement = parse_json(text_of(folder + "/measurement.json"));
  for (const json& series : measurement["series"]) EXPECT_NE(series["pattern"], "collective");
  expect_answer(
      fmt::format("collective --platform {0}/platform.json --stack {0}/stack.json "
                  "--op reduce --algorithm binomial --ranks 4 --bytes 1MiB",
                  folder));
}

}  // namespace
}  // namespace forescale::testing
