// The timeline that a simulated iteration leaves: its spans against what was asked for, and the
// Chrome trace that is made of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/json_text.hpp"
#include "sim/predict.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

using nlohmann::json;

TrainingJob two_layer_job(int iterations) {
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
  return parse_json(run_isolated({[&] {
                                   const Platform platform = load_platform("kesch");
                                   const Stack stack = load_stack("mvapich2-gdr");
                                   Timeline timeline;
                                   SessionOptions options;
                                   options.timeline = &timeline;
                                   simulate_training(platform, stack, schedule_of(schedule),
                                                     jobs_of(3, two_layer_job(2)), options);
                                   std::ostringstream text;
                                   write_chrome_trace(timeline, rank_places(platform, 3), text);
                                   return text.str();
                                 }},
                                 1, [](size_t) {})
                        .front())
      .at("traceEvents");
}

// Two iterations on three ranks; the update at the root only.
TEST(Trace, HasEveryKernel) {
  std::map<std::string, std::vector<double>> kernels;
  for (const json& event : trace_of("sc-obr"))
    if (event.at("ph") == "X") kernels[event.at("name")].push_back(event.at("dur"));
  for (const char* name : {"forward conv\"1\"", "forward fc", "backward conv\"1\"", "backward fc"})
    EXPECT_EQ(kernels[name].size(), 6u) << name;
  EXPECT_EQ(kernels["update"].size(), 2u);
  for (const double duration : kernels["forward fc"]) EXPECT_GE(duration, 1e3 * (1 - 1e-9));
}

// In its call a rank waits until its own part is done: rank 2 first, that the root sends to first.
TEST(Trace, HasTheWaitOfEveryRankInACollective) {
  const std::vector<double> numbers = numbers_in_child([] {
    Timeline timeline;
    SessionOptions options;
    options.timeline = &timeline;
    const CollectiveOutcome outcome = simulate_collective(
        load_platform("star:hosts=4,bandwidth=1GB/s,latency=1us"), load_stack("ideal"),
        {.op = CollectiveOp::kBroadcast, .bytes = 1 << 20, .label = "model"}, 3, options);
    std::vector<double> found{outcome.first_done_s, outcome.time_s};
    for (const Span& span : timeline.spans())
      if (timeline.labels()[static_cast<size_t>(span.label)] == "wait: model") {
        EXPECT_EQ(span.begin_s, 0);
        found.push_back(span.end_s);
      }
    return found;
  });
  ASSERT_EQ(numbers.size(), 2U + 3U);
  EXPECT_DOUBLE_EQ(*std::min_element(numbers.begin() + 2, numbers.end()), numbers[0]);
  EXPECT_DOUBLE_EQ(*std::max_element(numbers.begin() + 2, numbers.end()), numbers[1]);
  EXPECT_LT(numbers[0], numbers[1]);
}

}  // namespace
}  // namespace forescale::testing
