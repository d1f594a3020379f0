// MPI collectives in MXNet's graphs, CaffeGPI's turns, Intel-Caffe and NVIDIA Caffe, small enough
// for arithmetic by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "algorithms/steps/training_steps.hpp"
#include "algorithms/system.hpp"
#include "sim/engine/lanes.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

using ::testing::HasSubstr;

struct MadeUpLayer {
  double forward_s = 0;
  double backward_s = 0;
  std::int64_t bytes = 0;
};

// Nothing but what is said costs time: no copies, no additions, no updates.
TrainingJob layered_job(const Schedule& schedule, const std::vector<MadeUpLayer>& layers,
                        int iterations, const std::map<std::string, std::string>& options = {}) {
  TrainingJob job;
  job.iterations = iterations;
  job.options = ScheduleOptions::parse(schedule.options, options, "test");
  job.host.stages_through_host = false;
  for (size_t i = 0; i < layers.size(); ++i)
    job.stages.push_back({.name = fmt::format("layer{}", i),
                          .forward_s = layers[i].forward_s,
                          .backward_s = layers[i].backward_s,
                          .update_s = 0,
                          .parameter_bytes = layers[i].bytes});
  return job;
}

// ---- MXNet: two ranks, all latency ----
//
// A ring all-reduce of 2 ranks is two exchanges of alpha = 1 ms each, and 8 bytes are 0.3 ns: a key
// takes c = 2 ms. Four channels: concurrent all-reduces share nothing.
constexpr const char* kSlowStar = "star:hosts=2,bandwidth=25GB/s,latency=1ms";
constexpr const char* kConcurrent = "ideal:channels=4";
constexpr double kKey_s = 2e-3;
constexpr double kRounding_s = 1e-7;

std::vector<MadeUpLayer> five_layers() { return std::vector<MadeUpLayer>(5, {3e-3, 6e-3, 8}); }

double mxnet_s(const std::string& name, const std::vector<MadeUpLayer>& layers,
               const std::map<std::string, std::string>& options = {}) {
  const Schedule& schedule = schedule_of(name);
  return iteration_s(load_platform(kSlowStar), load_stack(kConcurrent), schedule, 2,
                     layered_job(schedule, layers, 4, options));
}

// Forward 5 x 3, backward 5 x 6. Funnel: five keys in turn. ConCum, 4 outstanding: key 0 and a
// barrier of one more all-reduce, keys 1 to 4 at once and a barrier. DepCha: key k ends 2 (k + 1)
// ms after the backward pass, forward passes follow from 2 ms on without a gap.
TEST(MxnetOrder, DepChaBeatsConCumBeatsFunnel) {
  const double funnel_s = mxnet_s("mxnet-funnel", five_layers());
  const double concum_s = mxnet_s("mxnet-concum", five_layers(), {{"outstanding", "4"}});
  const double depcha_s = mxnet_s("mxnet-depcha", five_layers());
  EXPECT_NEAR(funnel_s, 15e-3 + 30e-3 + 5 * kKey_s, kRounding_s);
  EXPECT_NEAR(concum_s, 15e-3 + 30e-3 + 2 * (kKey_s + kKey_s), kRounding_s);
  EXPECT_NEAR(depcha_s, 30e-3 + kKey_s + 15e-3, kRounding_s);
}

// Ordered all-reduces by one thread, each followed by MPI_Barrier.
void ordered(Worker& worker, const TrainingJob& job) {
  for (int iteration = 0; iteration < job.iterations; ++iteration) {
    take_batch(worker);
    for (const TrainingStage& stage : job.stages) worker.run(forward(stage));
    for (size_t i = job.stages.size(); i-- > 0;) worker.run(backward(job.stages[i]));
    for (const TrainingStage& stage : job.stages)
      for (const std::int64_t bytes : {stage.parameter_bytes, std::int64_t{4}}) {
        CollectiveStep step;
        step.op = CollectiveOp::kAllReduce;
        step.bytes = bytes;
        step.control = bytes == 4;
        worker.run(step);
      }
    worker.end_iteration();
  }
}

