#include "studies/sweep/sweep_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.hpp"
#include "sim/ask/known_answers.hpp"
#include "sim/isolate.hpp"
#include "studies/sweep/sweep_crew.hpp"
#include "studies/sweep/sweep_worker.hpp"
#include "tests/studies/sweep_studies.hpp"

namespace forescale::testing {
namespace {

// Its own --bytes.
int echo(const std::vector<std::string>& arguments) {
  fmt::print("{{\"bytes\": {}}}\n", arguments.at(1).substr(std::string("--bytes=").size()));
  return 0;
}

// What it knows of what others have simulated, at its begin.
int tell(const std::vector<std::string>& arguments) {
  KnownAnswers& known = KnownAnswers::of_this_process();
  const std::string* const answer = known.find("question");
  fmt::print("{{\"known\": \"{}\"}}\n", answer == nullptr ? "" : *answer);
  // More than a pipe holds.
  if (answer == nullptr) known.add("question", std::string(200'000, arguments.at(1).back()));
  return 0;
}

class SweepRunning : public ::testing::Test {
 protected:
  explicit SweepRunning(int points = 20) : study_(numbered_study(folder_, points)) {}

  std::vector<SweepRow> run(const SweepProgram& program, int workers = 0) {
    SweepDatabase database(file_, facts_of(study_, kVersion));
    std::vector<std::size_t> points;
    const std::set<std::string> settled = database.settled_keys(false);
    for (std::size_t i = 0; i < study_.points.size(); ++i)
      if (!settled.contains(study_.points[i].key)) points.push_back(i);
    run_sweep({.study = study_,
               .database = database,
               .program = program,
               .points = points,
               .jobs = 2,
               .workers = workers,
               .on_progress = [&](std::size_t finished) { finished_ = finished; }});
    return database.rows();
  }

  // Another process that works for whoever writes to the database; its exit code comes with wait().
  pid_t start_worker(const SweepProgram& program, const std::string& version = kVersion) const {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    int exit_code = 0;
    try {
      run_sweep_worker({.study = study_,
                        .version = version,
                        .address_file = address_file_of(file_),
                        .program = program,
                        .slots = 2});
    } catch (const InputError& error) {
      exit_code = 2;
    } catch (const SimulationStuck& error) {
      exit_code = 3;
    }
    _exit(exit_code);
  }

  void wait_for_files(const std::vector<std::string>& names) const {
    for (const std::string& name : names)
      for (int i = 0; i < 6000 && !std::filesystem::exists(folder_.file(name)); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  // 128 + N after signal N.
  static int exit_code_of(pid_t worker) {
    int status = 0;
    waitpid(worker, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  void expect_echoes(const std::vector<SweepRow>& rows) const {
    ASSERT_EQ(rows.size(), study_.points.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_EQ(rows[i].place, static_cast<std::int64_t>(i));
      EXPECT_EQ(rows[i].reason, "");
      EXPECT_EQ(rows[i].answer, fmt::format("{{\"bytes\":{}}}", i));
    }
  }

  const ScratchFolder folder_{"sweep"};
  const std::string file_ = folder_.file("a.sqlite");
  const Study study_;
  std::size_t finished_ = 0;
};

TEST_F(SweepRunning, EveryPointIsAnswered) {
  expect_echoes(run(echo));
  EXPECT_EQ(finished_, 20U);
}

TEST_F(SweepRunning, AFailingPointIsKeptWithItsReason) {
  const std::vector<SweepRow> rows = run([](const std::vector<std::string>& arguments) {
    const std::string& bytes = arguments.at(1);
    if (bytes == "--bytes=3") {
      fmt::print(stderr, "forescale: --bytes = 3: must be even\n");
      return 2;
    }
    if (bytes == "--bytes=5") return 4;
    if (bytes == "--bytes=7") {
      fmt::print(stderr, "forescale: a check\n");
      std::abort();
    }
    if (bytes == "--bytes=9") {
      fmt::print("no JSON");
      return 0;
    }
    return echo(arguments);
  });
  ASSERT_EQ(rows.size(), 20U);
  EXPECT_EQ(rows[3].reason, "--bytes = 3: must be even");
  EXPECT_EQ(rows[3].exit_code, 2);
  EXPECT_EQ(rows[5].reason, "exit code 4");
  EXPECT_EQ(rows[7].reason, "the simulation died: Aborted: a check");
  EXPECT_EQ(rows[7].exit_code, 128 + SIGABRT);
  EXPECT_EQ(rows[9].reason, "the answer is no JSON");
  for (const std::size_t failed : {3U, 5U, 7U, 9U}) EXPECT_EQ(rows[failed].answer, "") << failed;
  EXPECT_EQ(rows[19].answer, R"({"bytes":19})");
}

TEST_F(SweepRunning, APointKilledFromOutsideRunsAgainNextTime) {
  const std::vector<SweepRow> rows = run([](const std::vector<std::string>& arguments) {
    if (arguments.at(1) == "--bytes=3") raise(SIGKILL);
    return echo(arguments);
  });
  ASSERT_EQ(rows.size(), 20U);
  EXPECT_EQ(rows[3].reason, "the simulation died: Killed");
  expect_echoes(run(echo));
  EXPECT_EQ(finished_, 1U);
}

TEST_F(SweepRunning, ASimulationHasOneCore) {
  const std::vector<SweepRow> rows = run([](const std::vector<std::string>&) {
    fmt::print("{}", available_cores());
    return 0;
  });
  EXPECT_EQ(rows.at(0).answer, "1");
}

// Whatever a simulation has started goes with the sweep: its lock is free before it would have
// ended.
TEST_F(SweepRunning, NothingRunsOnWhenItIsKilled) {
  const std::function<std::string()> long_task = [&] {
    flock(open(folder_.file("lock").c_str(), O_CREAT | O_RDWR, 0600), LOCK_EX);
    written(folder_, "running", "");
    std::this_thread::sleep_for(std::chrono::seconds(20));
    written(folder_, "survived", "");
    return std::string();
  };
  const pid_t sweep = fork();
  if (sweep == 0) {
    run([&](const std::vector<std::string>&) {
      run_isolated({long_task}, 1, [](std::size_t) {});
      return 0;
    });
    _exit(0);
  }
  wait_for_files({"running"});
  kill(sweep, SIGKILL);
  EXPECT_EQ(exit_code_of(sweep), 128 + SIGKILL);
  const int lock = open(folder_.file("lock").c_str(), O_RDWR);
  EXPECT_EQ(flock(lock, LOCK_EX), 0);
  close(lock);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("survived")));
}

// The master's own simulations wait until both workers have had a point.
TEST_F(SweepRunning, WorkersHelp) {
  const pid_t test = getpid();
  std::vector<pid_t> workers;
  const auto mark = [](pid_t worker) { return fmt::format("helped-{}", worker); };
  const SweepProgram program = [&](const std::vector<std::string>& arguments) {
    if (getppid() == test)
      wait_for_files({mark(workers[0]), mark(workers[1])});
    else
      written(folder_, mark(getppid()), "");
    return echo(arguments);
  };
  workers = {start_worker(program), start_worker(program)};
  expect_echoes(run(program, 2));
  for (const pid_t worker : workers) EXPECT_EQ(exit_code_of(worker), 0);
  EXPECT_FALSE(std::filesystem::exists(address_file_of(file_)));
}

TEST_F(SweepRunning, AWorkerThatComesLateIsSentHome) {
  expect_echoes(run(echo));
  const pid_t worker = start_worker(echo);
  run(echo, 1);
  EXPECT_EQ(exit_code_of(worker), 0);
}

// One worker dies with the first point that it gets.
TEST_F(SweepRunning, PointsOfAWorkerThatDiesAreNotLost) {
  const pid_t test = getpid();
  const SweepProgram program = [&](const std::vector<std::string>& arguments) {
    if (getppid() == test) {
      wait_for_files({"dead"});
    } else {
      written(folder_, "dead", "");
      kill(getppid(), SIGKILL);
    }
    return echo(arguments);
  };
  const pid_t worker = start_worker(program);
  const pid_t healthy = start_worker(echo);
  expect_echoes(run(program, 2));
  EXPECT_EQ(exit_code_of(worker), 128 + SIGKILL);
  EXPECT_EQ(exit_code_of(healthy), 0);
}

TEST_F(SweepRunning, AWorkerOfAnotherVersionIsRefused) {
  const pid_t worker = start_worker(echo, "1.2.4");
  const pid_t right = start_worker(echo);
  expect_echoes(run(echo, 1));
  EXPECT_EQ(exit_code_of(right), 0);
  // It may have come too late to be told.
  SweepCrew crew(address_file_of(file_), 0, study_.id, kVersion);
  std::vector<std::size_t> lost;
  int status = 0;
  while (waitpid(worker, &status, WNOHANG) == 0) {
    std::vector<pollfd> polls;
    crew.add_to(polls);
    poll(polls.data(), polls.size(), 10);
    crew.collect(lost);
  }
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 2);
}

// A port scanner, or a file of an earlier sweep.
TEST_F(SweepRunning, StrangersDoNotDisturb) {
  SweepCrew crew(address_file_of(file_), 0, study_.id, kVersion);
  const MasterAddress address = *read_address(address_file_of(file_));
  EXPECT_EQ(std::filesystem::status(address_file_of(file_)).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const std::vector<nlohmann::json> greetings{
      {{"secret", "guess"}, {"study", study_.id}, {"version", kVersion}, {"slots", 1}},
      {{"secret", 5}},
      {{"secret", address.secret}, {"study", study_.id}, {"version", kVersion}},
      "no object"};
  for (const nlohmann::json& greeting : greetings) {
    auto stranger = connect_to("127.0.0.1", address.port);
    ASSERT_TRUE(stranger);
    EXPECT_TRUE(stranger->send(greeting));
    std::vector<std::size_t> lost;
    while (stranger->is_open()) {
      crew.collect(lost);
      EXPECT_FALSE(stranger->wait(0.01));
    }
    EXPECT_FALSE(crew.give(0)) << greeting;
  }
}

// More than one message may come at once.
TEST(LineSocket, KeepsWhatComesBehindAMessage) {
  Listener listener;
  auto near = connect_to("127.0.0.1", listener.address().port);
  ASSERT_TRUE(near);
  pollfd caller{.fd = listener.descriptor(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&caller, 1, 10'000), 1);
  auto far = listener.accept();
  ASSERT_TRUE(far);
  const std::string large(1 << 20, 'x');
  std::jthread sender([&] {
    for (int i = 0; i < 3; ++i) near->send({{"number", i}, {"text", large}});
    near.reset();
  });
  for (int i = 0; i < 3; ++i) {
    const auto message = far->wait(10);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->at("number"), i);
    EXPECT_EQ(message->at("text").get<std::string>().size(), large.size());
  }
  EXPECT_FALSE(far->wait(10));
  EXPECT_FALSE(far->is_open());
  EXPECT_FALSE(far->send({{"number", 3}}));
}

// One at a time: the first tells, and the others know.
TEST(SweepPoints, KnowWhatOthersHaveSimulated) {
  const SweepProgram program = tell;
  SweepProcesses processes(program, 1);
  for (std::size_t point = 0; point < 3; ++point) {
    processes.start(point, {"toy", fmt::format("--bytes={}", point)});
    std::vector<PointOutcome> outcomes;
    while (outcomes.empty()) {
      std::vector<pollfd> polls;
      processes.add_to(polls);
      poll(polls.data(), polls.size(), -1);
      outcomes = processes.collect();
    }
    EXPECT_EQ(outcomes.front().row.exit_code, 0) << outcomes.front().row.reason;
    EXPECT_EQ(outcomes.front().row.answer,
              nlohmann::json({{"known", point == 0 ? "" : std::string(200'000, '0')}}).dump());
  }
}

}  // namespace
}  // namespace forescale::testing
