// Real testbeds, where the machine permits them.
#include "calibrate/testbed/testbed.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "base/scratch_folder.hpp"
#include "calibrate/testbed/testbed_state.hpp"
#include "tests/calibrate/testbed_traffic.hpp"

namespace forescale {
namespace {

using testing::Connection;
using ::testing::HasSubstr;
using testing::kMbit;

void expect_refused(const std::function<void()>& action, const std::string& option,
                    const std::string& constraint) {
  try {
    action();
    ADD_FAILURE() << "taken, but should say: " << constraint;
  } catch (const InputError& error) {
    EXPECT_THAT(error.parts().source, HasSubstr(option));
    EXPECT_THAT(error.what(), HasSubstr(constraint));
  }
}

// Real ones: a name of this process's own, and nothing left at the end.
class RealTestbed : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string obstacle = testbed_obstacle(); !obstacle.empty())
      GTEST_SKIP() << "no testbed on this machine: " << obstacle;
  }
  void TearDown() override {
    for (const std::string& one : {name(), name(1)})
      EXPECT_FALSE(has_testbed_parts(one)) << one << " left something behind";
  }
  static std::string name(int number = 0) {
    return fmt::format("{}{:x}", number == 0 ? 't' : 'u', getpid() & 0xFFFFFFF);
  }
  static Connection::Place place(int host, int number = 0) {
    return {testbed_host(name(number), host),
            testbed_address(load_testbed_state(name(number)).value().network, host)};
  }
  static bool becomes_true(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (std::chrono::steady_clock::now() < deadline) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return condition();
  }
};

// What is judged by a rate, with nothing beside it.
class RealTestbedAlone : public RealTestbed {};

TEST_F(RealTestbed, EveryHostReachesEveryOther) {
  const ScopedTestbed scoped({.name = name(), .hosts = 4});
  for (int from = 0; from < 4; ++from)
    for (int to = 0; to < 4; ++to)
      EXPECT_TRUE(from == to || Connection(place(from), place(to)).carries_a_byte())
          << from << " to " << to;
}

// Payload is 8948 of the 9014 bytes that the shaper counts for a packet: 0.7 % less than the rate.
// A busy machine delays senders and receivers, so the best of some attempts counts; nothing makes a
// link faster.
void expect_rate(double rate, const std::function<double()>& measure) {
  double best = 0;
  for (int attempt = 0; attempt < 20 && best < 0.85 * rate; ++attempt)
    best = std::max(best, measure());
  EXPECT_GT(best, 0.85 * rate);
  EXPECT_LT(best, 1.15 * rate);
}

TEST_F(RealTestbedAlone, ALinkIsLimitedInEachDirectionAndInBothAtOnce) {
  const ScopedTestbed scoped({.name = name(), .hosts = 2, .rate = {100 * kMbit}});
  constexpr size_t kBytes = 2'000'000;
  expect_rate(100 * kMbit, [] { return Connection(place(0), place(1)).rate(kBytes); });
  expect_rate(100 * kMbit, [] { return Connection(place(1), place(0)).rate(kBytes); });
  expect_rate(100 * kMbit, [] {
    const Connection there(place(0), place(1));
    const Connection back(place(1), place(0));
    double back_rate = 0;
    std::thread other([&] { back_rate = back.rate(kBytes); });
    const double there_rate = there.rate(kBytes);
    other.join();
    return std::min(there_rate, back_rate);
  });
}