TEST(MxnetConCum, OneOutstandingIsOrderedAllReduces) {
  const Schedule chain = {.name = "ordered", .summary = "", .source = "", .run = ordered};
  for (const int layers : {1, 2, 5}) {
    const std::vector<MadeUpLayer> network(static_cast<size_t>(layers), {3e-3, 6e-3, 40'000'000});
    const double ordered_s = iteration_s(load_platform(kSlowStar), load_stack(kConcurrent), chain,
                                         2, layered_job(chain, network, 4));
    EXPECT_NEAR(mxnet_s("mxnet-concum", network, {{"outstanding", "1"}}), ordered_s,
                1e-9 * ordered_s)
        << layers;
  }
}

// n equal layers. DepCha is a pipeline of all-reduce and forward pass:
// T = b + c/n + (n - 1) max(c/n, f/n) + f/n; Funnel: T = f + b + c. Its lead is widest where c = f
// and goes where there is nothing to hide under.
TEST(MxnetDepCha, LeadDependsOnComputeToHideUnder) {
  struct Case {
    double forward_s;
    double lead;  // Funnel over DepCha, of 5 layers with backward twice forward
  };
  for (const auto& [forward_s, lead] : {Case{20e-3, 310e-3 / 302e-3},   // c = f / 10
                                        Case{2e-3, 40e-3 / 32e-3},      // c = f: the most
                                        Case{0.2e-3, 13e-3 / 12.2e-3},  // c = 10 f
                                        Case{2e-6, 1.003e-2 / 1.0022e-2}}) {
    const std::vector<MadeUpLayer> network(5, {forward_s, 2 * forward_s, 8});
    const double ratio = mxnet_s("mxnet-funnel", network) / mxnet_s("mxnet-depcha", network);
    EXPECT_NEAR(ratio, lead, 1e-4) << forward_s;
  }
}

// The paper's CIFAR: a fixed batch on more GPUs. Recursive doubling takes log2(P) alpha a key; from
// 8 to 32 GPUs compute falls to a quarter. With c = f at 8 the lead is 60/48, at 32 c is 6.7 f and
// it is 36.25/33.25: nothing to hide under.
TEST(MxnetDepCha, LeadNarrowsWhereCommunicationOutgrowsCompute) {
  const auto lead = [](int gpus, double forward_s) {
    const auto time_s = [&](const char* name) {
      const Schedule& schedule = schedule_of(name);
      const TrainingJob job =
          layered_job(schedule, std::vector<MadeUpLayer>(5, {forward_s, 2 * forward_s, 8}), 4);
      SessionOptions options;
      options.choices[CollectiveOp::kAllReduce] =
          parse_plan("all-reduce/recursive-doubling", "test");
      return in_child([&] {
        return simulate_training(load_platform("star:hosts=32,bandwidth=25GB/s,latency=1ms"),
                                 load_stack("ideal"), schedule, jobs_of(gpus, job), options)
            .iteration_s;
      });
    };
    return time_s("mxnet-funnel") / time_s("mxnet-depcha");
  };
  EXPECT_NEAR(lead(8, 3e-3), 60 / 48.0, 1e-4);
  EXPECT_NEAR(lead(32, 0.75e-3), 36.25 / 33.25, 1e-4);
}

// Section 2.3 of the paper: two tensors pushed in different order.
TEST(MxnetOrder, DifferentOrdersOnTwoRanksAreReported) {
  Schedule naive = {.name = "naive", .summary = "", .source = ""};
  naive.run = [](Worker& worker, const TrainingJob& job) {
    const bool swapped = worker.rank() == 1;
    for (const size_t key : {size_t{swapped}, size_t{!swapped}}) {
      CollectiveStep step;
      step.op = CollectiveOp::kAllReduce;
      step.bytes = job.stages[key].parameter_bytes;
      step.label = job.stages[key].name;
      worker.run(step);
    }
  };
  const TrainingJob job = layered_job(naive, {{0, 0, 800}, {0, 0, 400}}, 2);
  const std::string text = error_in_child<SimulationStuck>(
      [&] { outcome_of(load_platform(kSlowStar), load_stack(kConcurrent), naive, 2, job); });
  EXPECT_THAT(text, HasSubstr("collectives in different order on communicator 0"));
  EXPECT_THAT(text, HasSubstr("800 bytes (\"layer0\""));
  EXPECT_THAT(text, HasSubstr("400 bytes (\"layer1\""));
}

