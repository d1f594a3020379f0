// `forescale sweep` and `forescale merge` as people use them: killed, in parts, on a full disk,
// under mpirun and Slurm. However a study was run, its rows are the same.
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <random>
#include <thread>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "studies/sweep/sweep_database.hpp"
#include "studies/sweep/sweep_processes.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

using nlohmann::json;

constexpr int kFew = 100;

// Points of a few milliseconds each; a quarter of them fails, for want of hosts.
std::string study_text(int points) {
  const std::vector<int> ranks{2, 4, 8, 9};
  json sizes = json::array();
  for (int i = 1; i <= points / static_cast<int>(ranks.size()); ++i) sizes.push_back(1024 * i);
  return json{{"format", "forescale-study-1"},
              {"command", "collective"},
              {"fixed", {{"platform", "star:hosts=8,bandwidth=1GB/s,latency=1us"}}},
              {"grid", {{"bytes", sizes}, {"ranks", ranks}}}}
      .dump();
}

// All that is said of each point, but for how it came to be.
std::vector<std::string> rows_in(const std::string& database) {
  std::vector<std::string> texts;
  for (const SweepRow& row : SweepDatabase(database).rows())
    texts.push_back(
        json{row.key, row.place, row.inputs, row.exit_code, row.reason, row.answer}.dump());
  return texts;
}

// By place: when it was answered, and how long that took.
std::map<std::int64_t, std::string> executions_in(const std::string& database) {
  std::map<std::int64_t, std::string> executions;
  for (const SweepRow& row : SweepDatabase(database).rows())
    executions[row.place] = fmt::format("{} {}", row.finished, row.wall_s);
  return executions;
}

// 0 while there is none, or none that is complete.
std::int64_t row_count(const std::string& database) {
  try {
    const SweepTally tally = SweepDatabase(database).tally();
    return tally.done + tally.failed;
  } catch (const InputError&) {
    return 0;
  }
}

// A process, and what it starts, in a group of its own; terminated at the end.
class Launched {
 public:
  explicit Launched(const std::string& command) : pid_(fork()) {
    if (pid_ != 0) return;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    std::signal(SIGINT, SIG_DFL);  // a test in the background ignores it
    execl("/bin/sh", "sh", "-c", ("exec " + command).c_str(), nullptr);
    _exit(127);
  }
  ~Launched() { end(SIGTERM); }
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;

  bool is_running() { return pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == 0; }
  void end(int signal) {
    if (pid_ <= 0) return;
    kill(-pid_, signal);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_;
};

class Sweep : public ::testing::Test {
 protected:
  // Runs `forescale ARGUMENTS` in the test's folder, behind `launcher`.
  Outcome run(const std::string& arguments, const std::string& launcher = "") const {
    return run_program(arguments, "cd " + folder_.path("") + " && " + launcher);
  }
  void write_study(int points) const { folder_.file("study.json", study_text(points)); }

  // The study's rows when nothing comes between.
  std::vector<std::string> rows_of_whole() const {
    const Outcome outcome = run("sweep study.json -o whole.sqlite");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return rows_in(folder_.path("whole.sqlite"));
  }

  void expect_same_by_mpirun(const std::string& launcher) const;

  const Workshop folder_;
};

// Why `command` cannot be run here; empty if it can.
// mpirun.mpich was seen to fail once beside other launchers, and not again.
std::string obstacle(const std::string& command, const std::string& what) {
  for (int attempt = 0; attempt < 3; ++attempt)
    if (std::system((command + " >/dev/null 2>&1").c_str()) == 0) return "";
  return what;
}

TEST_F(Sweep, AnswersAndFailuresAreKept) {
  write_study(kFew);
  const Outcome outcome = run("sweep study.json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("study: 100 points of `forescale collective`: 75 done, 25 failed, "
                             "0 missing; in study.sqlite"),
            std::string::npos)
      << outcome.out;
  const std::vector<SweepRow> rows = SweepDatabase(folder_.path("study.sqlite")).rows();
  ASSERT_EQ(rows.size(), 100U);
  const json answer = parse_json(rows[1].answer);  // bytes first, then ranks
  EXPECT_EQ(answer["ranks"], 4);
  EXPECT_EQ(answer["bytes"], 1024);
  const json alone = run("collective --platform star:hosts=8,bandwidth=1GB/s,latency=1us "
                         "--ranks 4 --bytes 1024 --json")
                         .json();
  EXPECT_EQ(answer, alone);
  EXPECT_EQ(rows[3].exit_code, 2);
  EXPECT_EQ(rows[3].reason.rfind("--ranks = 9: ", 0), 0U) << rows[3].reason;
  EXPECT_NE(outcome.out.find(rows[3].reason), std::string::npos) << outcome.out;