TEST_F(RealTestbedAlone, ATrunkIsSharedByThoseWhoCrossIt) {
  const ScopedTestbed scoped(
      {.name = name(), .hosts = 4, .rate = {100 * kMbit}, .topology = "two-switches:trunk=40mbit"});
  expect_rate(100 * kMbit, [] { return Connection(place(0), place(1)).rate(1'000'000); });
  expect_rate(40 * kMbit, [] { return Connection(place(2), place(0)).rate(1'000'000); });
  expect_rate(40 * kMbit, [] {
    const Connection first(place(0), place(2));
    const Connection second(place(1), place(3));
    const auto start = std::chrono::steady_clock::now();
    std::thread other([&] { second.rate(500'000); });
    first.rate(500'000);
    other.join();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    return 2 * 500'000 / time.count();
  });
}

TEST_F(RealTestbedAlone, ASlowHostSlowsOnlyItsOwnTraffic) {
  const ScopedTestbed scoped(
      {.name = name(), .hosts = 3, .rate = {100 * kMbit}, .topology = "slow-host=1:20mbit"});
  expect_rate(100 * kMbit, [] { return Connection(place(0), place(2)).rate(1'000'000); });
  expect_rate(20 * kMbit, [] { return Connection(place(0), place(1)).rate(500'000); });
  expect_rate(20 * kMbit, [] { return Connection(place(1), place(0)).rate(500'000); });
}

TEST_F(RealTestbed, TwoAreApartAndOneNameIsOneTestbed) {
  const ScopedTestbed first({.name = name(), .hosts = 2});
  {
    const ScopedTestbed second({.name = name(1), .hosts = 2});
    EXPECT_NE(place(0).address, place(0, 1).address);
    EXPECT_TRUE(Connection(place(0, 1), place(1, 1)).is_open());
    EXPECT_TRUE(Connection(place(0), place(1)).is_open());
    EXPECT_FALSE(Connection(place(0), place(1, 1)).is_open()) << "from one into the other";
    EXPECT_THAT(Testbed::all(), ::testing::IsSupersetOf({name(), name(1)}));
    expect_refused([&] { Testbed::up({.name = name(1)}); }, "--name", "is up already");
    expect_refused([&] { ScopedTestbed({.name = name(1)}); }, "--name", "is up already");
  }
  EXPECT_TRUE(Connection(place(0), place(1)).is_open()) << "the other one's end was mine too";
  expect_refused([&] { Testbed::find(name(1), "--name"); }, "--name", "no such testbed is up");
}

TEST_F(RealTestbed, StaysUntilTakenDownAndTakesItsProcessesAlong) {
  Testbed::up({.name = name(), .hosts = 1});
  EXPECT_EQ(Testbed::find(name(), "--name").spec().hosts, 1);
  const std::string host = testbed_host(name(), 0);
  const pid_t sleeper = fork();
  if (sleeper == 0) {
    execlp("ip", "ip", "netns", "exec", host.c_str(), "sleep", "1000", nullptr);
    _exit(1);
  }
  EXPECT_TRUE(becomes_true([&] { return run_command({"ip", "netns", "pids", host}) != ""; }));
  Testbed::down(name());
  int status = 0;
  waitpid(sleeper, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_FALSE(std::filesystem::exists("/run/netns/" + host));
  Testbed::down(name());  // twice is no error
}

// Programs of iproute2 that only complain, in front of the real ones.
class BrokenPrograms {
 public:
  explicit BrokenPrograms(const std::string& name) : path_before_(std::getenv("PATH")) {
    std::ofstream(folder_.file(name)) << "#!/bin/sh\necho 'out of order' >&2\nexit 1\n";
    std::filesystem::permissions(folder_.file(name), std::filesystem::perms{0700});
    setenv("PATH", (folder_.path() + ":" + path_before_).c_str(), 1);
  }
  ~BrokenPrograms() { setenv("PATH", path_before_.c_str(), 1); }
  BrokenPrograms(const BrokenPrograms&) = delete;
  BrokenPrograms& operator=(const BrokenPrograms&) = delete;

 private:
  ScratchFolder folder_{"broken"};
  std::string path_before_;
};

TEST_F(RealTestbed, OneThatCannotBeMadeLeavesNothingAndSaysWhatFailed) {
  const BrokenPrograms broken("bridge");  // used last, so much is made already
  try {
    Testbed::up({.name = name(), .hosts = 2});
    ADD_FAILURE() << "made without its switch's addresses";
  } catch (const TestbedError& error) {
    EXPECT_THAT(error.what(), HasSubstr("bridge -n " + testbed_switch(name(), 0)));
    EXPECT_THAT(error.what(), HasSubstr("failed: out of order"));
  }
  EXPECT_FALSE(has_testbed_parts(name()));
}

TEST_F(RealTestbed, SaysWhatTheMachineLacks) {
  const BrokenPrograms broken("tc");
  EXPECT_THAT(testbed_obstacle(), HasSubstr("the kernel has no tbf queue"));
  expect_refused([] { ScopedTestbed({.name = name(), .hosts = 1}); }, "testbed",
                 "this machine cannot hold one: the kernel has no tbf queue");
}

// A process of its own that holds a testbed up until it is killed.
class Owner {
 public:
  explicit Owner(const TestbedSpec& spec) {
    std::array<int, 2> ready{};
    EXPECT_EQ(pipe(ready.data()), 0);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const ScopedTestbed scoped(spec);
      if (::write(ready[1], "x", 1) == 1) pause();
      _exit(0);
    }
    close(ready[1]);
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1) << "the owner did not bring it up";
    close(ready[0]);
  }
  pid_t pid() const { return pid_; }
  // The signal that ended it.
  int end_by(int signal) const {
    kill(pid_, signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

 private:
  pid_t pid_ = -1;
};

TEST_F(RealTestbed, GoesWithAKilledOwner) {
  const Owner owner({.name = name(), .hosts = 2});
  EXPECT_TRUE(has_testbed_parts(name()));
  EXPECT_EQ(owner.end_by(SIGKILL), SIGKILL);
  EXPECT_TRUE(becomes_true([] { return !has_testbed_parts(name()); }));
}

TEST_F(RealTestbed, IsGoneBeforeAnInterruptedOwnerIs) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const Owner owner({.name = name(), .hosts = 1});
    EXPECT_TRUE(has_testbed_parts(name()));
    EXPECT_EQ(owner.end_by(signal), signal);
    EXPECT_FALSE(has_testbed_parts(name())) << "signal " << signal;
  }
}

TEST_F(RealTestbed, OfADeadOwnerIsRemovedByTheNextToLook) {
  const Owner owner({.name = name(), .hosts = 1});
  pid_t watchdog = 0;
  std::ifstream(fmt::format("/proc/{0}/task/{0}/children", owner.pid())) >> watchdog;
  ASSERT_GT(watchdog, 0);
  kill(watchdog, SIGKILL);
  owner.end_by(SIGKILL);
  EXPECT_TRUE(has_testbed_parts(name()));
  EXPECT_THAT(Testbed::all(), ::testing::Not(::testing::Contains(name())));
  EXPECT_FALSE(has_testbed_parts(name()));
}

TEST_F(RealTestbed, OfTwoProcessesOneGetsTheName) {
  const std::string contested = name();  // a child's own name is another one
  std::vector<pid_t> racers;
  for (int i = 0; i < 2; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      try {
        Testbed::up({.name = contested, .hosts = 1});
      } catch (const InputError&) {
        _exit(2);
      }
      _exit(0);
    }
    racers.push_back(pid);
  }
  std::vector<int> exits;
  for (const pid_t pid : racers) {
    int status = 0;
    waitpid(pid, &status, 0);
    exits.push_back(WEXITSTATUS(status));
  }
  EXPECT_THAT(exits, ::testing::UnorderedElementsAre(0, 2));
  Testbed::down(name());
}

// Each rank sends to the next one; rank 0 says how many came round. Leaves by _exit(): testbed.hpp.
constexpr const char* kProgram = R"(
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int count, char** words) {
  int rank, ranks, sum = 0;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, sum %d\n", ranks, sum), fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
#ifdef OPEN_MPI
  MPI_Finalize();
#endif
  _exit(0);
})";

class MpiOnTestbed : public RealTestbed, public ::testing::WithParamInterface<std::string> {};

TEST_P(MpiOnTestbed, RanksOfAllHostsFindEachOther) {
  const std::string compiler = "mpicc." + GetParam();
  if (find_program(compiler).empty() || find_program("mpirun." + GetParam()).empty())
    GTEST_SKIP() << GetParam() << " is not installed";
  const ScratchFolder folder("mpi");
  const std::string source = folder.file("ranks.c");
  const std::string program = folder.file("ranks");
  std::ofstream(source) << kProgram;
  run_command({compiler, source, "-o", program});
  const ScopedTestbed scoped({.name = name(), .hosts = 3});
  for (const int ranks : {2, 3, 7}) {
    auto command = scoped.testbed().mpi_command(GetParam(), ranks);
    command.insert(command.begin(), {"timeout", "30"});
    command.push_back(program);
    // hydra 4.0.2 may take ranks that have ended without MPI_Finalize, which would hang, for dead.
    const int attempts = GetParam() == "mpich" ? 4 : 1;
    std::string answer;
    for (int attempt = 1; attempt <= attempts && answer.empty(); ++attempt) {
      try {
        answer = run_command(command);
      } catch (const InputError&) {
        if (attempt == attempts) throw;
      }
    }
    EXPECT_EQ(answer, fmt::format("{} ranks, sum {}\n", ranks, ranks * (ranks - 1) / 2));
  }
  std::filesystem::remove(source);
  std::filesystem::remove(program);
}

INSTANTIATE_TEST_SUITE_P(Libraries, MpiOnTestbed, ::testing::Values("openmpi", "mpich"));

TEST_F(RealTestbed, RefusesALauncherThatItDoesNotKnow) {
  const ScopedTestbed scoped({.name = name(), .hosts = 1});
  expect_refused([&] { scoped.testbed().mpi_command("openmp", 1); }, "--mpi",
                 "did you mean \"openmpi\"?");
  expect_refused([&] { scoped.testbed().mpi_command("openmpi", 0); }, "--ranks", "must be >= 1");
}

}  // namespace
}  // namespace forescale
