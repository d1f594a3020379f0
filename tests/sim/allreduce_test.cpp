// Horovod, Baidu, DDP and layer-wise all-reduces: what is reduced together, when, and what it
// hides.
#include <gtest/gtest.h>

#include "algorithms/steps/all_reduce_steps.hpp"
#include "algorithms/steps/negotiated_all_reduce.hpp"
#include "tests/sim/simulations.hpp"
#include "topologies/platform.hpp"

namespace forescale::testing {
namespace {

constexpr double kForward_s = 6e-3;
constexpr double kBackward_s = 12e-3;
constexpr double kUpdate_s = 0.25e-3;
constexpr int kStages = 6;
constexpr std::int64_t kTensor = 16 * kMiB;

using Options = std::map<std::string, std::string>;

// Six layers of one tensor each. Made up.
TrainingJob six_layer_job(const Schedule& schedule, const Options& options) {
  TrainingJob job;
  job.iterations = 3;
  job.options = ScheduleOptions::parse(schedule.options, options, "test");
  job.gpu_pack_s_per_byte = 1e-12;
  job.gpu_launch_s = 10e-6;
  for (int i = 0; i < kStages; ++i)
    job.stages.push_back({.name = fmt::format("layer{}", i),
                          .forward_s = kForward_s,
                          .backward_s = kBackward_s,
                          .update_s = kUpdate_s,
                          .parameter_bytes = kTensor});
  return job;
}

constexpr double kCompute_s = kStages * (kForward_s + kBackward_s + kUpdate_s);

struct Outcome {
  double iteration_s = 0;
  double messages = 0;       // an iteration
  double payload_bytes = 0;  // an iteration
};

Outcome all_reduce_outcome(const std::string& name, const TrainingJob& job, int workers,
                           Progress progress) {
  const std::vector<double> numbers = numbers_in_child([&] {
    Stack stack = load_stack("ideal");
    stack.progress = progress;
    const TrainingOutcome outcome = simulate_training(load_platform(star_of(workers)), stack,
                                                      schedule_of(name), jobs_of(workers, job), {});
    return std::vector<double>{outcome.iteration_s, static_cast<double>(outcome.messages),
                               outcome.bytes_sent - outcome.control_bytes};
  });
  return {.iteration_s = numbers[0],
          .messages = numbers[1] / job.iterations,
          .payload_bytes = numbers[2] / job.iterations};
}

Outcome run(const std::string& name, const Options& options, int workers = 2,
            Progress progress = Progress::kHardware) {
  return all_reduce_outcome(name, six_layer_job(schedule_of(name), options), workers, progress);
}

// Ring on two ranks: a half each way, twice; alpha before the bytes.
double ring_of_two_s(std::int64_t bytes) {
  return 2 * (kAlpha_s + static_cast<double>(bytes) / 2 / kStarBytesPerS);
}
constexpr double kMessagesOfAllReduce = 4;  // two rounds of two ranks
constexpr double kMessagesOfTick = 4;       // two gathers and two broadcasts on two ranks

// A tick on two ranks in which `open` tensors are new and not reduced yet, with 100 bytes and 0.7
// us each.
double tick_s(int open) {
  return 4 * kAlpha_s + (4 + 100.0 * open + 4 + 100.0 * open) / kStarBytesPerS + 2 * open * 0.7e-6;
}

constexpr double kResponse_s = 55e-6;  // before each all-reduce

// `tensors` into the fusion buffer, or out of it: the first one's launch, 4 us for each other one.
double copy_s(int tensors) {
  return 10e-6 + (tensors - 1) * 4e-6 + static_cast<double>(tensors * kTensor) * 1e-12;
}

// ---- what is reduced together ----

std::vector<std::int64_t> group_bytes(const std::vector<GradientGroup>& groups) {
  std::vector<std::int64_t> bytes;
  for (const GradientGroup& group : groups) bytes.push_back(group.bytes);
  return bytes;
}

TEST(Fusion, NeighboursThatFitGoTogether) {
  std::vector<Tensor> gradients;
  for (const std::int64_t bytes : {40, 30, 50, 10, 10, 200, 10})
    gradients.push_back({.stage = 0, .bytes = bytes});
  using Sizes = std::vector<std::int64_t>;
  EXPECT_EQ(group_bytes(fuse(gradients, 0, 7, 70)), (Sizes{70, 70, 200, 10}));
  EXPECT_EQ(group_bytes(fuse(gradients, 0, 7, 69)), (Sizes{40, 30, 60, 10, 200, 10}));
  EXPECT_EQ(group_bytes(fuse(gradients, 0, 7, 0)), (Sizes{40, 30, 50, 10, 10, 200, 10}));
  EXPECT_EQ(group_bytes(fuse(gradients, 3, 5, 70)), (Sizes{20}));
  EXPECT_EQ(group_bytes(fuse(gradients, 3, 3, 70)), (Sizes{}));
}

TEST(Gradients, AppearFromTheLastTensorDown) {
  TrainingJob job;
  job.stages = {{.name = "a", .parameter_bytes = 11, .tensor_bytes = {10, 1}},
                {.name = "no parameters"},
                {.name = "c", .parameter_bytes = 7}};
  const std::vector<Tensor> gradients = gradients_of(job);
  ASSERT_EQ(gradients.size(), 3U);
  EXPECT_EQ(gradients[0].bytes, 7);
  EXPECT_EQ(gradients[0].stage, 2U);
  EXPECT_EQ(gradients[1].bytes, 1);
  EXPECT_EQ(gradients[2].bytes, 10);
  EXPECT_EQ(gradients[2].stage, 0U);
}

std::vector<std::int64_t> sizes_of_traffic(const std::string& name, const TrainingJob& job) {
  std::vector<std::int64_t> sizes;
  for (const CollectiveStep& step : schedule_of(name).traffic(job, 2, {0, 1}).collectives)
    sizes.push_back(step.bytes);
  return sizes;
}

// A bucket is closed by the tensor that reaches its limit: 1 MiB for the first, then 25 MiB.
TEST(Ddp, BucketsAreFilledInReverseOrder) {
  using Sizes = std::vector<std::int64_t>;
  TrainingJob job = six_layer_job(schedule_of("ddp"), {});
  EXPECT_EQ(sizes_of_traffic("ddp", job), (Sizes{kTensor, 2 * kTensor, 2 * kTensor, kTensor}));
  job.stages.back().tensor_bytes = {15 * kMiB + kMiB / 4, kMiB / 2, kMiB / 4};
  EXPECT_EQ(sizes_of_traffic("ddp", job), (Sizes{kTensor, 2 * kTensor, 2 * kTensor, kTensor}));
  job.stages.back().tensor_bytes = {14 * kMiB, kMiB, kMiB};
  EXPECT_EQ(sizes_of_traffic("ddp", job),
            (Sizes{kMiB, kMiB + 14 * kMiB + kTensor, 2 * kTensor, 2 * kTensor}));
  const TrainingJob wide = six_layer_job(schedule_of("ddp"), {{"bucket_bytes", "1GiB"}});
  EXPECT_EQ(sizes_of_traffic("ddp", wide), (Sizes{kTensor, 5 * kTensor}));
}

// ---- counted ----

TEST(Horovod, ThresholdZeroIsOneNegotiatedAllReduceATensor) {
  for (const char* announce : {"queued", "computed"}) {
    const Outcome outcome =
        run("horovod", {{"fusion_threshold", "0"}, {"announce", announce}, {"cycle_time", "1s"}});
    // A cycle of a second leaves one tick an iteration, which finds all tensors.
    EXPECT_EQ(outcome.messages, kStages * kMessagesOfAllReduce + kMessagesOfTick) << announce;
    EXPECT_EQ(outcome.payload_bytes, 2.0 * kStages * kTensor) << announce;
  }
}

TEST(Horovod, ThresholdSaysHowManyAreFused) {
  EXPECT_EQ(run("horovod", {}).messages, 2 * kMessagesOfAllReduce + kMessagesOfTick)
      << "six tensors of 16 MiB, four in 64 MiB";
  EXPECT_EQ(run("horovod", {{"fusion_threshold", "32MiB"}}).messages,
            3 * kMessagesOfAllReduce + kMessagesOfTick);
}

// Computed at 12, 24, ... 72 ms of the backward pass; ticks half a cycle after the first and every
// 30 ms: at 27, 57 and 87 ms, with two new tensors each.
TEST(Horovod, TicksFuseWhatIsReady) {
  const Outcome outcome = run("horovod", {{"announce", "computed"}, {"cycle_time", "30ms"}});
  EXPECT_EQ(outcome.messages, 3 * kMessagesOfAllReduce + 3 * kMessagesOfTick);
  const double last_tick_s = kStages * kForward_s + 87e-3;
  const double expected_s = last_tick_s + tick_s(2) + kResponse_s + 2 * copy_s(2) +
                            ring_of_two_s(2 * kTensor) + kStages * kUpdate_s;
  EXPECT_NEAR(outcome.iteration_s, expected_s, 1e-9 * expected_s);
}

// Ticks at 18, 30, 42, ... find one tensor each; the last one is at 78 ms, 6 ms after the last
// tensor.
TEST(Horovod, CycleTimeDelays) {
  const Outcome outcome = run("horovod", {{"announce", "computed"}, {"cycle_time", "12ms"}});
  const double expected_s = kStages * (kForward_s + kBackward_s) + 6e-3 + tick_s(1) + kResponse_s +
                            ring_of_two_s(kTensor) + kStages * kUpdate_s;
  EXPECT_NEAR(outcome.iteration_s, expected_s, 1e-9 * expected_s);
}

// With NCCL an all-reduce is queued and the next tick comes in time: one every 6 ms, 3 ms after
// each tensor, although the all-reduce of a tensor, 10.7 ms, is longer than that.
TEST(Horovod, QueuedAllReducesLetTheTicksGoOn) {
  TrainingJob job = six_layer_job(schedule_of("horovod"), {{"announce", "computed"},
                                                           {"cycle_time", "6ms"},
                                                           {"fusion_threshold", "1GiB"},
                                                           {"blocking", "false"}});
  for (TrainingStage& stage : job.stages) stage.parameter_bytes = 128 * kMiB;
  const Outcome queued = all_reduce_outcome("horovod", job, 2, Progress::kHardware);
  EXPECT_EQ(queued.payload_bytes, 2.0 * kStages * 128 * kMiB);
  const double expected_s = kStages * (kForward_s + kBackward_s) + 3e-3 + tick_s(1) + kResponse_s +
                            ring_of_two_s(128 * kMiB) + kStages * kUpdate_s;
  EXPECT_NEAR(queued.iteration_s, expected_s, 1e-9 * expected_s);
}

// The last layer's tensor is queued at 7 ms, the first one's at 12; a tick 2 ms after the first
// finds three, and the thread sits in the wait for their data while the others are queued. The
// second three, not two as with ticks that find all six, are exposed.
TEST(Horovod, AnEarlyTickFindsTheLastLayersAlone) {
  const Outcome outcome = run("horovod", {{"queue_time", "1ms"}, {"cycle_time", "4ms"}});
  EXPECT_EQ(outcome.messages, 2 * kMessagesOfAllReduce + 2 * kMessagesOfTick);
  const double tail_s = kResponse_s + 2 * copy_s(3) + ring_of_two_s(3 * kTensor);
  const double shared_s = 2 * static_cast<double>(3 * kTensor) * 1e-12;
  EXPECT_NEAR(outcome.iteration_s, kCompute_s + tail_s + shared_s, 1e-9 * kCompute_s);
}

// A thread that first looks when the backward pass is over hides nothing.
TEST(Horovod, ALongCycleExposesEverything) {
  const Outcome outcome = run("horovod", {{"cycle_time", "400ms"}});
  // Half a cycle after the first tensor is queued, seven stages' forward and backward passes in.
  const double tick_at_s = 7 * 50e-6 + 200e-3;
  const double expected_s = tick_at_s + tick_s(kStages) + 2 * kResponse_s + 2 * copy_s(4) +
                            ring_of_two_s(4 * kTensor) + 2 * copy_s(2) +
                            ring_of_two_s(2 * kTensor) + kStages * kUpdate_s;
  EXPECT_NEAR(outcome.iteration_s, expected_s, 1e-9 * expected_s);
}

// After the first iteration a tick is a reduce and a broadcast of a bit a tensor, nothing is listed
// and nobody looks a tensor up.
TEST(Horovod, TheResponseCacheMakesATickTwoMessages) {
  const Options computed = {{"announce", "computed"}, {"cycle_time", "12ms"}};
  Options cached = computed;
  cached["response_cache"] = "true";
  const double listed_s = run("horovod", computed).iteration_s;
  const double cached_s = run("horovod", cached).iteration_s;
  const double agree_s = 2 * (kAlpha_s + 1 / kStarBytesPerS);
  EXPECT_NEAR(listed_s - cached_s, tick_s(1) - agree_s, 1e-9 * listed_s);
}

// Each tensor's announcement holds the GPU's stream up; rank 0 tells the other rank before each
// ring, the last of which is exposed. A tick and its pause are what these take at most to be seen.
constexpr double kTickAndPause_s = 20e-6;

TEST(Baidu, CallbacksHoldTheStreamUp) {
  const auto time_s = [](const char* callback) {
    return run("baidu", {{"callback_time", callback}, {"cycle_time", "10us"}}).iteration_s;
  };
  EXPECT_NEAR(time_s("1ms") - time_s("0us"), kStages * 1e-3, kTickAndPause_s);
}

TEST(Baidu, TheCoordinatorTellsOneRankAfterTheOther) {
  const auto time_s = [](const char* answer) {
    return run("baidu", {{"answer_time", answer}, {"cycle_time", "10us"}}).iteration_s;
  };
  EXPECT_NEAR(time_s("500us") - time_s("0us"), 500e-6, kTickAndPause_s);
}

TEST(Baidu, ReducesEveryTensorAlone) {
  const Outcome outcome = run("baidu", {});
  EXPECT_EQ(outcome.payload_bytes, 2.0 * kStages * kTensor);
  EXPECT_EQ(sizes_of_traffic("baidu", six_layer_job(schedule_of("baidu"), {})),
            std::vector<std::int64_t>(kStages, kTensor));
}

// ---- hidden, and exposed ----

// Announced at the start: the last four layers' tensors in one all-reduce under the backward pass
// of the first two, whose own one is exposed, with its copies.
TEST(Horovod, OnlyTheLastGroupIsExposed) {
  const double tail_s = kResponse_s + 2 * copy_s(2) + ring_of_two_s(2 * kTensor);
  // While a copy runs beside a backward kernel, both take twice as long.
  const double shared_s = 2 * static_cast<double>(4 * kTensor) * 1e-12;
  const Outcome outcome = run("horovod", {});
  EXPECT_NEAR(outcome.iteration_s, kCompute_s + tail_s + shared_s, 1e-9 * kCompute_s);
}

TEST(Ddp, OnlyTheLastBucketIsExposed) {
  const Outcome outcome = run("ddp", {{"gradient_as_bucket_view", "true"}});
  EXPECT_EQ(outcome.messages, 4 * kMessagesOfAllReduce);
  EXPECT_EQ(outcome.payload_bytes, 2.0 * kStages * kTensor);
  const double expected_s = kCompute_s + ring_of_two_s(kTensor);
  EXPECT_NEAR(outcome.iteration_s, expected_s, 1e-9 * expected_s);
}

// Gradients are copied into buckets on the GPU's stream, and out of them: the copies of the first
// three buckets out run under the wait for the last one.
TEST(Ddp, CopiesIntoBucketsCost) {
  const double copies_s = static_cast<double>((kStages + 1) * kTensor) * 1e-12;
  const double expected_s = kCompute_s + ring_of_two_s(kTensor) + copies_s;
  EXPECT_NEAR(run("ddp", {}).iteration_s, expected_s, 1e-9 * expected_s);
}

TEST(LayerAllReduce, OnlyTheFirstLayerIsExposed) {
  const double expected_s = kCompute_s + ring_of_two_s(kTensor);
  EXPECT_NEAR(run("layer-all-reduce", {}).iteration_s, expected_s, 1e-9 * expected_s);
}

// Copies in CUDA's default stream wait for all kernels that are queued: the first group, of the
// last four layers, begins two layers' backward passes later than its data allows.
TEST(Horovod, CopiesInTheDefaultStreamWaitForTheBackwardPass) {
  const TrainingJob job = six_layer_job(schedule_of("horovod"), {});
  const auto time_s = [&](bool default_stream) {
    return in_child([&] {
      Stack stack = load_stack("mvapich2-2.3");
      for (SelectionRule& rule : stack.selection["all-reduce"])
        rule.default_stream = default_stream;
      return simulate_training(load_platform("owens"), stack, schedule_of("horovod"),
                               jobs_of(2, job), {})
          .iteration_s;
    });
  };
  const double expected_s = 2 * kBackward_s - kResponse_s - copy_s(4);
  EXPECT_NEAR(time_s(true) - time_s(false), expected_s, 1e-9 * expected_s);
}

TEST(AllReduceSchedules, OneWorkerOnlyComputes) {
  for (const char* name : {"horovod", "baidu", "ddp", "layer-all-reduce"}) {
    const Outcome outcome = run(name, {}, 1);
    EXPECT_NEAR(outcome.iteration_s, kCompute_s, 1e-9 * kCompute_s) << name;
    EXPECT_EQ(outcome.messages, 0) << name;
  }
}

// ---- on whose progress it hinges ----

// The background or main thread sits in the all-reduce: nobody else need progress it.
TEST(AllReduceSchedules, ThreadsInsideTheCallNeedNoHelp) {
  for (const char* name : {"horovod", "baidu", "layer-all-reduce"}) {
    const double hardware_s = run(name, {}, 4).iteration_s;
    const double calls_s = run(name, {}, 4, Progress::kInsideCalls).iteration_s;
    EXPECT_NEAR(calls_s, hardware_s, 1e-9 * hardware_s) << name;
  }
}

// DDP's main thread starts and goes on: without progress, the buckets before the last, 5 tensors,
// are reduced at the end but for messages of their first rounds.
TEST(Ddp, NeedsProgressFromOutside) {
  const double hardware_s = run("ddp", {}, 2).iteration_s;
  const double calls_s = run("ddp", {}, 2, Progress::kInsideCalls).iteration_s;
  EXPECT_GT(calls_s, hardware_s + 0.4 * ring_of_two_s(5 * kTensor));
}

// ---- pointer cache ----

// Eight bytes on four ranks, recursive doubling: three queries a call, and in each of two rounds
// one at either end of the message.
TEST(PointerCache, SavesTheDriversQueries) {
  constexpr double kQuery_s = 1.9e-6;
  const auto time_s = [](const char* stack) {
    return in_child([&] {
      Platform platform = load_platform("owens");
      return simulate_collective(platform, load_stack(stack), all_reduce(8, "eight bytes"), 4, {})
          .time_s;
    });
  };
  const double saved_s = time_s("mvapich2-gdr-opt-no-pointer-cache") - time_s("mvapich2-gdr-opt");
  EXPECT_NEAR(saved_s, (3 + 2 * 2) * kQuery_s, 1e-9);
}

}  // namespace
}  // namespace forescale::testing
