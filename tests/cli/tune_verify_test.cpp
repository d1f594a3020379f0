// `forescale tune verify` from the command line.
#include "tests/calibrate/mpi_here.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

// All-reduce on any number of ranks by the algorithm of that number.
std::string all_reduce_by(const std::string& algorithm) {
  return "1 # operations\n2 # all-reduce\n1\n0 # ranks\n1\n0 " + algorithm + " 0 0\n";
}

TEST(TuneVerify, RefusesWhatIsNoSettingsFile) {
  const Workshop workshop;
  const std::string rules = workshop.file("rules", all_reduce_by("4"));
  expect_refused("tune verify " + workshop.path("nothing") + " --ranks 2", {"cannot be read"});
  expect_refused("tune verify " + workshop.file("empty", "") + " --ranks 2", {"is empty"});
  expect_refused("tune verify " + workshop.file("cut", "1\n2\n1\n0\n2\n0 4 0 0\n") + " --ranks 2",
                 {"cut", "line 7", "ends before a message size"});
  expect_refused(
      "tune verify " + workshop.file("json", R"({"collective=allreduce": {)") + " --ranks 2",
      {"json", "is no JSON"});
  expect_refused("tune verify " + workshop.file("third", "rule-file-version-3\n0\n") + " --ranks 2",
                 {"third", "must be version 2"});
  expect_refused("tune verify " + workshop.file("none", "0\n") + " --ranks 2",
                 {"none", "has no rule of its own"});
  expect_refused("tune verify " + rules + " --ranks 2 --mpi mpich",
                 {"--mpi = mpich", "must be openmpi"});
}

TEST(TuneVerify, RefusesWhatCannotBeMeasured) {
  const Workshop workshop;
  const std::string verify = "tune verify " + workshop.file("rules", all_reduce_by("4"));
  expect_refused(verify, {"--ranks", "is needed"});
  expect_refused(verify + " --ranks 1", {"--ranks = 1", "must be >= 2"});
  expect_refused(verify + " --ranks 2 --op gather", {"--op = gather", "cannot be verified"});
  expect_refused(verify + " --ranks 2 --op reduse", {"--op = reduse"});
  expect_refused(verify + " --testbed nosuch", {"--testbed = nosuch"});
}

TEST(TuneVerify, SaysWhetherTheRulesActedAndWhatTheyBring) {
  if (!mpi_obstacle("openmpi").empty()) GTEST_SKIP() << mpi_obstacle("openmpi");
  const Workshop workshop;
  const std::string verify =
      "tune verify " + workshop.file("rules", all_reduce_by("4")) + " --ranks 3 --bytes 3KiB ";
  // A ring of three: two rounds twice of a third each, from each rank to the next one.
  expect_answer(verify + "--budget 0s",
                {"4 (ring)", "acted",
                 "12 messages, 12 KiB in all, between 3 pairs, as planned; without the file",
                 "Open MPI", "counted by pml/monitoring"});
  const nlohmann::json measured = expect_answer(verify + "--budget 1s --rounds 1 --json").json();
  EXPECT_TRUE(measured["is_proven"]);
  const nlohmann::json& row = measured["rows"][0];
  EXPECT_EQ(row["plan"], "all-reduce/ring");
  EXPECT_EQ(row["proof"], "acted");
  EXPECT_NEAR(row["speedup"],
              row["default"]["time_s"].get<double>() / row["tuned"]["time_s"].get<double>(), 1e-9);
}

TEST(TuneVerify, FailsWhereNothingIsProven) {
  if (!mpi_obstacle("openmpi").empty()) GTEST_SKIP() << mpi_obstacle("openmpi");
  const Workshop workshop;
  const Outcome own = run_program("tune verify " + workshop.file("rules", all_reduce_by("0")) +
                                  " --ranks 2 --bytes 4KiB --budget 0s");
  EXPECT_EQ(own.exit_code, 4);
  EXPECT_NE(own.out.find("as without the file"), std::string::npos) << own.out;
  EXPECT_NE(own.err.find("none differs from what the library does"), std::string::npos) << own.err;
}

}  // namespace
}  // namespace forescale::testing
