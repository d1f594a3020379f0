// `forescale testbed` from the command line.
#include <fmt/format.h>
#include <unistd.h>

#include "calibrate/testbed/testbed.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

TEST(TestbedCommand, SaysWhatIsWrongWithItsOptions) {
  expect_refused("testbed up --name My-bed", {"--name = My-bed", "small letters and digits"});
  expect_refused("testbed up --hosts 65", {"--hosts = 65", "must be 1 to 64"});
  expect_refused("testbed up --rate 500", {"--rate = 500", "needs a unit"});
  expect_refused("testbed up --topology ring", {"--topology = ring", "one of: star"});
  expect_refused("testbed up --hosts 4 --topology slow-host=4:1mbit", {"host 4", "0 to 3"});
  expect_refused("testbed run", {"COMMAND is required"});
  expect_refused("testbed down --name ../etc", {"--name", "small letters and digits"});
  expect_refused("testbed show --name nosuch", {"--name = nosuch", "testbed is up"});
}

class TestbedCommandForReal : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string obstacle = testbed_obstacle(); !obstacle.empty())
      GTEST_SKIP() << "no testbed on this machine: " << obstacle;
  }
  void TearDown() override {
    if (!IsSkipped()) Testbed::down(name_);
  }
  std::string name_ = fmt::format("c{:x}", getpid() & 0xFFFFFFF);
  std::string option_ = "--name " + name_;
};

TEST_F(TestbedCommandForReal, UpShowRunAndDown) {
  expect_answer("testbed up --hosts 3 --rate 200mbit --topology slow-host=2:50mbit " + option_,
                {name_ + ": 3 hosts at 200 Mbit/s", "testbed run --name " + name_});
  expect_refused("testbed up " + option_, {"--name = " + name_, "is up already"});

  const auto listed = expect_answer("testbed list --json").json();
  const auto mine = std::find_if(listed.begin(), listed.end(),
                                 [&](const auto& row) { return row["name"] == name_; });
  ASSERT_NE(mine, listed.end());
  EXPECT_EQ((*mine)["rate_bytes_per_s"], 200e6 / 8);

  const auto shown = expect_answer("testbed show --json " + option_).json();
  ASSERT_EQ(shown["links"].size(), 3U);
  EXPECT_EQ(shown["links"][2]["rate_bytes_per_s"], 50e6 / 8);
  const std::string address = shown["links"][1]["address"];
  expect_answer("testbed show " + option_, {"fs-" + name_ + "-h1", address, "50 Mbit/s"});

  expect_answer("testbed run --host 1 " + option_ + " -- ip -4 -o addr show dev eth0", {address});
  EXPECT_EQ(run_program("testbed run --host 1 " + option_ + " -- sh -c 'exit 7'").exit_code, 7);
  expect_refused("testbed run --host 3 " + option_ + " -- true", {"--host = 3", "0 to 2"});
  expect_refused("testbed run --host 1 --ranks 2 " + option_ + " -- true",
                 {"--host = 1", "not together with --ranks"});
  expect_refused("testbed run " + option_ + " -- ./nothing-here", {"COMMAND = ./nothing-here"});

  expect_answer("testbed down " + option_, {"taken down"});
  expect_refused("testbed down " + option_, {"--name = " + name_});
}

TEST_F(TestbedCommandForReal, RunsOneRankAHostOrAsManyAsAsked) {
  expect_answer("testbed up --hosts 3 " + option_);
  const std::string say = " -- sh -c 'echo rank $OMPI_COMM_WORLD_RANK$PMI_RANK'";
  for (const std::string library : {"openmpi", "mpich"}) {
    const std::string with = " --mpi " + library + " " + option_;
    const Outcome first = run_program("testbed run" + with + say, "timeout 60");
    if (first.err.find("is not installed") != std::string::npos) continue;
    EXPECT_EQ(first.exit_code, 0) << first.err;
    for (const char* rank : {"rank 0\n", "rank 1\n", "rank 2\n"})
      EXPECT_NE(first.out.find(rank), std::string::npos) << library << "\n" << first.out;
    expect_answer("testbed run --ranks 4" + with + say, {"rank 3\n"}, "timeout 60");
  }
  expect_refused("testbed run --mpi intel " + option_ + " -- true", {"--mpi = intel", "openmpi"});
}

}  // namespace
}  // namespace forescale::testing