  const json tally = run("sweep study.json --json").json();
  EXPECT_EQ(tally["done"], 75);
  EXPECT_EQ(tally["failed"], 25);
  EXPECT_EQ(tally["missing"], 0);
  const std::string csv = run("sweep study.json --csv").out;
  EXPECT_EQ(csv.rfind("place,status,reason,algorithm,ranks,bytes,", 0), 0U) << csv;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 100);
}

TEST_F(Sweep, OnlyWhatIsMissingRunsAndFailuresOnDemand) {
  write_study(kFew);
  rows_of_whole();
  const auto before = executions_in(folder_.path("whole.sqlite"));
  rows_of_whole();
  EXPECT_EQ(executions_in(folder_.path("whole.sqlite")), before);
  run("sweep study.json -o whole.sqlite --retry");
  const auto after = executions_in(folder_.path("whole.sqlite"));
  ASSERT_EQ(after.size(), before.size());
  for (const auto& [place, execution] : after)
    EXPECT_EQ(execution == before.at(place), place % 4 != 3) << place;
}

// Killed at random after some more rows each time, it has kept what was there and ends with the
// same rows. Interrupted or terminated, too.
TEST_F(Sweep, KilledThreeTimesItEndsWithTheSameRows) {
  constexpr int kPoints = 240;
  constexpr int kMoreRowsMax = 25;  // between two signals
  write_study(kPoints);
  const std::vector<std::string> whole = rows_of_whole();
  ASSERT_EQ(whole.size(), static_cast<std::size_t>(kPoints));
  const std::string database = folder_.path("killed.sqlite");
  const std::random_device::result_type seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  const auto upto = [&](int most) { return std::uniform_int_distribution<int>(1, most)(random); };
  std::vector<int> signals{SIGKILL, SIGTERM, SIGKILL, SIGINT, SIGKILL};  // the last one comes first
  std::map<std::int64_t, std::string> kept;
  for (int attempt = 0; attempt < 20 && !signals.empty(); ++attempt) {
    const auto wanted = static_cast<std::int64_t>(kept.size()) + upto(kMoreRowsMax);
    // Behind this test, which has to see the rows in time, when the machine is busy.
    Launched sweep(fmt::format("nice -n 5 {} sweep {} -o {} >/dev/null 2>&1", FORESCALE_PROGRAM,
                               folder_.path("study.json"), database));
    while (row_count(database) < wanted && sweep.is_running())
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::microseconds(upto(5000)));
    sweep.end(signals.back());
    const auto now = executions_in(database);
    EXPECT_GE(static_cast<std::int64_t>(now.size()), wanted);
    for (const auto& [place, execution] : kept) EXPECT_EQ(now.at(place), execution);
    kept = now;
    if (now.size() < whole.size()) {
      signals.pop_back();
    } else {  // the machine was busy and the signal came too late: once more from the start
      for (const char* end : {"", "-journal"}) std::filesystem::remove(database + end);
      kept.clear();
    }
  }
  EXPECT_TRUE(signals.empty()) << "it ended before most of the signals came";
  EXPECT_EQ(run("sweep study.json -o killed.sqlite").exit_code, 0);
  const auto now = executions_in(database);
  for (const auto& [place, execution] : kept) EXPECT_EQ(now.at(place), execution);
  EXPECT_EQ(rows_in(database), whole);
}

TEST_F(Sweep, FourShardsMergedAreTheWhole) {
  write_study(2 * kFew);
  const std::vector<std::string> whole = rows_of_whole();
  std::string parts;
  for (int i = 0; i < 4; ++i) {
    const json tally = run(fmt::format("sweep study.json --shard {}/4 --json", i)).json();
    EXPECT_EQ(tally["missing"], 150);
    const std::string part = fmt::format(" study.shard-{}-of-4.sqlite", i);
    EXPECT_EQ(tally["database"], part.substr(1));
    parts += part;
  }
  const Outcome merged = run("merge all.sqlite" + parts + " --json");
  EXPECT_EQ(merged.exit_code, 0) << merged.err;
  EXPECT_EQ(merged.json()["missing"], 0);
  EXPECT_EQ(rows_in(folder_.path("all.sqlite")), whole);
  EXPECT_EQ(run("merge all.sqlite study.json").exit_code, 2);
}

void Sweep::expect_same_by_mpirun(const std::string& launcher) const {
  write_study(2 * kFew);
  const std::vector<std::string> whole = rows_of_whole();
  const Outcome outcome = run("sweep study.json --json", launcher);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.json()["missing"], 0) << outcome.out;  // one rank prints
  EXPECT_EQ(rows_in(folder_.path("study.sqlite")), whole);
}

