// `import` and `replay` of a measured trace as a person runs them: two ranks of which the second
// is slow, timelines beside each other, what collectives cost, another GPU.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "base/json_text.hpp"
#include "tests/cli/run_program.hpp"
#include "tests/traces/grid_traces.hpp"

namespace forescale::testing {
namespace {

std::string event(const std::string& category, const std::string& name, double begin_us,
                  double length_us, const std::string& args = "") {
  return fmt::format(
      R"({{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":1,"ts":{},"dur":{},"args":{{{}}}}},)",
      category, name, begin_us, length_us, args);
}

// Three steps: a GEMM, an all-reduce that needs it, an elementwise kernel beside.
std::string timeline(int rank, double gemm_us,
                     const std::array<int, 3>& elements = {1000, 10'000, 100'000}) {
  std::string text =
      fmt::format(R"({{"deviceProperties":[{{"id":0,"name":"Tesla P100-PCIE-16GB"}}],)"
                  R"("distributedInfo":{{"rank":{},"world_size":2}},"traceEvents":[)",
                  rank);
  int number = 0;
  for (int step = 0; step < 3; ++step) {
    const double at_us = 2000 * step;
    const auto launch = [&](double us, const char* name) {
      return event("cuda_runtime", name, at_us + us, 5,
                   fmt::format(R"("correlation":{})", ++number));
    };
    const auto on = [&](int stream) {
      return fmt::format(R"("stream":{},"correlation":{})", stream, number);
    };
    text += event("user_annotation", fmt::format("ProfilerStep#{}", step), at_us, 1999);
    text += launch(10, "cudaLaunchKernel");
    text += event("kernel", "volta_sgemm_128x64_nn", at_us + 20, gemm_us, on(7));
    text += launch(30, "cudaLaunchKernelExC");
    text += event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", at_us + 20 + gemm_us,
                  900 - gemm_us,
                  on(9) + fmt::format(R"(,"In msg nelems":{},"dtype":"Float")",
                                      elements[static_cast<size_t>(step)]));
    text += launch(40, "cudaLaunchKernel");
    text += event("kernel", "vectorized_elementwise_kernel", at_us + 20 + gemm_us, 100, on(7));
    ++number;
    text += event("cuda_runtime", "cudaDeviceSynchronize", at_us + 60, 900, on(0));
  }
  return text + R"({"ph":"M","name":"end"}]})";
}

class MeasuredTrace : public ::testing::Test {
 protected:
  Workshop workshop_;
  std::string files_ = workshop_.file("rank0.json", timeline(0, 300)) + " " +
                       workshop_.file("rank1.json", timeline(1, 700));
};

constexpr const char* kHere = " --platform star:hosts=2,bandwidth=1GB/s,latency=5us ";

