// Training schedules on simulated GPUs: what each one's time is made of, which one wins and why,
// and what must hold for all that are registered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "algorithms/plan_choice.hpp"
#include "algorithms/steps/training_steps.hpp"
#include "base/json_text.hpp"
#include "sim/predict.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

using ::testing::HasSubstr;

// Made up: every layer computes 6 + 12 ms and has 16 MiB of parameters.
TrainingJob equal_layers_job(int stages, int iterations) {
  TrainingJob job;
  job.iterations = iterations;
  for (int i = 0; i < stages; ++i)
    job.stages.push_back({.name = fmt::format("layer{}", i),
                          .forward_s = 6e-3,
                          .backward_s = 12e-3,
                          .update_s = 0.25e-3,
                          .parameter_bytes = 16 << 20});
  return job;
}

double four_layers_s(const std::string& platform, const std::string& stack,
                     const std::string& schedule, int gpus) {
  return iteration_s(load_platform(platform), load_stack(stack), schedule_of(schedule), gpus,
                     equal_layers_job(4, 3));
}

// ---- phases: the sum of its parts ----

struct PhasesSetting {
  const char* name;
  const char* platform;
  const char* stack;
  int gpus;
};

class Phases : public ::testing::TestWithParam<PhasesSetting> {};

// On powers of two of the star all ranks leave the binomial broadcast at the same time, and on two
// GPUs only one has to be waited for: nothing is gained or lost between the parts.
TEST_P(Phases, IterationIsTheSumOfItsParts) {
  const Platform platform = load_platform(GetParam().platform);
  const Stack stack = load_stack(GetParam().stack);
  const int gpus = GetParam().gpus;
  const TrainingJob job = equal_layers_job(4, 3);
  const double expected_s = alone_s(platform, stack, propagate_packed(job), gpus) + 4 * 6e-3 +
                            4 * 12e-3 + alone_s(platform, stack, aggregate_packed(job), gpus) +
                            4 * 0.25e-3;
  const Schedule& phases = Registry<Schedule>::find("phases", "test");
  EXPECT_NEAR(iteration_s(platform, stack, phases, gpus, job), expected_s, 1e-9 * expected_s);
}

INSTANTIATE_TEST_SUITE_P(
    Settings, Phases,
    ::testing::Values(PhasesSetting{"Star8", "star:hosts=8,bandwidth=12.5GB/s,latency=1us", "ideal",
                                    8},
                      PhasesSetting{"Star16", "star:hosts=16,bandwidth=12.5GB/s,latency=1us",
                                    "ideal:reduce_bandwidth=20GB/s,reduce_overhead=3us", 16},
                      PhasesSetting{"Kesch2", "kesch", "mvapich2-gdr", 2},
                      PhasesSetting{"Pcie2", "pcie:gpu=k80", "caffe-p2p", 2},
                      PhasesSetting{"KeschHost2", "kesch", "mvapich2-2.2", 2},
                      PhasesSetting{"Kesch1", "kesch", "mvapich2-gdr", 1}),
    [](const auto& tested) { return std::string(tested.param.name); });

// Where ranks leave the broadcast at different times, those who wait are met half-way.
TEST(PhasesOfManyGpus, IterationIsAtMostTheSumOfItsParts) {
  const Platform platform = load_platform("kesch");
  const Stack stack = load_stack("mvapich2-gdr");
  const TrainingJob job = equal_layers_job(4, 3);
  const Schedule& phases = Registry<Schedule>::find("phases", "test");
  const double compute_s = 4 * (6e-3 + 12e-3 + 0.25e-3);
  for (const int gpus : {8, 16, 32}) {
    const double broadcast_s = alone_s(platform, stack, propagate_packed(job), gpus);
    const double reduce_s = alone_s(platform, stack, aggregate_packed(job), gpus);
    const double time_s = iteration_s(platform, stack, phases, gpus, job);
    EXPECT_LE(time_s, (broadcast_s + reduce_s + compute_s) * (1 + 1e-9)) << gpus;
    EXPECT_GE(time_s, std::max(broadcast_s, reduce_s) + compute_s) << gpus;
  }
}

// ---- what overlap gains, and on whose progress it hinges ----

