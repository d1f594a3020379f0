// Real runs over gloo on two hosts at 200 Mbit/s, traced, imported and replayed: DDP, and a
// tensor-parallel step by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/json_text.hpp"
#include "calibrate/testbed/testbed.hpp"
#include "tests/cli/run_program.hpp"

namespace forescale::testing {
namespace {

using nlohmann::json;

// A testbed of two hosts, taken down at the end.
class TwoHosts {
 public:
  TwoHosts() : name_(fmt::format("d{}", getpid())) {
    expect_answer(fmt::format("testbed up --name {} --hosts 2 --rate 200mbit", name_));
    const std::string show = expect_answer("testbed show --name " + name_).out;
    const size_t begin = show.find("10.");
    if (begin != std::string::npos)
      address_ = show.substr(begin, show.find_first_of(" \n", begin) - begin);
  }
  ~TwoHosts() { run_program("testbed down --name " + name_); }
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;

  // Trains and traces on both at once; the measured step. Throws what they said where they have
  // not.
  double train_s(const std::string& options, const std::string& out) const {
    std::string both;
    for (const int rank : {0, 1})
      both += fmt::format(
          "timeout 120 {} testbed run --name {} --host {} -- /usr/bin/python3 {} --rank {} --ranks "
          "2 --master {} --interface eth0 --out {} {} >{}.{} 2>&1 & ",
          FORESCALE_PROGRAM, name_, rank, source_file("traces/trace_gloo.py"), rank, address_, out,
          options, out, rank);
    // NOLINTNEXTLINE(cert-env33-c): two processes of a test, side by side.
    static_cast<void>(!std::system((both + "wait").c_str()));
    if (!std::filesystem::exists(out + "/steps.json"))
      throw std::runtime_error(text_of(out + ".0") + text_of(out + ".1"));
    return parse_json(text_of(out + "/steps.json"))["step_s"];
  }

 private:
  std::string name_;
  std::string address_;
};

std::string replay_of(const std::string& out, const std::string& options,
                      const std::vector<int>& ranks = {0, 1}) {
  std::string files;
  for (const int rank : ranks)
    files += fmt::format("{0}/rank{1}.timeline.json {0}/rank{1}.execution.json ", out, rank);
  // 98 % of the cables' rate, as TCP over jumbo frames has it.
  return "replay " + files +
         "--platform star:hosts=2,bandwidth=24.5MB/s,latency=150us --plan all-reduce/ring "
         "--no-range --json " +
         options;
}

// No testbed, or no PyTorch.
std::string gloo_obstacle() {
  if (const std::string obstacle = testbed_obstacle(); !obstacle.empty()) return obstacle;
  // NOLINTNEXTLINE(cert-env33-c): asks for a package.
  if (std::system("/usr/bin/python3 -c 'import torch' 2>/dev/null") != 0)
    return "python3-torch is not installed";
  return "";
}

// Every collective is waited for where it is called, in operators that hold the wait.
TEST(TraceGlooAlone, ATensorParallelStepIsReplayedHereAndOnASlowerNetwork) {
  if (const std::string obstacle = gloo_obstacle(); !obstacle.empty()) GTEST_SKIP() << obstacle;
  const Workshop workshop;
  const TwoHosts hosts;
  const std::string traced = workshop.path("tensor");
  const double measured_s = hosts.train_s(
      "--parallel tensor --megabytes 1 --layers 4 --activation-mb 0.5 --forward-ms 60 "
      "--backward-ms 120 --steps 5 --traced-steps 3",
      traced);
  const double replayed_s = expect_answer(replay_of(traced, "")).json()["iteration_s"];
  EXPECT_NEAR(replayed_s, measured_s, 0.2 * measured_s);
  // Eight all-reduces of 0.5 MB that nothing hides: each takes as long again on half the rate.
  std::string slower = replay_of(traced, "");
  slower.replace(slower.find("24.5MB/s"), 8, "12.25MB/s");
  const double slower_s = expect_answer(slower).json()["iteration_s"];
  EXPECT_NEAR(slower_s - replayed_s, 8 * 0.5e6 / 24.5e6, 0.15 * 8 * 0.5e6 / 24.5e6);
}

// Rank 1 computes three times as long: rank 0 waits for it in each of its all-reduces, and its
// trace alone says so where the network is known. So does that of both, without being told.
TEST(TraceGlooAlone, ARankThatWaitsIsReplayedFromItsOwnTrace) {
  if (const std::string obstacle = gloo_obstacle(); !obstacle.empty()) GTEST_SKIP() << obstacle;
  const Workshop workshop;
  const TwoHosts hosts;
  const std::string traced = workshop.path("slow");
  const double measured_s = hosts.train_s(
      "--megabytes 0.4 --layers 10 --forward-ms 60 --backward-ms 120 --steps 5 --traced-steps 3 "
      "--bucket-mb 0.2 --slow-rank 1 --slow-factor 3",
      traced);
  EXPECT_GT(measured_s, 3 * 180e-3);
  const auto replayed_s = [&](const std::vector<int>& ranks, const std::string& options) {
    return expect_answer(replay_of(traced, options, ranks)).json()["iteration_s"].get<double>();
  };
  EXPECT_NEAR(replayed_s({0, 1}, ""), measured_s, 0.15 * measured_s);
  EXPECT_LT(replayed_s({0}, "--ranks 2"), 0.5 * measured_s);
  EXPECT_NEAR(
      replayed_s({0}, "--ranks 2 --traced-platform star:hosts=2,bandwidth=24.5MB/s,latency=150us"),
      measured_s, 0.15 * measured_s);
}

TEST(TraceGlooAlone, ARealRunIsReplayedWithItsOwnAndOtherBuckets) {
  if (const std::string obstacle = gloo_obstacle(); !obstacle.empty()) GTEST_SKIP() << obstacle;
  const Workshop workshop;
  const TwoHosts hosts;
  const std::string training =
      "--megabytes 4 --layers 10 --forward-ms 60 --backward-ms 120 --steps 5 --traced-steps 3 ";
  double measured_s[2];
  std::string traced[2];
  for (const int i : {0, 1}) {
    traced[i] = workshop.path(i == 0 ? "small" : "large");
    measured_s[i] = hosts.train_s(training + "--bucket-mb " + (i == 0 ? "1" : "25"), traced[i]);
  }
  const auto replayed_s = [&](int i, const std::string& options) {
    return expect_answer(replay_of(traced[i], options)).json()["iteration_s"].get<double>();
  };
  // Real runs on two cores that may be busy with other tests: 20 %.
  for (const int i : {0, 1}) EXPECT_NEAR(replayed_s(i, ""), measured_s[i], 0.2 * measured_s[i]);
  EXPECT_NEAR(replayed_s(1, "--bucket 1MiB"), measured_s[0], 0.2 * measured_s[0]);
  EXPECT_NEAR(replayed_s(0, "--bucket 25MiB"), measured_s[1], 0.2 * measured_s[1]);
}

}  // namespace
}  // namespace forescale::testing