// The same where every tensor has a communicator: both ranks wait for each other for good.
TEST(MxnetOrder, BlockingInDifferentOrderDeadlocks) {
  Schedule naive = {.name = "naive", .summary = "", .source = ""};
  naive.run = [](Worker& worker, const TrainingJob& job) {
    for (int i = 0; i < 2; ++i) {
      CollectiveStep step;
      step.op = CollectiveOp::kAllReduce;
      step.bytes = job.stages.front().parameter_bytes;
      step.communicator = worker.rank() == 0 ? i : 1 - i;
      worker.run(step);
    }
  };
  const TrainingJob job = layered_job(naive, {{0, 0, 800}}, 2);
  const std::string text = error_in_child<SimulationStuck>(
      [&] { outcome_of(load_platform(kSlowStar), load_stack(kConcurrent), naive, 2, job); });
  EXPECT_THAT(text, HasSubstr("rank 0 (main thread) waits for all-reduce"));
  EXPECT_THAT(text, HasSubstr("rank 1 (main thread) waits for all-reduce"));
}

// Four GPUs of a node in one process: all-reduces among the leaders only. Two nodes, one key of
// 40 MB: 2 processes reduce and broadcast, 2 leaders all-reduce.
TEST(MxnetProcess, LeadersAllReduceForTheirGpus) {
  const Schedule& schedule = schedule_of("mxnet-funnel");
  const TrainingJob job =
      layered_job(schedule, {{1e-3, 2e-3, 40'000'000}}, 3, {{"gpus_per_process", "4"}});
  const std::vector<int> nodes = {0, 0, 0, 0, 1, 1, 1, 1};
  const Traffic traffic = schedule.traffic(job, 8, nodes);
  ASSERT_EQ(traffic.collectives.size(), 5u);
  const CollectiveStep& all_reduce = traffic.collectives.back();
  EXPECT_EQ(all_reduce.op, CollectiveOp::kAllReduce);
  EXPECT_EQ(*all_reduce.group, (std::vector<int>{0, 4}));
  EXPECT_TRUE(all_reduce.on_host);
  // In one process of a node each byte moves 3 times up and 3 down; 2 leaders exchange 2 x 40 MB.
  const double bytes = in_child([&] {
    return outcome_of(load_platform("taurus-smp4"), load_stack("mpi-host-edr"), schedule, 8, job)
        .bytes_sent;
  });
  EXPECT_EQ(bytes, 3 * (2 * 6 + 2) * 40e6);
}

// ---- CaffeGPI ----
//
// No latency; 1 GB/s: a tensor of 4 MB takes 4 ms.
constexpr std::int64_t kGpiTensor = 4'000'000;
std::string fast_star(int hosts) {
  return fmt::format("star:hosts={},bandwidth=1GB/s,latency=0us", hosts);
}

TEST(CaffeGpi, TreesCarryTheModelOnceUpAndOnceDown) {
  const Schedule& schedule = schedule_of("caffe-gpi");
  const auto pairs = [&](int ranks, const std::string& tree) {
    const TrainingJob job = layered_job(schedule, {{0, 0, kGpiTensor}, {0, 0, 2 * kGpiTensor}}, 3,
                                        {{"model_tree", tree}});
    return schedule.traffic(job, ranks, std::vector<int>(static_cast<size_t>(ranks), 0)).messages;
  };
  using Pairs = std::map<std::pair<int, int>, double>;
  const double model = 3.0 * kGpiTensor;
  // Up: 1 -> 0, 2 -> 0, 3 -> 1. Down: 3 branches, one level: 3 hops; 2 branches would be 4.
  EXPECT_EQ(pairs(4, "fewest-hops"), (Pairs{{{1, 0}, model},
                                            {{2, 0}, model},
                                            {{3, 1}, model},
                                            {{0, 1}, model},
                                            {{0, 2}, model},
                                            {{0, 3}, model}}));
  EXPECT_EQ(pairs(4, "binomial").at({1, 3}), model);
  for (const int ranks : {2, 3, 4, 7, 16}) {
    const TrainingJob job = layered_job(schedule, {{0, 0, kGpiTensor}, {0, 0, 2 * kGpiTensor}}, 3);
    EXPECT_EQ(in_child([&] {
                return outcome_of(load_platform(fast_star(ranks)), load_stack("ideal"), schedule,
                                  ranks, job)
                    .bytes_sent;
              }),
              3 * 2 * (ranks - 1) * model)
        << ranks;
  }
}