TEST(Overlap, EachStepOfTheCoDesignGains) {
  for (const int gpus : {16, 32}) {
    const double basic_s = four_layers_s("kesch", "mvapich2-gdr", "phases", gpus);
    const double ob_s = four_layers_s("kesch", "mvapich2-gdr", "sc-ob", gpus);
    const double obr_s = four_layers_s("kesch", "mvapich2-gdr", "sc-obr", gpus);
    EXPECT_LT(ob_s, basic_s) << gpus;
    EXPECT_LT(obr_s, ob_s) << gpus;
  }
}

// All broadcasts layer by layer before anything computes; then as SC-OB.
void layer_wise_phases(Worker& worker, const TrainingJob& job) {
  for (int iteration = 0; iteration < job.iterations; ++iteration) {
    for (const TrainingStage& stage : job.stages) worker.run(propagate(stage));
    take_batch(worker);
    for (const TrainingStage& stage : job.stages) worker.run(forward(stage));
    for (size_t i = job.stages.size(); i-- > 0;) worker.run(backward(job.stages[i]));
    worker.run(aggregate_packed(job));
    update_at_root(worker, job);
    worker.end_iteration();
  }
}

// Where only calls make progress, a broadcast posted before a layer computes waits for the next
// wait: at most the messages already under way hide. The helper thread's backward passes leave the
// main thread inside the reduce, so SC-OBR still gains over SC-OB.
TEST(Overlap, WithoutProgressOnlySCOBRGains) {
  const Schedule layer_wise = {
      .name = "layer-wise", .summary = "", .source = "", .run = layer_wise_phases};
  const Platform platform = load_platform("kesch");
  const auto gain_of_ob_s = [&](const char* stack) {
    return iteration_s(platform, load_stack(stack), layer_wise, 16, equal_layers_job(4, 3)) -
           four_layers_s("kesch", stack, "sc-ob", 16);
  };
  const double gain_with_progress_s = gain_of_ob_s("mvapich2-gdr");
  const double gain_without_s = gain_of_ob_s("mvapich2-gdr-calls");
  EXPECT_GT(gain_with_progress_s, 0);
  EXPECT_LT(gain_without_s, 0.5 * gain_with_progress_s);

  const auto gain_of_obr_s = [](const char* stack) {
    return four_layers_s("kesch", stack, "sc-ob", 16) - four_layers_s("kesch", stack, "sc-obr", 16);
  };
  EXPECT_GT(gain_of_obr_s("mvapich2-gdr-calls"), 0.5 * gain_of_obr_s("mvapich2-gdr"));
  EXPECT_GT(gain_of_obr_s("mvapich2-gdr"), 0);
}

// ---- predict_point ----

PredictionInputs inputs_of(const std::string& schedule, std::int64_t batch) {
  PredictionInputs inputs;
  inputs.platform = load_platform("kesch");
  inputs.stack = load_stack("mvapich2-gdr");
  inputs.network = load_network("cifar10-quick", "test");
  inputs.compute =
      compute_table(inputs.platform.gpu_models.front(), inputs.network, &inputs.provenance);
  inputs.schedule = &Registry<Schedule>::find(schedule, "test");
  inputs.options = ScheduleOptions::parse(inputs.schedule->options, {}, "test");
  inputs.batch = batch;
  inputs.iterations = 5;
  return inputs;
}

// The same prediction, as bytes.
std::string prediction_text(const PredictionInputs& inputs, int gpus) {
  return run_isolated({[&] { return nlohmann::json(predict_point(inputs, gpus, nullptr)).dump(); }},
                      1, [](size_t) {})
      .front();
}

PredictionPoint prediction(const PredictionInputs& inputs, int gpus) {
  return parse_json(prediction_text(inputs, gpus)).get<PredictionPoint>();
}

TEST(BatchShares, StrongIsDividedAndWeakIsNot) {
  EXPECT_EQ(batch_shares(10, Scaling::kStrong, 4), (std::vector<std::int64_t>{3, 3, 2, 2}));
  EXPECT_EQ(batch_shares(10, Scaling::kWeak, 3), (std::vector<std::int64_t>{10, 10, 10}));
  EXPECT_EQ(batch_shares(8, Scaling::kStrong, 4), (std::vector<std::int64_t>{2, 2, 2, 2}));
}

TEST(PredictPoint, WeakScalingMultipliesTheImages) {
  PredictionInputs inputs = inputs_of("phases", 64);
  inputs.scaling = Scaling::kWeak;
  const PredictionPoint weak = prediction(inputs, 4);
  EXPECT_EQ(weak.batch_per_gpu, 64);
  EXPECT_EQ(weak.images_per_iteration, 4 * 64);
  inputs.scaling = Scaling::kStrong;
  inputs.batch = 4 * 64;
  const PredictionPoint strong = prediction(inputs, 4);
  EXPECT_EQ(strong.iteration_s, weak.iteration_s);
}

