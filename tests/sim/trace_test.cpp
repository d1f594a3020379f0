// The timeline that a simulated iteration leaves: its spans against what was asked for, and the
// Chrome trace that is made of it.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace forescale::testing
