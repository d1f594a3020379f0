// `forescale calibrate measure`.
#include <chrono>
#include <csignal>
#include <thread>

#include "calibrate/measure/measurement.hpp"
#include "calibrate/measure/mpi_launch.hpp"
#include "tests/calibrate/mpi_here.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

TEST(CalibrateMeasureCommand, RefusesBadOptions) {
  expect_refused("calibrate measure", {"--ranks", "--testbed", "--hostfile"});
  expect_refused("calibrate measure --ranks 0", {"--ranks"});
  expect_refused("calibrate measure --ranks 2 --budget 0s", {"--budget", "at least 0.1 s"});
  expect_refused("calibrate measure --ranks 2 --budget soon", {"--budget", "soon"});
  expect_refused("calibrate measure --ranks 2 --max-bytes 2", {"--max-bytes", "between"});
  expect_refused("calibrate measure --ranks 2 --max-bytes 2GiB", {"--max-bytes", "1 GiB"});
  expect_refused("calibrate measure --ranks 2 --patterns ping-pong,shfit",
                 {"--patterns", "did you mean \"shift\"?"});
  expect_refused("calibrate measure --ranks 1 --patterns shift", {"--patterns", "one rank"});
  expect_refused("calibrate measure --ranks 2 --mpi lam", {"--mpi"});
  expect_refused("calibrate measure --ranks 2 --wait long", {"--wait"});
  expect_refused("calibrate measure --testbed notup", {"--testbed", "notup"});
}

TEST(CalibrateMeasureCommand, RefusesBadFiles) {
  const Workshop workshop;
  expect_refused("calibrate measure --hostfile " + workshop.path("none"),
                 {"--hostfile", "cannot be read"});
  const std::string empty = workshop.file("hosts", "# nobody\n\n");
  expect_refused("calibrate measure --hostfile " + empty, {"--hostfile", "at least one host"});
  if (!mpi_obstacle("openmpi").empty()) GTEST_SKIP() << mpi_obstacle("openmpi");
  expect_refused("calibrate measure --ranks 2 -o /no/such/folder/m.json",
                 {"-o", "cannot be written"});
}

TEST(CalibrateMeasureCommand, IsToldWhereByALauncher) {
  expect_refused("calibrate measure --budget 1s", {"-o", "is needed"}, "OMPI_COMM_WORLD_SIZE=2");
  expect_refused("calibrate measure --ranks 2 -o m.json", {"--ranks", "mpirun"},
                 "OMPI_COMM_WORLD_SIZE=2");
}

TEST(CalibrateMeasureCommand, PrintsATableAndWritesTheFile) {
  if (!mpi_obstacle("openmpi").empty()) GTEST_SKIP() << mpi_obstacle("openmpi");
  const Workshop workshop;
  const std::string file = workshop.path("m.json");
  expect_answer(
      "calibrate measure --ranks 2 --budget 6s --max-bytes 64KiB --machine mine "
      "--patterns ping-pong,shift,reduction -o " +
          file,
      {"pattern", "ping-pong", "shift", "reduction", "64 KiB: ", file + ": 3 series"});
  const Measurement measurement = read_measurement(file);
  EXPECT_EQ(measurement.machine, "mine");
  EXPECT_EQ(measurement.series.size(), 3U);
  EXPECT_EQ(measurement.provenance.at("command"),
            "forescale calibrate measure --ranks 2 --budget 6s --max-bytes 64KiB --wait nap "
            "--patterns ping-pong,shift,reduction");
}

TEST(CalibrateMeasureCommand, RunsInPlaceUnderMpirun) {
  if (!mpi_obstacle("openmpi").empty()) GTEST_SKIP() << mpi_obstacle("openmpi");
  const Workshop workshop;
  std::string command;
  for (const std::string& word : loopback_command("openmpi", 2)) command += word + " ";
  const Outcome outcome =
      run_program("calibrate measure --budget 1s --max-bytes 1KiB --patterns ping-pong -o " +
                      workshop.path("m.json"),
                  command);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(read_measurement(workshop.path("m.json")).series.size(), 1U);
}