// 13 images on 4 GPUs: the largest share, 4, sets memory and pace.
TEST(PredictPoint, LargestShareSetsThePace) {
  const PredictionPoint uneven = prediction(inputs_of("phases", 13), 4);
  const PredictionPoint even = prediction(inputs_of("phases", 16), 4);
  EXPECT_EQ(uneven.batch_per_gpu, 4);
  EXPECT_EQ(uneven.images_per_iteration, 13);
  EXPECT_EQ(uneven.memory_bytes, even.memory_bytes);
  EXPECT_LE(uneven.iteration_s, even.iteration_s);
  EXPECT_GT(uneven.iteration_s, prediction(inputs_of("phases", 12), 4).iteration_s);
}

double sent_bytes(const PredictionInputs& inputs) {
  const TrainingRun run = training_run(inputs, 4);
  const Traffic traffic = inputs.schedule->traffic(*run.jobs.front(), run.workers, run.nodes);
  double bytes = 0;
  for (const CollectiveStep& step : traffic.collectives) bytes += static_cast<double>(step.bytes);
  for (const auto& [pair, message] : traffic.messages) bytes += message;
  return bytes;
}

// Whatever a schedule does with gradients and parameters, half precision sends half of it; and what
// the simulator counts is what the definition says.
TEST(PredictPoint, HalfPrecisionSendsHalf) {
  for (const std::string& name : Registry<Schedule>::names()) {
    SCOPED_TRACE(name);
    PredictionInputs inputs = inputs_of(name, 64);
    // The stack's rules take another plan for half the bytes.
    inputs.choices[CollectiveOp::kReduce] = parse_plan("reduce/binomial", "test");
    const double fp32_bytes = sent_bytes(inputs);
    const double fp32_payload = prediction(inputs, 4).payload_bytes;
    inputs.precision = Precision::kBf16;
    EXPECT_EQ(2 * sent_bytes(inputs), fp32_bytes);
    if (!inputs.schedule->is_asynchronous) {
      EXPECT_NEAR(2 * prediction(inputs, 4).payload_bytes, fp32_payload, 1e-9 * fp32_payload);
    }
    inputs.precision = Precision::kTf32;  // stored as FP32
    EXPECT_EQ(sent_bytes(inputs), fp32_bytes);
  }
}

// A ring's blocks are whole elements: 8 bytes on 4 ranks are 2, 2, 2 and 2, but of FP32 4, 4, 0 and
// 0.
TEST(PredictPoint, BlocksAreOfWholeHalfPrecisionValues) {
  const Platform platform = load_platform("star:hosts=4,bandwidth=1GB/s,latency=1us");
  const Stack stack = load_stack("ideal");
  const Lanes lanes(platform, stack);
  const PlanChoice ring = parse_plan("all-reduce/ring", "test");
  const ResolvedCall call =
      resolve(lanes, shared_first_slots(platform, 4),
              {.op = CollectiveOp::kAllReduce, .bytes = 8, .plan = &ring, .element_bytes = 2});
  std::int64_t largest = 0;
  OpStream stream = call.collective->plan(call.call, 0);
  while (stream.next()) largest = std::max(largest, stream.op().bytes);
  EXPECT_EQ(largest, 2);
}

// The same on the simulator's wire: 6 steps of 2 bytes, or of 4, at 1 MB/s and nothing else.
TEST(PredictPoint, TheSimulatorSendsWholeHalfPrecisionValues) {
  const Platform platform = load_platform("star:hosts=4,bandwidth=1MB/s,latency=0s");
  const Stack stack = load_stack("ideal");
  TrainingJob job;
  job.iterations = 3;
  job.stages = {{.name = "layer", .forward_s = 1e-6, .backward_s = 1e-6, .parameter_bytes = 8}};
  SessionOptions options;
  options.choices[CollectiveOp::kAllReduce] = parse_plan("all-reduce/ring", "test");
  const auto sent_s = [&](std::int64_t value_bytes) {
    job.value_bytes = value_bytes;
    return in_child([&] {
      return simulate_training(platform, stack,
                               Registry<Schedule>::find("layer-all-reduce", "test"),
                               jobs_of(4, job), options)
          .iteration_s;
    });
  };
  EXPECT_NEAR(sent_s(4) - sent_s(2), 6 * 2e-6, 1e-9);
}

