// What must hold for every system that there is: no edit here is needed for a new one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "algorithms/system.hpp"
#include "base/data_files.hpp"
#include "base/json_text.hpp"
#include "sim/isolate.hpp"
#include "studies/predict/prediction.hpp"
#include "traces/timeline/timeline.hpp"

namespace forescale {
namespace {

constexpr int kBatchPerGpu = 8;

PredictionInputs inputs_of(const std::string& system, int gpus, const std::string& model) {
  return load_inputs({.platform = "kesch",
                      .model = model,
                      .system = system,
                      .batch = std::int64_t{kBatchPerGpu} * gpus},
                     Scenario::kNominal);
}

// The prediction as bytes.
std::string predicted_text(const PredictionInputs& inputs, int gpus) {
  return run_isolated({[&] { return nlohmann::json(predict_point(inputs, gpus, nullptr)).dump(); }},
                      1, [](size_t) {})
      .front();
}

PredictionPoint predicted_point(const PredictionInputs& inputs, int gpus) {
  return parse_json(predicted_text(inputs, gpus)).get<PredictionPoint>();
}

// Bytes that all ranks send in one collective, counted from its plan.
double plan_bytes(const PredictionInputs& inputs, const CollectiveStep& step, int workers) {
  const Lanes lanes(inputs.platform, inputs.stack);
  const auto choice = inputs.choices.find(step.op);
  const ResolvedCall resolved =
      resolve(lanes,
              step.group ? shared_group(inputs.platform, *step.group)
                         : shared_first_slots(inputs.platform, workers),
              {.op = step.op,
               .bytes = step.bytes,
               .root = step.root,
               .plan = choice == inputs.choices.end() ? nullptr : &choice->second});
  const CollectiveCall& call = resolved.call;
  double bytes = 0;
  for (int rank = 0; rank < call.rank_count; ++rank)
    for (OpStream stream = resolved.collective->plan(call, rank); stream.next();)
      if (stream.op().kind == OpKind::kSend) bytes += static_cast<double>(stream.op().bytes);
  return bytes;
}

double bytes_by_definition(const PredictionInputs& inputs, int gpus) {
  const TrainingRun run = training_run(inputs, gpus);
  const Traffic traffic = inputs.schedule->traffic(*run.jobs.front(), run.workers, run.nodes);
  double bytes = 0;
  for (const CollectiveStep& step : traffic.collectives)
    bytes += plan_bytes(inputs, step, run.workers);
  for (const auto& [pair, amount] : traffic.messages) bytes += amount;
  return bytes;
}

double sum_of(const std::map<std::string, double>& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [](double sum, const auto& part) { return sum + part.second; });
}

class EverySystem : public ::testing::TestWithParam<std::string> {};

TEST_P(EverySystem, FinishesAboveItsBoundAndMovesTheBytesOfItsDefinition) {
  for (const std::string model : {"cifar10-quick", "alexnet"})
    for (const int gpus : {1, 4, 16}) {
      SCOPED_TRACE(model + " on " + std::to_string(gpus) + " GPUs");
      const PredictionInputs inputs = inputs_of(GetParam(), gpus, model);
      const PredictionPoint point = predicted_point(inputs, gpus);
      EXPECT_GE(point.iteration_s, point.bound_s * (1 - 1e-9)) << point.bound_reason;
      EXPECT_GT(point.bound_s, 0);
      EXPECT_EQ(point.images_per_iteration, kBatchPerGpu * gpus);
      EXPECT_NEAR(point.images_per_s * point.iteration_s, kBatchPerGpu * gpus, 1e-6 * gpus);
      const double expected = bytes_by_definition(inputs, gpus);
      EXPECT_NEAR(point.payload_bytes, expected, 1e-9 * expected);
      // Every moment of the root's last iteration is accounted for.
      for (const auto& [phase, time_s] : point.root_s) EXPECT_GE(time_s, 0) << phase;
      if (!inputs.schedule->is_asynchronous) {
        EXPECT_NEAR(sum_of(point.root_s), point.iteration_s, 1e-9 * point.iteration_s);
        EXPECT_NEAR(sum_of(point.mean_s), point.iteration_s, 1e-9 * point.iteration_s);
      }
    }
}

// The trace of the last iteration on four GPUs.
nlohmann::json trace_events(const std::string& system) {
  return parse_json(run_isolated(
                        {[&] {
                          constexpr int kGpus = 4;
                          const PredictionInputs inputs = inputs_of(system, kGpus, "cifar10-quick");
                          Timeline timeline;
                          predict_point(inputs, kGpus, &timeline);
                          const TrainingRun run = training_run(inputs, kGpus);
                          std::ostringstream text;
                          write_chrome_trace(
                              timeline,
                              rank_places(run.platform, static_cast<int>(run.jobs.size())), text);
                          return text.str();
                        }},
                        1, [](size_t) {})
                        .front())
      .at("traceEvents");
}

TEST_P(EverySystem, HasATraceWhoseSlicesNest) {
  std::map<std::string, int> kernels;  // by their first word
  std::map<int, std::vector<std::pair<double, double>>> by_thread;
  std::map<std::string, int> arrows;
  for (const auto& event : trace_events(GetParam())) {
    const std::string phase = event.at("ph");
    if (phase == "s" || phase == "f") ++arrows[phase];
    if (phase != "X") continue;
    const double begin = event.at("ts");
    const double duration = event.at("dur");
    EXPECT_GE(duration, 0) << event;
    by_thread[event.at("tid")].emplace_back(begin, begin + duration);
    const std::string name = event.at("name");
    ++kernels[name.substr(0, name.find(' '))];
  }
  EXPECT_GE(kernels["forward"], 4);
  EXPECT_GE(kernels["backward"], 4);
  EXPECT_EQ(arrows["s"], arrows["f"]);
  for (const auto& [thread, slices] : by_thread)
    for (const auto& a : slices)
      for (const auto& b : slices) {
        constexpr double kRounding = 1e-6;  // of sums of doubles, in microseconds
        ASSERT_FALSE(a.first < b.first && b.first < a.second - kRounding &&
                     a.second < b.second - kRounding)
            << "thread " << thread;
      }
}

TEST_P(EverySystem, GivesTheSameAnswerTwice) {
  const PredictionInputs inputs = inputs_of(GetParam(), 4, "cifar10-quick");
  EXPECT_EQ(predicted_text(inputs, 4), predicted_text(inputs, 4));
}

// One thread decodes an image in 0.1 s, far slower than the network computes.
TEST_P(EverySystem, WaitsForItsTrainingData) {
  const Question question{.platform = "kesch",
                          .model = "cifar10-quick",
                          .system = GetParam(),
                          .batch = 4 * kBatchPerGpu,
                          .data = "image-files:decode=100ms,decode_threads=1"};
  const PredictionPoint point = predicted_point(load_inputs(question, Scenario::kNominal), 4);
  EXPECT_NEAR(point.iteration_s, kBatchPerGpu * 0.1, 0.02 * kBatchPerGpu * 0.1);
  EXPECT_GT(point.io_s, 0.5 * point.iteration_s);
}

TEST_P(EverySystem, AStragglerNeverHelps) {
  PredictionInputs inputs = inputs_of(GetParam(), 4, "cifar10-quick");
  const double even_s = predicted_point(inputs, 4).iteration_s;
  inputs.noise.stragglers[3] = 2;
  EXPECT_GE(predicted_point(inputs, 4).iteration_s, even_s * (1 - 1e-6));
}

PredictionInputs with_straggler(const std::string& system, int rank, double factor,
                                const std::map<std::string, std::string>& options = {}) {
  return load_inputs({.platform = "owens",
                      .model = "cifar10-quick",
                      .system = system,
                      .options = options,
                      .batch = 64,
                      .scaling = Scaling::kWeak,
                      .stragglers = fmt::format("{}:{}", rank, factor)},
                     Scenario::kNominal);
}

// Threads of a server that wake each other must not hold what the other one needs.
TEST(Stragglers, LeaveAnAsynchronousServerRunning) {
  EXPECT_GT(predicted_point(with_straggler("inspur-caffe", 3, 1.5), 8).images_per_s, 0);
}

// In the end all go at the pace of the slowest, however far ahead they may be.
TEST(Stragglers, HoldStaleSynchronousWorkersWhenTheStalenessIsUsedUp) {
  const PredictionInputs inputs = with_straggler("poseidon-ssp", 3, 10, {{"staleness", "20"}});
  const double alone_s = inputs.compute.forward_s(64) + inputs.compute.backward_s(64);
  EXPECT_GT(predicted_point(inputs, 8).iteration_s, 9.5 * alone_s);
}

TEST(Stragglers, RaiseTheBound) {
  const PredictionInputs even = with_straggler("s-caffe-obr-hr", 3, 1);
  const PredictionInputs slow = with_straggler("s-caffe-obr-hr", 3, 5);
  const double bound_s = predicted_point(even, 4).bound_s;
  EXPECT_NEAR(predicted_point(slow, 4).bound_s, 5 * bound_s, 1e-9 * bound_s);
}

INSTANTIATE_TEST_SUITE_P(System, EverySystem, ::testing::ValuesIn(catalogue("algorithms/systems")),
                         [](const auto& system) {
                           std::string name = system.param;
                           for (char& letter : name)
                             if (letter == '-') letter = '_';
                           return name;
                         });

}  // namespace
}  // namespace forescale