TEST_F(Sweep, MpirunOfOpenMpiIsTheWhole) {
  const std::string launcher =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun.openmpi --oversubscribe "
      "-np 3";
  if (const std::string reason = obstacle(launcher + " true", "mpirun.openmpi does not work here");
      !reason.empty())
    GTEST_SKIP() << reason;
  expect_same_by_mpirun(launcher);
}

TEST_F(Sweep, MpirunOfMpichIsTheWhole) {
  const std::string launcher = "mpirun.mpich -np 3";
  if (const std::string reason = obstacle(launcher + " true", "mpirun.mpich does not work here");
      !reason.empty())
    GTEST_SKIP() << reason;
  expect_same_by_mpirun(launcher);
}

TEST_F(Sweep, AFullDiskIsSaidAndLosesNothing) {
  if (const std::string reason =
          obstacle("unshare -m mount -t tmpfs none /mnt", "no right to mount a small disk");
      !reason.empty())
    GTEST_SKIP() << reason;
  write_study(2 * kFew);
  const std::vector<std::string> whole = rows_of_whole();
  folder_.file("disk/mount", "");
  folder_.file("script", fmt::format(R"(
      cd {0}
      mount -t tmpfs -o size=64k none disk
      {1} sweep study.json -o disk/a.sqlite
      echo $?
      cp disk/a.sqlite full.sqlite
      mount -o remount,size=100m disk
      {1} sweep study.json -o disk/a.sqlite >/dev/null
      echo $?
      cp disk/a.sqlite more.sqlite
      mount -o remount,ro disk
      {1} sweep study.json -o disk/b.sqlite
      echo $?
      )",
                                     folder_.path(""), FORESCALE_PROGRAM));
  FILE* pipe = popen(("unshare -m sh " + folder_.path("script") + " 2>&1").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string said;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) said += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_EQ(said,
            "forescale: disk/a.sqlite: SQLite: database or disk is full\n2\n0\n"
            "forescale: disk/b.sqlite: cannot be written: Read-only file system\n2\n");
  const std::vector<std::string> full = rows_in(folder_.path("full.sqlite"));
  EXPECT_GT(full.size(), 10U);
  EXPECT_LT(full.size(), whole.size());
  for (const std::string& row : full)
    EXPECT_NE(std::find(whole.begin(), whole.end(), row), whole.end()) << row;
  EXPECT_EQ(rows_in(folder_.path("more.sqlite")), whole);
}