// Of four workers each sends three quarters of what was looked up, and of its gradients, a quarter
// at a time: at 1 MB/s 3 times 1 ms each way, before the next kernel. The all-reduce of 8 bytes
// takes 6 steps of 2 us.
TEST(PredictPoint, WhatWasLookedUpIsExchangedBothWays) {
  const Platform platform = load_platform("star:hosts=4,bandwidth=1MB/s,latency=0s");
  TrainingJob job;
  job.iterations = 3;
  job.stages = {{.name = "tables", .forward_s = 2e-3, .backward_s = 3e-3, .looked_up_bytes = 4000},
                {.name = "layer", .forward_s = 1e-3, .backward_s = 1e-3, .parameter_bytes = 8}};
  SessionOptions options;
  options.choices[CollectiveOp::kAllReduce] = parse_plan("all-reduce/ring", "test");
  options.choices[CollectiveOp::kAllToAll] = parse_plan("all-to-all/pairwise", "test");
  const Schedule& ddp = Registry<Schedule>::find("ddp", "test");
  job.options = ScheduleOptions::parse(ddp.options, {}, "test");
  const double iteration_s = in_child([&] {
    return simulate_training(platform, load_stack("ideal"), ddp, jobs_of(4, job), options)
        .iteration_s;
  });
  EXPECT_NEAR(iteration_s, 7e-3 + 6e-3, 20e-6);
  EXPECT_EQ(ddp.traffic(job, 4, {0, 0, 0, 0}).collectives.size(), 3U);
}

// 10 samples on 3 GPUs, 4, 3 and 3: an all-to-all is of equal blocks, those of the largest share.
TEST(PredictPoint, UnequalSharesExchangeAsMuchAsTheLargest) {
  PredictionInputs inputs = inputs_of("ddp", 10);
  inputs.platform = load_platform("dgx-a100");
  inputs.stack = load_stack("nccl-2.23-a100");
  inputs.network = load_network("dlrm", "test");
  inputs.compute =
      compute_table(inputs.platform.gpu_models.front(), inputs.network, &inputs.provenance);
  const TrainingRun run = training_run(inputs, 3);
  for (const auto& job : run.jobs) EXPECT_EQ(job->stages.front().looked_up_bytes, 4 * 26 * 128 * 4);
  EXPECT_GT(prediction(inputs, 3).exposed_communication_s, 0);
}

TEST(PredictPoint, ASystemThatSharesOutNoTablesIsRefused) {
  PredictionInputs inputs = inputs_of("phases", 4);
  inputs.network = load_network("dlrm", "--model");
  EXPECT_THAT(error_in_child<InputError>([&] { predict_point(inputs, 2, nullptr); }),
              HasSubstr("does not share out the tables of dlrm over GPUs"));
}

TEST(PredictPoint, OutOfMemoryIsAnAnswer) {
  PredictionInputs inputs = inputs_of("phases", 1);
  const auto memory = static_cast<double>(inputs.platform.gpu_models.front().memory.value);
  // Two batches tell what an image needs: memory(b) = m0 + b m1.
  const auto image =
      static_cast<double>(inputs.memory_at(2, 1).value - inputs.memory_at(1, 1).value);
  const double fixed = static_cast<double>(inputs.memory_at(1, 1).value) - image;
  const auto most = static_cast<std::int64_t>((memory - fixed) / image);
  inputs.batch = 2 * (most + 1);
  const PredictionPoint point = prediction(inputs, 2);
  EXPECT_FALSE(point.fits);
  EXPECT_EQ(point.iteration_s, 0);
  EXPECT_EQ(point.images_per_s, 0);
  EXPECT_EQ(point.batch_per_gpu, most + 1);
  inputs.batch = 2 * most;
  EXPECT_TRUE(prediction(inputs, 2).fits);
}

TEST(PredictPoint, FewerImagesThanGpusIsAnInputError) {
  const PredictionInputs inputs = inputs_of("phases", 3);
  EXPECT_THAT(error_in_child<InputError>([&] { predict_point(inputs, 4, nullptr); }),
              HasSubstr("--batch = 3: must be >= 4"));
}

}  // namespace
}  // namespace forescale::testing
