// Every plan in the registry over real MPI on this machine: the right sum, and what is said when a
// rank dies.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "calibrate/measure/mpi_failure.hpp"
#include "calibrate/measure/mpi_launch.hpp"
#include "tests/algorithms/call_variants.hpp"
#include "tests/calibrate/mpi_here.hpp"

namespace forescale::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> command_of(const std::string& library, int ranks) {
  std::vector<std::string> command = loopback_command(library, ranks);
  command.push_back(mpi_program(library, FORESCALE_PROGRAM));
  return command;
}

nlohmann::json cases_request(nlohmann::json cases) {
  return {{"format", "forescale-mpi-request-1"},
          {"task", "collectives"},
          {"wait", {{"nap_s", 20e-6}}},
          {"channels", 1},
          {"budget_s", 120},
          {"repetitions_min", 1},
          {"repetitions_max", 1},
          {"cases", std::move(cases)}};
}

nlohmann::json case_of(const Collective& collective, const CollectiveCall& call) {
  return {{"plan", plan_text({.collective = &collective, .options = call.options})},
          {"ranks", call.rank_count},
          {"bytes", call.bytes},
          {"root", call.root}};
}

// Odd sizes: 1, 3, 1001 and 65537 elements. Short vectors with every variant; long ones, beyond the
// eager limits, with coarse chunks.
nlohmann::json every_case(int rank_count) {
  nlohmann::json cases = nlohmann::json::array();
  const Variants fine = {
      .chunk_bytes = {0, 400}, .chain_sizes = {3}, .levels = {"", "flat:2,chain:3,flat"}};
  const Variants coarse = {
      .chunk_bytes = {65524}, .chain_sizes = {4}, .levels = {"chain:4,binomial"}};
  for (const Collective* collective : all_collectives()) {
    for (const std::int64_t bytes : {4, 12, 4004})
      for (const CollectiveCall& call : calls_of(*collective, rank_count, bytes, fine))
        cases.push_back(case_of(*collective, call));
    for (const CollectiveCall& call : calls_of(*collective, rank_count, 262148, coarse))
      cases.push_back(case_of(*collective, call));
  }
  return cases;
}

struct Setting {
  std::string library;
  int ranks = 2;
  int channels = 1;
};

void PrintTo(const Setting& setting, std::ostream* out) {
  *out << setting.library << " " << setting.ranks << " ranks";
}

class EveryPlan : public ::testing::TestWithParam<Setting> {};

TEST_P(EveryPlan, GivesTheRightSumOverRealMpi) {
  const Setting& setting = GetParam();
  if (const std::string reason = mpi_obstacle(setting.library); !reason.empty())
    GTEST_SKIP() << reason;
  nlohmann::json request = cases_request(every_case(setting.ranks));
  request["channels"] = setting.channels;
  const MpiOutcome outcome =
      run_mpi(command_of(setting.library, setting.ranks), request.dump(), {}, 120);
  ASSERT_EQ(outcome.failure, "") << outcome.err_tail;
  const nlohmann::json answer = parse_json(outcome.answer);
  EXPECT_EQ(answer.at("format"), "forescale-executed-1");
  EXPECT_THAT(answer.at("library").get<std::string>(),
              HasSubstr(mpi_library_title(setting.library)));
  ASSERT_EQ(answer.at("cases").size(), request.at("cases").size());
  for (const nlohmann::json& one : answer.at("cases")) {
    EXPECT_TRUE(one.value("is_correct", false)) << one.dump();
    EXPECT_GT(one.value("time_s", 0.0), 0.0) << one.dump();
  }
}

INSTANTIATE_TEST_SUITE_P(Loopback, EveryPlan,
                         ::testing::Values(Setting{"openmpi", 2}, Setting{"openmpi", 3},
                                           Setting{"openmpi", 4, 2}, Setting{"openmpi", 7, 3},
                                           Setting{"openmpi", 8}, Setting{"mpich", 2},
                                           Setting{"mpich", 5}),
                         [](const auto& setting) {
                           return setting.param.library + std::to_string(setting.param.ranks);
                         });

class Launch : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (const std::string reason = mpi_obstacle(GetParam()); !reason.empty())
      GTEST_SKIP() << reason;
  }
};