// A process whose environment says all of `facts`; 0: none.
int process_with(const std::vector<std::string>& facts, const std::string& name) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string folder = entry.path();
    const std::string environment = text_of(folder + "/environ");
    if (text_of(folder + "/comm") != name.substr(0, 15) + "\n") continue;
    bool is_it = !environment.empty();
    for (const std::string& fact : facts)
      is_it = is_it && environment.find(fact + '\0') != std::string::npos;
    if (is_it) return std::stoi(entry.path().filename());
  }
  return 0;
}

// Where rank 0 keeps what has been measured so far, the last word of its command: is it there?
bool has_written(int process) {
  const std::string command = text_of("/proc/" + std::to_string(process) + "/cmdline");
  if (command.size() < 2) return false;
  const std::size_t before = command.rfind('\0', command.size() - 2);
  return std::filesystem::exists(command.substr(before + 1, command.size() - before - 2));
}

// Starts a measurement of a minute on three ranks, sends a signal to one of its processes when some
// of it is kept, and gives how it ended.
Outcome disturbed(const std::string& file, const std::vector<std::string>& facts,
                  const std::string& name, int signal) {
  const std::string mark = "FORESCALE_TEST_MARK=" + file;
  std::vector<std::string> all = facts;
  all.push_back(mark);
  Outcome outcome;
  std::thread measuring([&] {
    // Without ping-pong there is one launch.
    outcome = run_program(
        "calibrate measure --ranks 3 --budget 60s --max-bytes 1MiB "
        "--patterns shift,exchange,fan-in,fan-out,stream,reduction,memory-copy -o " +
            file,
        mark + " exec");
  });
  bool is_kept = false;
  for (int i = 0; i < 500 && !is_kept; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    is_kept = has_written(process_with({mark}, "forescale-mpi-openmpi"));
  }
  EXPECT_TRUE(is_kept);
  const int process = process_with(all, name);
  EXPECT_NE(process, 0);
  if (process != 0) kill(process, signal);
  measuring.join();
  // Nothing is left running; what was killed may take a moment on a busy machine.
  for (int i = 0; i < 50 && process_with({mark}, "forescale-mpi-openmpi") != 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(process_with({mark}, "forescale-mpi-openmpi"), 0);
  return outcome;
}

TEST(CalibrateMeasureCommand, KeepsWhatWasMeasuredWhenARankDies) {
  if (!mpi_obstacle("openmpi").empty()) GTEST_SKIP() << mpi_obstacle("openmpi");
  const Workshop workshop;
  const std::string file = workshop.path("m.json");
  const Outcome outcome =
      disturbed(file, {"OMPI_COMM_WORLD_RANK=1"}, "forescale-mpi-openmpi", SIGKILL);
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  EXPECT_NE(outcome.err.find("rank 1"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(file), std::string::npos) << outcome.err;
  const Measurement measurement = read_measurement(file);
  EXPECT_FALSE(measurement.series.empty());
  EXPECT_NE(measurement.notes.back().find("rank 1"), std::string::npos);
}

TEST(CalibrateMeasureCommand, KeepsWhatWasMeasuredWhenInterrupted) {
  if (!mpi_obstacle("openmpi").empty()) GTEST_SKIP() << mpi_obstacle("openmpi");
  const Workshop workshop;
  const std::string file = workshop.path("m.json");
  const Outcome outcome = disturbed(file, {}, "forescale", SIGINT);
  EXPECT_NE(outcome.exit_code, 0);
  const Measurement measurement = read_measurement(file);
  EXPECT_FALSE(measurement.series.empty());
  EXPECT_NE(measurement.notes.back().find("interrupted"), std::string::npos);
}

}  // namespace
}  // namespace forescale::testing