TEST_F(MeasuredTrace, ReplayExplainsItsTime) {
  const std::array<int, 3> elements = {100'000, 100'000, 100'000};
  const std::string alike = workshop_.file("a.json", timeline(0, 300, elements)) + " " +
                            workshop_.file("b.json", timeline(1, 700, elements));
  const nlohmann::json answer = expect_answer("replay " + alike + kHere + "--json").json();
  EXPECT_EQ(answer["critical_path"]["rank"].get<int>() % 2, answer["critical_path"]["rank"]);
  double path_s = 0;
  for (const auto& [cause, time_s] : answer["critical_path"]["by_cause_s"].items())
    path_s += time_s.get<double>();
  EXPECT_NEAR(path_s, answer["iteration_s"].get<double>(), 1e-9);
  const nlohmann::json& causes = answer["critical_path"]["by_cause_s"];
  // From when rank 0 could begin.
  EXPECT_NEAR(causes["straggler: rank 1"].get<double>(), 400e-6, 1e-6);
  EXPECT_TRUE(causes.contains("all-reduce"));
  EXPECT_NEAR(answer["measured"]["iteration_s"].get<double>(), 2e-3, 1e-9);
  // 600 and 200 us of all-reduce, 100 of each beside the other kernel.
  EXPECT_NEAR(answer["measured"]["communication_s"].get<double>(), 400e-6, 1e-9);
  EXPECT_NEAR(answer["measured"]["hidden_s"].get<double>(), 100e-6, 1e-9);
  EXPECT_GT(answer["hidden_s"], 0);
  EXPECT_FALSE(answer["links"].empty());
  expect_answer("replay " + alike + kHere,
                {"critical path", "straggler: rank 1", "hidden by compute", "measured", "peak"});
  const nlohmann::json plain =
      expect_answer("replay " + alike + kHere + "--json --no-critical-path").json();
  EXPECT_FALSE(plain.contains("critical_path"));
  EXPECT_EQ(plain["iteration_s"], answer["iteration_s"]);
}

TEST_F(MeasuredTrace, TimelinesStandBesideEachOther) {
  const std::string chrome = workshop_.path("both.json");
  const std::string paje = workshop_.path("both.paje");
  const std::string use = workshop_.path("use.csv");
  expect_answer("replay " + files_ + kHere + "--trace " + chrome + " --paje " + paje +
                " --utilisation " + use);
  std::set<std::string> threads;
  std::set<std::string> counters;
  const nlohmann::json trace = parse_json(text_of(chrome));
  for (const nlohmann::json& one : trace["traceEvents"]) {
    if (one["name"] == "thread_name") threads.insert(one["args"]["name"]);
    if (one["ph"] == "C") counters.insert(one["name"]);
  }
  for (const char* thread : {"rank 0 (measured) compute", "rank 1 (measured) collectives",
                             "critical path of the iteration"})
    EXPECT_TRUE(threads.contains(thread)) << thread;
  EXPECT_FALSE(counters.empty());
  EXPECT_NE(text_of(paje).find("rank 0 (measured) compute"), std::string::npos);
  EXPECT_EQ(text_of(use).find("begin_s,end_s,link,share\n"), 0U);
  expect_answer("report " + chrome + " -o " + workshop_.path("page.html"), {"1 timeline"});
  expect_refused("replay " + files_ + kHere + "--paje /nowhere/x", {"--paje", "cannot be written"});
}

TEST_F(MeasuredTrace, ImportGivesWhatCollectivesCost) {
  const std::string file = workshop_.path("m.json");
  // Rank 1 comes last: 200 us each.
  expect_answer("import " + files_ + " --measurement " + file,
                {"measured iteration: 2 ms, iteration 3 of 3", "all-reduce", "alpha us",
                 "measurement: " + file});
  const nlohmann::json measurement = parse_json(text_of(file));
  ASSERT_EQ(measurement["series"].size(), 1U);
  EXPECT_EQ(measurement["series"][0]["ranks"], 2);
  ASSERT_EQ(measurement["series"][0]["points"].size(), 3U);
  EXPECT_NEAR(measurement["series"][0]["points"][1]["time_s"].get<double>(), 200e-6, 1e-9);
  expect_answer("calibrate show " + file, {"all-reduce"});
}

TEST_F(MeasuredTrace, AnotherGpuByModel) {
  const auto replayed_s = [&](const std::string& options) {
    return expect_answer("replay " + files_ + kHere + "--json " + options)
        .json()["iteration_s"]
        .get<double>();
  };
  EXPECT_LT(replayed_s("--gpu v100"), replayed_s(""));
  EXPECT_GT(replayed_s("--gpu k40"), replayed_s(""));
  EXPECT_EQ(replayed_s("--gpu p100"), replayed_s(""));
  expect_refused("replay " + files_ + kHere + "--gpu v200", {"--gpu", "v200"});
  const std::string unnamed = workshop_.file("unnamed.json", [] {
    std::string text = timeline(0, 300);
    return text.replace(text.find("Tesla P100"), 10, "Voodoo 3dx");
  }());
  expect_refused("replay " + unnamed + kHere + "--gpu v100", {"--traced-gpu", "Voodoo 3dx"});
}

TEST_F(MeasuredTrace, WhatIfsAreCompared) {
  const std::string base = "replay " + files_ + kHere + "--no-range ";
  const auto replayed_s = [&](const std::string& options) {
    return expect_answer(base + "--json " + options).json()["iteration_s"].get<double>();
  };
  const std::string wider = "platform=star:hosts=4,bandwidth=2GB/s,latency=5us";
  const std::string both =
      "--what-if 'gpu=v100 without-stragglers' --what-if '" + wider + " ranks=4' ";
  const nlohmann::json answer = expect_answer(base + "--json " + both).json();
  ASSERT_EQ(answer["what_if"].size(), 2U);
  EXPECT_EQ(answer["iteration_s"], replayed_s(""));
  EXPECT_EQ(answer["what_if"][0]["replay"]["iteration_s"],
            replayed_s("--gpu v100 --without-stragglers"));
  EXPECT_EQ(answer["what_if"][1]["replay"]["ranks"], 4);
  EXPECT_EQ(answer["what_if"][1]["change"], wider + " ranks=4");
  expect_answer(base + both,
                {"what if", "nothing changes", "1.00x", "gpu=v100 without-stragglers"});
  // One that fails does not lose the others.
  const Outcome failing = run_program(base + "--json --what-if ranks=64 " + both);
  EXPECT_EQ(failing.exit_code, 2);
  EXPECT_NE(failing.err.find("64"), std::string::npos) << failing.err;
  const nlohmann::json with_one = parse_json(failing.out);
  ASSERT_EQ(with_one["what_if"].size(), 3U);
  EXPECT_TRUE(with_one["what_if"][0].contains("error"));
  EXPECT_EQ(with_one["what_if"][1], answer["what_if"][0]);
  EXPECT_EQ(with_one["what_if"][2], answer["what_if"][1]);
  expect_refused(base + "--what-if gpus=v100", {"--what-if", "gpus=v100", "gpu"});
  expect_refused(base + "--what-if gpu", {"--what-if", "needs a value"});
  expect_refused(base + "--what-if ranks=many", {"--what-if", "many", "must be a number"});
  expect_refused(base + "--what-if ' '", {"--what-if", "must say what is changed"});
}

TEST_F(MeasuredTrace, GroupsOfOtherSizes) {
  const std::string trace = workshop_.file(
      "grid.json", GridTraces({.tensor = 2, .data = 2}, GroupsAs::kNames).timeline(1));
  const nlohmann::json answer =
      expect_answer("replay " + trace +
                    " --platform dgx-a100 --json --what-if group=data=8 --what-if split=tensor=4 "
                    "--what-if group=tensor=1 --what-if 'group=data=4 platform=dgx-h100'")
          .json();
  ASSERT_EQ(answer["what_if"].size(), 4U);
  const auto what_if = [&](size_t i) { return answer["what_if"][i]["replay"]; };
  EXPECT_EQ(answer["ranks"], 4);
  EXPECT_EQ(what_if(0)["ranks"], 16);
  EXPECT_EQ(what_if(1)["ranks"], 8);
  EXPECT_EQ(what_if(2)["ranks"], 2);
  EXPECT_EQ(what_if(3)["ranks"], 8);
  // The GEMMs are most of it: halved, or at an end of the range as they were.
  const double compute_s = 6 * 0.5e-3 / 3;
  EXPECT_NEAR(answer["iteration_s"].get<double>() - what_if(1)["iteration_s"].get<double>(),
              compute_s / 2, 0.1 * compute_s);
  EXPECT_GT(what_if(1)["iteration_slow_s"].get<double>(),
            what_if(1)["iteration_s"].get<double>() + 0.2 * compute_s);
  expect_refused("replay " + trace + " --platform dgx-a100 --group pipeline=2",
                 {"--group", "pipeline", "is no group of the trace", "data", "tensor"});
  expect_refused("replay " + trace + " --platform dgx-a100 --group data",
                 {"--group", "NAME=RANKS"});
  expect_refused("replay " + files_ + kHere + "--group data=4",
                 {"--group", "one rank that stands for all"});
}

TEST_F(MeasuredTrace, CalibrationGivesTheMeasurementBack) {
  const std::string base = "replay " + files_ + kHere + "--no-range ";
  const nlohmann::json answer = expect_answer(base + "--json --calibrate").json();
  const double measured_s = answer["measured"]["iteration_s"];
  EXPECT_NEAR(answer["iteration_s"].get<double>(), measured_s, 0.02 * measured_s);
  const nlohmann::json against = expect_answer(base + "--json --against-measured").json();
  EXPECT_EQ(against["against_measured"]["collectives"][0]["what"], "all-reduce, 2 ranks");
  EXPECT_NEAR(against["against_measured"]["iteration_with_all_s"].get<double>(),
              answer["iteration_s"].get<double>(), 1e-12);
  expect_answer(base + "--against-measured",
                {"against the measurement", "all-reduce, 2 ranks as", "dependencies not seen"});
  // The what-if is calibrated where nothing changes.
  const nlohmann::json moved = expect_answer(base + "--json --calibrate --what-if platform=" +
                                             "star:hosts=2,bandwidth=2GB/s,latency=5us")
                                   .json();
  EXPECT_LT(moved["what_if"][0]["replay"]["iteration_s"], answer["iteration_s"]);
  const std::string program = workshop_.path("p.jsonl");
  expect_answer("import " + files_ + " -o " + program);
  expect_refused("replay " + program + kHere + "--calibrate", {"--calibrate", "needs a trace"});
  expect_refused(base + "--calibrate --against-measured", {"--against-measured", "leave one out"});
}

}  // namespace
}  // namespace forescale::testing