// Rank 1 sends its last gradient when its backward pass ends, 6 + 12 ms after its start; 4 ms later
// the master has it, 4 ms later rank 1 has the model. The other tensor's way is hidden.
TEST(CaffeGpi, LastTensorsWayUpAndDownIsExposed) {
  const Schedule& schedule = schedule_of("caffe-gpi");
  const TrainingJob job =
      layered_job(schedule, {{3e-3, 6e-3, kGpiTensor}, {3e-3, 6e-3, kGpiTensor}}, 6);
  EXPECT_NEAR(iteration_s(load_platform(fast_star(2)), load_stack("ideal"), schedule, 2, job),
              18e-3 + 4e-3 + 4e-3, 1e-9);
}

// The master's port serves rank 1, then rank 2: rank 1 starts its next iteration 4 ms earlier, and
// its gradient is in when rank 2's comes. With a barrier both would wait for the second model and
// meet again at the master's port: 9 + 8 + 8 ms.
TEST(CaffeGpi, NoBarrierBetweenIterations) {
  const Schedule& schedule = schedule_of("caffe-gpi");
  const TrainingJob job = layered_job(schedule, {{3e-3, 6e-3, kGpiTensor}}, 8);
  EXPECT_NEAR(iteration_s(load_platform(fast_star(3)), load_stack("ideal"), schedule, 3, job),
              9e-3 + 4e-3 + 8e-3, 1e-9);
}

// A copy to or from the GPU waits for every kernel that was launched. First iteration, two ranks:
// the gradient of the last layer, 8 MB, arrives 6 + 8 ms into the backward pass, when the master
// has launched its other 20 ms: it updates at 26 ms, whether that is one layer or two. Then the
// model takes 8 ms.
TEST(CaffeGpi, CopiesWaitForAllThatWasLaunched) {
  const Schedule& schedule = schedule_of("caffe-gpi");
  const auto first_s = [&](const std::vector<MadeUpLayer>& layers) {
    return in_child([&] {
      return outcome_of(load_platform(fast_star(2)), load_stack("ideal"), schedule, 2,
                        layered_job(schedule, layers, 2))
          .periods_s.front();
    });
  };
  const MadeUpLayer last = {0, 6e-3, 8'000'000};
  EXPECT_NEAR(first_s({{0, 20e-3, 0}, last}), 26e-3 + 8e-3, 1e-9);
  EXPECT_NEAR(first_s({{0, 10e-3, 0}, {0, 10e-3, 0}, last}), 26e-3 + 8e-3, 1e-9);
}

// The master adds rank 1's gradient and scales the sum: 0.75 and two thirds of 0.75 ns a byte of
// 4 MB.
TEST(CaffeGpi, OneThreadAddsAndScales) {
  const Schedule& schedule = schedule_of("caffe-gpi");
  TrainingJob job = layered_job(schedule, {{3e-3, 6e-3, kGpiTensor}}, 6);
  job.host.add_s_per_byte = 0.75e-9;
  EXPECT_NEAR(iteration_s(load_platform(fast_star(2)), load_stack("ideal"), schedule, 2, job),
              9e-3 + 4e-3 + 3e-3 + 2e-3 + 4e-3, 1e-9);
}

