// A schedule that registers itself here: it is listed, shown, predicted, traced, and no other file
// knows of it. tests/studies/systems_test.cpp asks the same of those that a system names.
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "algorithms/schedule.hpp"
#include "algorithms/steps/all_reduce_steps.hpp"
#include "algorithms/steps/training_steps.hpp"
#include "base/json_text.hpp"
#include "tests/cli/in_process.hpp"

namespace forescale {
namespace {

using testing::answer_here;
using testing::text_of;
using testing::Workshop;

// Forward, backward, one all-reduce of everything, one step after the other.
void run(Worker& worker, const TrainingJob& job) {
  for (int iteration = 0; iteration < job.iterations; ++iteration) {
    take_batch(worker);
    for (const TrainingStage& stage : job.stages) worker.run(forward(stage));
    for (size_t i = job.stages.size(); i-- > 0;) worker.run(backward(job.stages[i]));
    worker.run(all_reduce(job.parameter_bytes(), "all"));
    update_own_copy(worker, job);
    worker.end_iteration();
  }
}

const bool kToyScheduleRegistered = Registry<Schedule>::add(
    {.name = "toy",
     .summary = "one all-reduce, then an update",
     .source = "this test",
     .run = run,
     .servers = nullptr,
     .traffic = [](const TrainingJob& job, int /*workers*/, const std::vector<int>& /*nodes*/) {
       Traffic traffic;
       traffic.collectives.push_back(all_reduce(job.parameter_bytes(), "all"));
       return traffic;
     }});

constexpr const char* kPredictToy =
    "predict --platform kesch --model cifar10-quick --batch 64 --schedule toy --stack mvapich2-gdr "
    "--no-range ";

TEST(ToySchedule, IsListedAndShown) {
  EXPECT_TRUE(kToyScheduleRegistered);
  answer_here("schedule list", {"toy", "one all-reduce, then an update"});
  answer_here("schedule show toy", {"source: this test"});
  answer_here("schedule check toy");
}

TEST(ToySchedule, FinishesAboveItsBoundAndGivesTheSameAnswerTwice) {
  const std::string said = answer_here(std::string(kPredictToy) + "--gpus 1,4 --json");
  const auto prediction = parse_json(said);
  for (const auto& point : prediction.at("points")) {
    EXPECT_GT(point.at("bound_s").get<double>(), 0);
    EXPECT_GE(point.at("iteration_s").get<double>(), point.at("bound_s").get<double>());
  }
  EXPECT_EQ(answer_here(std::string(kPredictToy) + "--gpus 1,4 --json"), said);
}

TEST(ToySchedule, HasATraceWhoseSlicesNest) {
  const Workshop workshop;
  const std::string file = workshop.path("trace.json");
  answer_here(std::string(kPredictToy) + "--gpus 4 --trace " + file);
  std::map<int, std::vector<std::pair<double, double>>> by_thread;  // microseconds
  const auto trace = parse_json(text_of(file));
  for (const auto& event : trace.at("traceEvents"))
    if (event.at("ph") == "X")
      by_thread[event.at("tid")].emplace_back(
          event.at("ts"), event.at("ts").get<double>() + event.at("dur").get<double>());
  EXPECT_FALSE(by_thread.empty());
  constexpr double kRounding_us = 1e-6;
  for (const auto& [thread, slices] : by_thread)
    for (const auto& a : slices)
      for (const auto& b : slices)
        EXPECT_FALSE(a.first < b.first && b.first < a.second - kRounding_us &&
                     a.second < b.second - kRounding_us)
            << "thread " << thread;
}

}  // namespace
}  // namespace forescale