// A port that was free a moment ago.
int free_port() {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t length = sizeof address;
  if (bind(descriptor, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    ADD_FAILURE() << "no free port";
  close(descriptor);
  return ntohs(address.sin_port);
}

// Slurm on this machine: controller, one node, nobody asks who one is.
class Slurm {
 public:
  explicit Slurm(const Workshop& folder) : folder_(folder) {
    const std::string host = host_name();
    const std::string configuration = folder.file(
        "slurm/slurm.conf",
        fmt::format("ClusterName=forescale\nSlurmctldHost={0}(127.0.0.1)\nSlurmctldPort={2}\n"
                    "SlurmdPort={3}\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/none\n"
                    "CredType=cred/none\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
                    "MpiDefault=none\nSchedulerParameters=batch_sched_delay=0,sched_min_interval="
                    "0\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"
                    "StateSaveLocation={1}\nSlurmdSpoolDir={1}\nSlurmctldPidFile={1}/ctld.pid\n"
                    "SlurmdPidFile={1}/slurmd.pid\nNodeName={0} NodeAddr=127.0.0.1 CPUs=2\n"
                    "PartitionName=all Nodes={0} Default=YES State=UP\n",
                    host, folder.path("slurm"), free_port(), free_port()));
    environment_ = "SLURM_CONF=" + configuration + " ";
    for (const std::string daemon : {"slurmctld", "slurmd"})
      daemons_.push_back(std::make_unique<Launched>(fmt::format(
          "{} -D -f {} >{}.log 2>&1", daemon, configuration, folder.path("slurm/" + daemon))));
  }

  bool is_up() const { return holds_soon(environment_ + "sinfo -h -o %T | grep -qx idle"); }
  // The array and the merge behind it, as the script's comments say; nothing runs any more when it
  // returns true.
  bool run(const std::string& folder, const std::string& script) const {
    const std::string sbatch = "sbatch --parsable --chdir " + folder;
    const std::string submit = fmt::format(
        "export {0}; job=$({1} {2}) && {1} --array=0 --dependency=afterok:$job {2} merge "
        ">/dev/null",
        environment_, sbatch, script);
    if (std::system(submit.c_str()) != 0) return false;
    return holds_soon(environment_ + "squeue -h | wc -l | grep -qx 0");
  }
  std::string log() const {
    return text_of(folder_.path("slurm/slurmctld.log")) + text_of(folder_.path("slurm/slurmd.log"));
  }

 private:
  static bool holds_soon(const std::string& condition) {
    for (int i = 0; i < 300; ++i) {
      if (std::system((condition + " 2>/dev/null").c_str()) == 0) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  }

  const Workshop& folder_;
  std::string environment_;
  std::vector<std::unique_ptr<Launched>> daemons_;
};

TEST_F(Sweep, SlurmRunsTheArrayAndTheMerge) {
  if (geteuid() != 0) GTEST_SKIP() << "slurmd needs root";
  if (const std::string reason =
          obstacle("command -v slurmctld slurmd sbatch", "Slurm is not installed");
      !reason.empty())
    GTEST_SKIP() << reason;
  write_study(kFew);
  const std::vector<std::string> whole = rows_of_whole();
  const Outcome emitted = run("sweep study.json -o all.sqlite --emit slurm --shards 4");
  ASSERT_EQ(emitted.exit_code, 0) << emitted.err;
  const std::string script = folder_.file("study.sbatch", emitted.out);
  const Slurm slurm(folder_);
  if (!slurm.is_up()) GTEST_SKIP() << "Slurm does not start here:\n" << slurm.log();
  ASSERT_TRUE(slurm.run(folder_.path(""), script)) << slurm.log();
  EXPECT_EQ(row_count(folder_.path("all.shard-3-of-4.sqlite")), kFew / 4);
  EXPECT_EQ(rows_in(folder_.path("all.sqlite")), whole);
}

TEST_F(Sweep, RefusalsNameTheirPlace) {
  const auto refused = [&](const std::string& text, const std::vector<std::string>& parts) {
    expect_refused("sweep " + folder_.file("study.json", text), parts);
  };
  const std::string head = R"({"format": "forescale-study-1", "command": "collective", )";
  refused(head + R"("grid": {"byte": ["1MiB"]}})",
          {"study.json:/grid/byte", "option is unknown; did you mean \"bytes\"?"});
  refused(head + R"("grid": {}})", {"study.json:/grid: must have at least one option"});
  refused(head + R"("grid": {"platform": ["kesch"], "bytes": []}})",
          {"study.json:/grid/bytes: must have at least one value"});
  refused(head + R"("grid": {"platform": ["kesch"], "bytes": [1], "engine": ["sim", "all"]}})",
          {"study.json:/grid/engine/1 = \"all\"", "`forescale collective` takes"});
  refused(head + R"("grid": {"bytes": [1]}})", {"study.json:/grid", "--platform is required"});
  refused(head + R"("grid": {"json": [true]}})", {"study.json:/grid/json", "unknown"});
  refused(R"({"format": "forescale-study-1", "command": "demo", "grid": {}})",
          {"study.json:/command = \"demo\"", "one of: collective, crossover, predict"});
  write_study(kFew);
  const std::string study = folder_.path("study.json");
  expect_refused("sweep " + study + " --shard 4/4", {"--shard = 4/4: must be i/N"});
  expect_refused("sweep " + study + " --emit slurm", {"--emit", "--shards"});
  expect_refused("sweep " + study + " --emit slurm --shards 0", {"--shards"});
  expect_refused("sweep " + study + " --jobs 0", {"--jobs"});
  expect_refused("merge " + folder_.path("a") + " " + study, {"study.json", "not a database"});
}

// --interval is on by default, and off by another name.
TEST_F(Sweep, FlagsAndRepeatedOptionsOfPredict) {
  folder_.file("study.json", R"({"format": "forescale-study-1", "command": "predict",
      "fixed": {"platform": "kesch", "model": "googlenet", "batch": 64, "gpus": "4,8",
                "system": "horovod-mpi", "option": ["fusion_threshold=1MiB", "cycle_time=1ms"]},
      "points": [{"interval": false}, {"no-range": true}, {"interval": true}]})");
  const Outcome outcome = run("sweep study.json --csv");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::vector<SweepRow> rows = SweepDatabase(folder_.path("study.sqlite")).rows();
  ASSERT_EQ(rows.size(), 3U);
  for (const SweepRow& row : rows) ASSERT_EQ(row.reason, "");
  EXPECT_EQ(rows[0].answer, rows[1].answer);
  EXPECT_NE(rows[0].answer, rows[2].answer);
  EXPECT_EQ(parse_json(rows[0].answer)["points"].size(), 2U);
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1 + 3 * 2);
}

}  // namespace
}  // namespace forescale::testing