// Models that each of four ranks copies between its GPU and its host in six iterations. The master:
// gradient, sum and model to the GPU, and from the second iteration on the model to the host. All
// others: gradient, and from the second iteration on the model; rank 1, which adds rank 3's, its
// gradient back too.
TEST(CaffeGpi, CopiesBetweenGpuAndHost) {
  const Schedule& schedule = schedule_of("caffe-gpi");
  const std::vector<double> models = numbers_in_child([&] {
    TrainingJob job =
        layered_job(schedule, std::vector<MadeUpLayer>(4, {3e-3, 6e-3, kGpiTensor}), 6);
    job.host.stages_through_host = true;
    Timeline timeline;
    simulate_training(load_platform("taurus-smp4"), load_stack("gpi-2"), schedule, jobs_of(4, job),
                      {.choices = {}, .timeline = &timeline, .noise = {}});
    std::vector<double> bytes(4);
    for (const Span& span : timeline.spans())
      if (span.track == Track::kCopy)
        bytes[static_cast<size_t>(span.rank)] += static_cast<double>(span.bytes);
    for (double& sum : bytes) sum /= 4 * kGpiTensor;
    return bytes;
  });
  EXPECT_THAT(models, ::testing::ElementsAre(6 * 3 + 5, 6 + 5 + 5, 6 + 5, 6 + 5));
}

// Inside a node the adapter moves the bytes: down and up its PCIe link, not over the fabric.
TEST(CaffeGpi, RanksOfANodeTalkThroughTheAdapter) {
  const Platform platform = load_platform("taurus-smp4");
  const Stack stack = load_stack("gpi-2");
  const Lanes lanes(platform, stack);
  const auto names = [&](int from, int to) {
    std::vector<std::string> list;
    for (const Resource& resource : lanes.lane(from, to, BufferPlace::kHost, kGpiTensor).resources)
      list.push_back(lanes.name(resource));
    return list;
  };
  using ::testing::Contains;
  using ::testing::Not;
  EXPECT_THAT(names(0, 1), Contains("node0/cpu0 -> node0/nic0"));
  EXPECT_THAT(names(0, 1), Contains("node0/nic0 -> node0/cpu0"));
  EXPECT_THAT(names(0, 3), Contains("node0/cpu0 -> node0/cpu1"));
  EXPECT_THAT(names(0, 4), Not(Contains("node0/nic0 -> node0/cpu0")));
  EXPECT_THAT(error_in_child<InputError>([&] {
                const Platform without = load_platform("pcie:gpu=k80");
                Lanes(without, stack).lane(0, 1, BufferPlace::kHost, kGpiTensor);
              }),
              HasSubstr("network adapter"));
}

// ---- Intel-Caffe ----

// Two ranks, two layers of 4 MB: each all-reduce is two exchanges of 2 MB at 1 GB/s, 4 ms. That of
// layer 1 starts 6 ms into the backward pass and a copy later, and ends under the other layer's
// 6 + 1 ms; that of layer 0 is waited for; then sums are copied back and applied, layer by layer.
TEST(IntelCaffe, AllReducesUnderTheBackwardPassAndUpdatesAfterIt) {
  const Schedule& schedule = schedule_of("intel-caffe");
  TrainingJob job = layered_job(schedule, std::vector<MadeUpLayer>(2, {3e-3, 6e-3, kGpiTensor}), 4);
  job.host.copy_s_per_byte = 0.25e-9;  // 1 ms
  job.stages[0].update_s = 0.5e-3;
  job.stages[1].update_s = 0.5e-3;
  const double compute_s = 2 * 9e-3 + 0.5e-3;  // the first update runs under the second copy
  EXPECT_NEAR(iteration_s(load_platform(fast_star(2)), load_stack("ideal"), schedule, 2, job),
              compute_s + 2 * 1e-3 + 4e-3 + 2 * 1e-3, 1e-9);
}

// Copies between GPU and host alternate with the layers.
TEST(IntelCaffe, CopiesAddToComputing) {
  const Schedule& schedule = schedule_of("intel-caffe");
  TrainingJob job =
      layered_job(schedule, std::vector<MadeUpLayer>(3, {3e-3, 60e-3, 20 * kGpiTensor}), 4);
  const std::string platform = "owens";  // one GPU a node
  const double without_s =
      iteration_s(load_platform(platform), load_stack("intel-mlsl-2017"), schedule, 2, job);
  job.host.stages_through_host = true;
  const double with_s =
      iteration_s(load_platform(platform), load_stack("intel-mlsl-2017"), schedule, 2, job);
  const GpuModel gpu = load_platform(platform).gpu_models.front();
  const double copy_s =
      20 * kGpiTensor / gpu.host_copy.value + gpu.kernel_launch.value + gpu.synchronize.value;
  EXPECT_NEAR(with_s - without_s, 3 * 2 * copy_s, 0.02 * copy_s);
}