// More ranks than a case needs: the others wait. A call that its collective refuses says why.
TEST_P(Launch, AnswersEveryCaseOfMixedSizes) {
  nlohmann::json cases = nlohmann::json::array();
  for (const int ranks : {2, 4, 3, 1})
    cases.push_back({{"plan", "all-reduce/ring"}, {"ranks", ranks}, {"bytes", 4096}});
  cases.push_back({{"plan", "reduce/flat"}, {"ranks", 2}, {"bytes", 4}, {"root", 2}});
  nlohmann::json request = cases_request(cases);
  request["repetitions_min"] = 7;
  request["repetitions_max"] = 7;
  const MpiOutcome outcome = run_mpi(command_of(GetParam(), 4), request.dump(), {}, 60);
  ASSERT_EQ(outcome.failure, "") << outcome.err_tail;
  const nlohmann::json answer = parse_json(outcome.answer);
  ASSERT_EQ(answer.at("cases").size(), 5U);
  for (std::size_t i = 0; i < 4; ++i) {
    const nlohmann::json& one = answer["cases"][i];
    EXPECT_TRUE(one.value("is_correct", false)) << one.dump();
    EXPECT_EQ(one.at("samples"), 7);
    EXPECT_LE(one.at("low_s"), one.at("time_s"));
    EXPECT_LE(one.at("time_s"), one.at("high_s"));
  }
  EXPECT_THAT(answer["cases"][4].at("error").get<std::string>(), HasSubstr("--root"));
  EXPECT_FALSE(answer["cases"][4].contains("time_s"));
}

TEST_P(Launch, RefusesAWrongRequest) {
  const auto failure_of = [](const nlohmann::json& request) {
    const MpiOutcome outcome = run_mpi(command_of(GetParam(), 2), request.dump(), {}, 60);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err_tail;
    EXPECT_EQ(outcome.answer, "");
    return outcome.failure;
  };
  const nlohmann::json good = {{"plan", "all-reduce/ring"}, {"ranks", 2}, {"bytes", 8}};
  nlohmann::json wrong = good;
  wrong["bytes"] = 7;
  EXPECT_THAT(failure_of(cases_request({wrong})), HasSubstr("/cases/0/bytes"));
  wrong = good;
  wrong["ranks"] = 3;
  EXPECT_THAT(failure_of(cases_request({good, wrong})), HasSubstr("/cases/1/ranks"));
  wrong = good;
  wrong["plan"] = "all-reduce/rong";
  EXPECT_THAT(failure_of(cases_request({wrong})), HasSubstr("did you mean \"ring\"?"));
}

std::string proc_text(pid_t process, const char* name) {
  std::ostringstream text;
  text << std::ifstream(fmt::format("/proc/{}/{}", process, name)).rdbuf();
  return text.str();
}

// The processes of one rank of the program that this test runs: itself and its watcher.
std::set<pid_t> processes_of_rank(const std::string& library, int rank) {
  const std::string end(1, '\0');
  const std::string own = end + "FORESCALE_TEST=" + std::to_string(getpid()) + end;
  const std::string ranked =
      (library == "openmpi" ? "OMPI_COMM_WORLD_RANK=" : "PMI_RANK=") + std::to_string(rank) + end;
  std::set<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t process = std::atoi(entry.path().filename().c_str());
    if (process == 0 || proc_text(process, "cmdline").find("forescale-mpi-") == std::string::npos)
      continue;
    const std::string environment = end + proc_text(process, "environ");
    if (environment.find(own) != std::string::npos &&
        environment.find(end + ranked) != std::string::npos)
      found.insert(process);
  }
  return found;
}

pid_t parent_of(pid_t process) {
  const std::string stat = proc_text(process, "stat");  // "PID (name) state parent ..."
  return std::atoi(stat.c_str() + std::min(stat.size(), stat.rfind(')') + 4));
}

void kill_rank(const std::string& library, int rank) {
  const std::set<pid_t> processes = processes_of_rank(library, rank);
  for (const pid_t process : processes)
    if (processes.contains(parent_of(process))) {
      kill(process, SIGKILL);
      return;
    }
  ADD_FAILURE() << "no process of rank " << rank;
}

// Many cases, so that it is in the middle of them when the first progress line has come.
TEST_P(Launch, SaysWhichRankWasKilledAndKeepsWhatWasAnswered) {
  nlohmann::json cases = nlohmann::json::array();
  for (int i = 0; i < 2000; ++i)
    cases.push_back({{"plan", "all-reduce/ring"}, {"ranks", 4}, {"bytes", 4 * 4096}});
  setenv("FORESCALE_TEST", std::to_string(getpid()).c_str(), 1);
  nlohmann::json request = cases_request(cases);
  request["repetitions_max"] = 20;
  request["repetitions_min"] = 20;
  int lines = 0;
  const auto on_progress = [&lines](const std::string&) {
    if (++lines == 2) kill_rank(GetParam(), 2);
  };
  const MpiOutcome outcome = run_mpi(command_of(GetParam(), 4), request.dump(), on_progress, 100);
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_EQ(outcome.failure, "rank 2 was ended by signal 9 (Killed)") << outcome.err_tail;
  ASSERT_NE(outcome.answer, "");
  const nlohmann::json answer = parse_json(outcome.answer);
  EXPECT_GE(answer.at("cases").size(), 1U);
  EXPECT_LT(answer.at("cases").size(), cases.size());
  EXPECT_TRUE(answer["cases"][0].value("is_correct", false));
  for (int rank = 0; rank < 4; ++rank) EXPECT_THAT(processes_of_rank(GetParam(), rank), IsEmpty());
}

