// The timeline that a simulated iteration leaves: its spans against what was asked for, and the
// Chrome trace that is made of it.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "sim/predict.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

using nlohmann::json;

TrainingJob job_of(int iterations) {
  TrainingJob job;
  job.iterations = iterations;
  for (const char* name : {"conv\"1\"", "fc"})
    job.stages.push_back({.name = name,
                          .forward_s = 1e-3,
                          .backward_s = 2e-3,
                          .update_s = 1e-4,
                          .parameter_bytes = 1 << 20});
  return job;
}

// The trace of two iterations on three GPUs of kesch.
json trace_of(const std::string& schedule) {
  return json::parse(run_isolated({[&] {
                                    const Platform platform = load_platform("kesch");
                                    const Stack stack = load_stack("mvapich2-gdr");
                                    Timeline timeline;
                                    SessionOptions options;
                                    options.timeline = &timeline;
                                    simulate_training(
                                        platform, stack, Registry<Schedule>::find(schedule, "test"),
                                        std::vector<TrainingJob>(3, job_of(2)), options);
                                    std::ostringstream text;
                                    write_chrome_trace(timeline, rank_places(platform, 3), text);
                                    return text.str();
                                  }},
                                  1, [](size_t) {})
                         .front())
      .at("traceEvents");
}

class EverySchedulesTrace : public ::testing::TestWithParam<std::string> {};

TEST_P(EverySchedulesTrace, HasEveryKernelAndNests) {
  const json events = trace_of(GetParam());
  std::map<std::string, std::vector<double>> kernels;
  std::map<int, std::vector<std::pair<double, double>>> by_thread;
  std::map<std::string, int> arrows;
  for (const json& event : events) {
    const std::string phase = event.at("ph");
    if (phase == "s" || phase == "f") ++arrows[phase];
    if (phase != "X") continue;
    const double begin = event.at("ts");
    const double duration = event.at("dur");
    EXPECT_GE(duration, 0) << event;
    by_thread[event.at("tid")].emplace_back(begin, begin + duration);
    kernels[event.at("name")].push_back(duration);
  }
  // Two iterations on three ranks; the update at the root only.
  for (const char* name : {"forward conv\"1\"", "forward fc", "backward conv\"1\"", "backward fc"})
    EXPECT_EQ(kernels[name].size(), 6u) << name;
  EXPECT_EQ(kernels["update"].size(), 2u);
  for (const double duration : kernels["forward fc"]) EXPECT_GE(duration, 1e3 * (1 - 1e-9));
  EXPECT_GT(arrows["s"], 0);
  EXPECT_EQ(arrows["s"], arrows["f"]);
  for (const auto& [thread, slices] : by_thread)
    for (const auto& a : slices)
      for (const auto& b : slices) {
        constexpr double kRounding = 1e-6;  // of sums of doubles, in microseconds
        EXPECT_FALSE(a.first < b.first && b.first < a.second - kRounding &&
                     a.second < b.second - kRounding)
            << "thread " << thread;
      }
}

INSTANTIATE_TEST_SUITE_P(Schedules, EverySchedulesTrace,
                         ::testing::ValuesIn(Registry<Schedule>::names()));

}  // namespace
}  // namespace forescale::testing