// ---- Caffe's tree ----

// Parents by BVLC Caffe's rule (parallel.cpp at e8c42213, DevicePair::compute): GPUs of a board are
// paired, the second goes under the first; then those that reach each other; then the rest, in
// rounds of neighbours.
std::vector<int> caffe_parents(int gpus, int per_board, int per_socket) {
  std::vector<int> parents(static_cast<size_t>(gpus), -1);
  std::vector<int> remaining = first_ranks(gpus);
  for (const int together : {per_board, per_socket, gpus})
    for (bool paired = true; paired;) {
      paired = false;
      for (size_t i = 0; i + 1 < remaining.size(); ++i)
        if (remaining[i] / together == remaining[i + 1] / together) {
          parents[static_cast<size_t>(remaining[i + 1])] = remaining[i];
          remaining.erase(remaining.begin() + static_cast<std::ptrdiff_t>(i) + 1);
          paired = true;
        }
    }
  return parents;
}

// With GPUs numbered board by board and socket by socket it is the binomial tree by rank.
TEST(Caffe, TreeByBoardsIsTheBinomialOne) {
  const Collective& binomial = find_collective(CollectiveOp::kReduce, "binomial", "test");
  for (const int gpus : {2, 4, 8, 16}) {
    std::vector<int> parents(static_cast<size_t>(gpus), -1);
    for (int rank = 0; rank < gpus; ++rank)
      for (OpStream ops = binomial.plan({.rank_count = gpus, .bytes = 8}, rank); ops.next();)
        if (ops.op().kind == OpKind::kSend) parents[static_cast<size_t>(rank)] = ops.op().peer;
    EXPECT_EQ(parents, caffe_parents(gpus, 2, std::max(2, gpus / 2))) << gpus;
  }
}

// ---- NVIDIA Caffe ----

// Two GPUs: broadcast, compute, all-reduce and update follow each other.
TEST(NvidiaCaffe, IterationIsTheSumOfItsParts) {
  const Schedule& schedule = schedule_of("nvidia-caffe");
  const Platform platform = load_platform("pcie:gpu=k80");
  const Stack stack = load_stack("nccl-1-pcie");
  TrainingJob job =
      layered_job(schedule, std::vector<MadeUpLayer>(3, {3e-3, 6e-3, 10 * kGpiTensor}), 3);
  job.stages.front().update_s = 2e-3;
  double sum_s = 3 * 9e-3 + 2e-3;
  for (const CollectiveStep& step : schedule.traffic(job, 2, {0, 0}).collectives)
    sum_s += in_child([&] { return simulate_collective(platform, stack, step, 2, {}).time_s; });
  EXPECT_NEAR(
      iteration_s(load_platform("pcie:gpu=k80"), load_stack("nccl-1-pcie"), schedule, 2, job),
      sum_s, 1e-9 * sum_s);
}

// ---- Worker::wait_any ----

TEST(WaitAny, ReturnsAtTheFirst) {
  Schedule schedule = {.name = "waits", .summary = "", .source = ""};
  schedule.run = [](Worker& worker, const TrainingJob& job) {
    for (int iteration = 0; iteration < job.iterations; ++iteration) {
      take_batch(worker);
      const std::vector<Request> timers = {worker.timer(5e-3), worker.timer(2e-3),
                                           worker.timer(9e-3)};
      worker.wait_any(timers);
      worker.wait_any(timers);  // one is done: at once
      EXPECT_TRUE(worker.test(timers[1]));
      EXPECT_FALSE(worker.test(timers[0]));
      worker.end_iteration();
    }
  };
  const TrainingJob job = layered_job(schedule, {}, 3);
  EXPECT_NEAR(iteration_s(load_platform(kSlowStar), load_stack("ideal"), schedule, 1, job), 2e-3,
              1e-12);
}

}  // namespace
}  // namespace forescale::testing