TEST_P(Launch, EndsWhatTakesTooLong) {
  nlohmann::json cases = nlohmann::json::array();
  for (int i = 0; i < 3; ++i)
    cases.push_back({{"plan", "all-reduce/ring"}, {"ranks", 2}, {"bytes", 4}});
  nlohmann::json request = cases_request(cases);
  request["repetitions_min"] = 1000000;
  request["repetitions_max"] = 1000000;
  const MpiOutcome outcome = run_mpi(command_of(GetParam(), 2), request.dump(), {}, 1.5);
  EXPECT_EQ(outcome.failure, "not finished after 1.5 s");
}

// Ctrl-C during a run ends this process, as it would without one, and all ranks before.
TEST_P(Launch, LeavesNothingBehindWhenInterrupted) {
  setenv("FORESCALE_TEST", std::to_string(getpid()).c_str(), 1);
  nlohmann::json request =
      cases_request({{{"plan", "all-reduce/ring"}, {"ranks", 2}, {"bytes", 4}}});
  request["repetitions_min"] = 1000000;
  request["repetitions_max"] = 1000000;
  const auto interrupt = [](const std::string&) { kill(getpid(), SIGINT); };
  EXPECT_EXIT(run_mpi(command_of(GetParam(), 2), request.dump(), interrupt, 60),
              ::testing::KilledBySignal(SIGINT), "");
  for (int rank = 0; rank < 2; ++rank) EXPECT_THAT(processes_of_rank(GetParam(), rank), IsEmpty());
}

// As of a job in the background of a script, or under nohup.
TEST_P(Launch, GoesOnWhereInterruptsAreIgnored) {
  const auto before = std::signal(SIGINT, SIG_IGN);
  nlohmann::json cases = nlohmann::json::array();
  for (int i = 0; i < 40; ++i)
    cases.push_back({{"plan", "all-reduce/ring"}, {"ranks", 2}, {"bytes", 4 * 4096}});
  nlohmann::json request = cases_request(cases);
  request["repetitions_min"] = request["repetitions_max"] = 20;
  int interrupts = 0;
  const auto interrupt = [&](const std::string&) { ++interrupts, kill(getpid(), SIGINT); };
  const MpiOutcome outcome = run_mpi(command_of(GetParam(), 2), request.dump(), interrupt, 100);
  std::signal(SIGINT, before);
  EXPECT_GE(interrupts, 1);
  EXPECT_EQ(outcome.failure, "") << outcome.err_tail;
  EXPECT_EQ(parse_json(outcome.answer).at("cases").size(), cases.size());
}

INSTANTIATE_TEST_SUITE_P(Libraries, Launch, ::testing::Values("openmpi", "mpich"),
                         [](const auto& setting) { return setting.param; });

// Launchers of Open MPI that share a session folder take it from each other as they end.
TEST(RunMpi, EveryLaunchHasASessionFolderOfItsOwn) {
  const auto session_folder = [] {
    return run_mpi({"sh", "-c", "printenv TMPDIR > \"$2\"", "sh"}, "{}", {}, 10).answer;
  };
  const std::string first = session_folder();
  EXPECT_FALSE(first.empty());
  EXPECT_NE(first, session_folder());
}

TEST(MpiFailure, FindsTheReasonInWhatLaunchersPrint) {
  EXPECT_EQ(mpi_failure("mpirun noticed that process rank 3 with PID 71 on node fs-a-h3 exited on "
                        "signal 9 (Killed).",
                        137),
            "rank 3 was ended by signal 9 (Killed)");
  const std::string hydra =
      "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
      "=   PID 71 RUNNING AT fs-a-h1\n=   EXIT CODE: 9\n=   CLEANING UP REMAINING PROCESSES";
  EXPECT_EQ(mpi_failure(hydra, 9), "process 71 on fs-a-h1 ended with status 9");
  EXPECT_EQ(
      mpi_failure("[vm][[22154,1],0][btl_tcp_frag.c:135:send] forescale-mpi: rank 2 was ended "
                  "by signal 9 (Killed)\nsend: writev failed\n",
                  137),
      "rank 2 was ended by signal 9 (Killed)");
  EXPECT_EQ(mpi_failure("forescale-mpi: rank 1 was ended by signal 9 (Killed)\n" + hydra, 9),
            "rank 1 was ended by signal 9 (Killed)");
  EXPECT_EQ(mpi_failure("no such host", 1), "the launcher ended with exit code 1: no such host");
}

TEST(MpiProgram, SaysWhatIsMissing) {
  try {
    mpi_program("openmpi", "/usr/bin/env");
    FAIL() << "found a program beside env";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("libopenmpi-dev"));
  }
  EXPECT_THROW(mpi_program("mvapich"), InputError);
}

}  // namespace
}  // namespace forescale::testing
