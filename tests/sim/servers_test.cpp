// Parameter servers on simulated clusters: by-hand times and bytes, what a single service thread,
// requests, stragglers and progress inside calls cost, who keeps what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "algorithms/parameter_servers/server_steps.hpp"
#include "algorithms/schedule.hpp"
#include "sim/predict.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

using ::testing::HasSubstr;

constexpr double kWorkerForward_s = 4e-3;
constexpr double kWorkerBackward_s = 8e-3;

// Layers of `tensor_bytes` each, computing 4 + 8 ms, on hosts without GPUs.
TrainingJob tensor_job(const Schedule& schedule, const std::vector<std::int64_t>& tensor_bytes,
                       const std::map<std::string, std::string>& options = {}) {
  TrainingJob job;
  for (size_t i = 0; i < tensor_bytes.size(); ++i)
    job.stages.push_back({.name = fmt::format("layer{}", i),
                          .forward_s = kWorkerForward_s,
                          .backward_s = kWorkerBackward_s,
                          .parameter_bytes = tensor_bytes[i],
                          .tensor_bytes = {tensor_bytes[i]}});
  job.iterations = schedule.iterations;
  job.options = ScheduleOptions::parse(schedule.options, options, "test");
  job.host.stages_through_host = false;
  return job;
}

struct Simulated {
  double iteration_s = 0;
  double payload_bytes = 0;  // of all iterations
  double control_bytes = 0;
};

struct Served {
  std::string schedule = "parameter-server";
  std::string stack = "ideal";
  int workers = 1;
  int servers = 1;
  double slow_factor = 1;  // of the last worker's compute
};

// Workers on the first hosts of a star, servers on the next ones.
TrainingOutcome served_outcome(const Served& setting, const TrainingJob& job) {
  const int ranks = setting.workers + setting.servers;
  TrainingJob slow = job;
  for (TrainingStage& stage : slow.stages) {
    stage.forward_s *= setting.slow_factor;
    stage.backward_s *= setting.slow_factor;
  }
  TrainingJobs jobs = jobs_of(ranks, job);
  jobs[static_cast<size_t>(setting.workers - 1)] = jobs_of(1, slow).front();
  SessionOptions options;
  options.workers = setting.workers;
  return simulate_training(load_platform(star_of(ranks)), load_stack(setting.stack),
                           schedule_of(setting.schedule), jobs, options);
}

Simulated simulate(const Served& setting, const TrainingJob& job) {
  const std::vector<double> numbers = numbers_in_child([&] {
    const TrainingOutcome outcome = served_outcome(setting, job);
    return std::vector<double>{outcome.iteration_s, outcome.bytes_sent - outcome.control_bytes,
                               outcome.control_bytes};
  });
  return {.iteration_s = numbers[0], .payload_bytes = numbers[1], .control_bytes = numbers[2]};
}

// ---- by hand: one packed buffer of B bytes between W workers and their servers ----

constexpr std::int64_t kPackedBytes = 12500000;  // 1 ms on the star's 12.5 GB/s links
constexpr double kTransfer_s = kAlpha_s + kPackedBytes / kStarBytesPerS;

// W gradients come in one after the other, all but the first are added while the next one comes,
// then an update, then W copies go out. The last one starts its forward pass when its copy is
// there; the first one's iteration is as long, because its gradient waits for the others'.
TEST(ParameterServer, OneServerByHand) {
  TrainingJob job =
      tensor_job(schedule_of("parameter-server"), {kPackedBytes}, {{"push", "packed"}});
  const double compute_s = kWorkerForward_s + kWorkerBackward_s;
  // One worker: there and back.
  EXPECT_NEAR(simulate({.workers = 1}, job).iteration_s, compute_s + 2 * kTransfer_s, 1e-9);
  job.host.add_s_per_byte = 0.25 / kStarBytesPerS;  // 0.25 ms
  job.host.update_s_per_byte = 2 * job.host.add_s_per_byte;
  EXPECT_NEAR(simulate({.workers = 1}, job).iteration_s,
              compute_s + 2 * kTransfer_s + 2 * 0.25 * kPackedBytes / kStarBytesPerS, 1e-9);
  // Four: the staggered returns stagger the next gradients alike, so that the port is free when
  // each comes: the last is added and all updated before the first copy leaves, and a worker waits
  // for (W - 1) transfers between its gradient's arrival and its copy's departure.
  const double four_s = simulate({.workers = 4}, job).iteration_s;
  const double add_s = 0.25 * kPackedBytes / kStarBytesPerS;
  EXPECT_NEAR(four_s, compute_s + 2 * kTransfer_s + add_s + 2 * add_s + 3 * kTransfer_s, 1e-8);
}

TEST(ParameterServer, TwoServersHalveWhatOneMoves) {
  const auto options = [](const char* sharding) {
    return std::map<std::string, std::string>{{"push", "packed"}, {"sharding", sharding}};
  };
  const TrainingJob striped =
      tensor_job(schedule_of("parameter-server"), {kPackedBytes}, options("striped"));
  const double compute_s = kWorkerForward_s + kWorkerBackward_s;
  // One worker sends two halves after each other, and gets them back after each other: the second
  // half goes out while the first comes back.
  const double half_s = kAlpha_s + kPackedBytes / 2 / kStarBytesPerS;
  EXPECT_NEAR(simulate({.workers = 1, .servers = 2}, striped).iteration_s, compute_s + 3 * half_s,
              1e-9);
  // Four workers: with one server, 4 transfers wait at its port; with two, half of that.
  const double one_s = simulate({.workers = 4, .servers = 1}, striped).iteration_s;
  const double two_s = simulate({.workers = 4, .servers = 2}, striped).iteration_s;
  EXPECT_LT(two_s - compute_s, 0.7 * (one_s - compute_s));
}

// ---- bytes: the simulation moves what the schedule's definition says ----

class ServerSchedules : public ::testing::TestWithParam<const char*> {};

TEST_P(ServerSchedules, MoveTheirTraffic) {
  const std::string name = GetParam();
  const std::vector<std::int64_t> tensors = {4000, 1000001, 40, 8000000, 123456};
  for (const int servers : {1, 3}) {
    TrainingJob job =
        tensor_job(schedule_of(name), tensors, {{"servers", std::to_string(servers)}});
    job.host.request_bytes = 100;
    const Traffic traffic = schedule_of(name).traffic(job, 3, {});
    double payload = 0;
    for (const auto& [pair, bytes] : traffic.messages) payload += bytes;
    EXPECT_DOUBLE_EQ(payload, 2.0 * 3 * std::accumulate(tensors.begin(), tensors.end(), 0.0));
    const Simulated moved = simulate({.schedule = name, .workers = 3, .servers = servers}, job);
    EXPECT_DOUBLE_EQ(moved.payload_bytes, job.iterations * payload) << servers;
    EXPECT_GT(moved.control_bytes, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ServerSchedules,
                         ::testing::Values("parameter-server", "parameter-server-async", "kvstore",
                                           "grpc-pull"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::erase(name, '-');
                           return name;
                         });

// ---- asynchronous servers have no barrier ----

TEST(Asynchronous, AStragglerSlowsOnlyItself) {
  const std::map<std::string, std::string> options = {{"push", "packed"}};
  const auto period_s = [&](const char* name, double slow_factor) {
    return simulate({.schedule = name, .workers = 4, .slow_factor = slow_factor},
                    tensor_job(schedule_of(name), {1000}, options))
        .iteration_s;
  };
  const double compute_s = kWorkerForward_s + kWorkerBackward_s;
  // All wait for the slow one; or three of four workers keep their rate.
  EXPECT_NEAR(period_s("parameter-server", 4), 4 * compute_s, 0.01 * compute_s);
  EXPECT_NEAR(period_s("parameter-server-async", 4), 4 * compute_s / (3 + 1.0 / 4),
              0.01 * compute_s);
  EXPECT_NEAR(period_s("parameter-server-async", 1), compute_s, 0.01 * compute_s);
}

// ---- layers: pushed under backward, pulled before their forward pass ----

TEST(ParameterServer, LayersHideWhatPackedDoesNot) {
  const std::vector<std::int64_t> tensors(6, kPackedBytes);
  const auto period_s = [&](const char* push) {
    return simulate({.workers = 2},
                    tensor_job(schedule_of("parameter-server"), tensors, {{"push", push}}))
        .iteration_s;
  };
  const double compute_s = 6 * (kWorkerForward_s + kWorkerBackward_s);
  // Only the first layer's gradient and parameters have nothing to hide under; there are two
  // workers to serve.
  EXPECT_LT(period_s("layers"), compute_s + 4 * kTransfer_s);
  EXPECT_GT(period_s("packed"), compute_s + 2 * 6 * kTransfer_s);
}

// A server sits in its receives and sends, so pushes move on; the parameters that come under the
// backward and the forward pass need somebody at the worker.
TEST(ParameterServer, WithoutProgressPullsWaitForTheirLayer) {
  const std::vector<std::int64_t> tensors(6, kPackedBytes);
  const TrainingJob job = tensor_job(schedule_of("parameter-server"), tensors);
  const double free_s = in_child([&] { return served_outcome({.workers = 1}, job).iteration_s; });
  const double calls_s = in_child([&] {
    Stack stack = load_stack("ideal");
    stack.progress = Progress::kInsideCalls;
    SessionOptions options;
    options.workers = 1;
    return simulate_training(load_platform(star_of(2)), stack, schedule_of("parameter-server"),
                             jobs_of(2, job), options)
        .iteration_s;
  });
  const double compute_s = 6 * (kWorkerForward_s + kWorkerBackward_s);
  // With progress, all but the first layer's exchange is hidden. Without, no parameters arrive
  // while the worker computes: each layer's come when it waits for them.
  EXPECT_NEAR(free_s, compute_s + 2 * kTransfer_s, 1e-9);
  EXPECT_GT(calls_s, free_s + kTransfer_s);
  EXPECT_LT(calls_s, free_s + 6 * kTransfer_s);
}

// ---- gRPC: requests, service threads ----

TEST(GrpcPull, RequestOverheadIsCounted) {
  const std::vector<std::int64_t> tensors(8, 100000);
  TrainingJob job = tensor_job(schedule_of("grpc-pull"), tensors, {{"servers", "1"}});
  job.host.request_bytes = 200;
  const Served one = {.schedule = "grpc-pull", .workers = 1, .servers = 1};
  const Simulated cheap = simulate(one, job);
  job.host.request_s = 1e-3;
  const Simulated dear = simulate(one, job);
  // 8 requests for parameters, 8 for gradients, and one message at the end, every step.
  EXPECT_DOUBLE_EQ(cheap.control_bytes, job.iterations * (8 + 8 + 1) * 200);
  // One thread at each end: before the first layer starts the server has handled one request and
  // the worker at least one; the last gradient costs two more.
  EXPECT_GE(dear.iteration_s, cheap.iteration_s + 4 * 1e-3);
}

TEST(GrpcPull, OneServiceThreadIsSlowerThanEight) {
  const std::vector<std::int64_t> tensors(16, 1000000);
  TrainingJob job = tensor_job(schedule_of("grpc-pull"), tensors, {{"servers", "2"}});
  job.host.request_bytes = 200;
  job.host.request_s = 1e-4;
  job.host.encode_s_per_byte = job.host.decode_s_per_byte = 1 / 6e9;
  for (TrainingStage& stage : job.stages) stage.forward_s = stage.backward_s = 1e-4;
  const Served setting = {
      .schedule = "grpc-pull", .stack = "ideal:channels=8", .workers = 8, .servers = 2};
  job.host.threads = 8;
  const double eight_s = simulate(setting, job).iteration_s;
  job.host.threads = 1;
  const double one_s = simulate(setting, job).iteration_s;
  EXPECT_GT(one_s, 1.5 * eight_s);
  // A server's thread handles 8 tensors of 8 workers each way, one after the other.
  EXPECT_GE(one_s, 2 * 8 * 8 * (1e-4 + 1e6 / 6e9));
}

TEST(GrpcPull, TheLargestTensorsServerIsTheBottleneck) {
  // A tensor lives whole on one server: more servers do not help it.
  const std::vector<std::int64_t> tensors = {1000, 40 * 1000000, 1000, 1000};
  const auto period_s = [&](int servers) {
    TrainingJob job =
        tensor_job(schedule_of("grpc-pull"), tensors, {{"servers", std::to_string(servers)}});
    return simulate({.schedule = "grpc-pull", .workers = 8, .servers = servers}, job).iteration_s;
  };
  EXPECT_NEAR(period_s(8), period_s(2), 0.01 * period_s(2));
  EXPECT_GE(period_s(8), 2 * 8 * 40e6 / kStarBytesPerS);
}

TEST(GrpcPull, DrawnOrderIsNoBetterThanLayers) {
  const std::vector<std::int64_t> tensors(12, 4 * kPackedBytes);
  const auto period_s = [&](const char* order) {
    return simulate({.schedule = "grpc-pull", .workers = 4, .servers = 4},
                    tensor_job(schedule_of("grpc-pull"), tensors, {{"order", order}}))
        .iteration_s;
  };
  EXPECT_GT(period_s("random"), period_s("layers"));
  EXPECT_EQ(period_s("random"), period_s("random"));
}

// ---- who keeps what ----

TEST(Sharding, GreedyBalancesBytes) {
  std::vector<Tensor> tensors;
  for (const std::int64_t bytes : {64, 100, 4, 8, 90, 100, 30, 4}) tensors.push_back({0, bytes});
  std::vector<std::int64_t> load(3, 0);
  for (const Shard& shard : shards_of(tensors, Sharding::kGreedy, 3))
    load[static_cast<size_t>(shard.server)] += shard.bytes;
  // 64 | 100 | 4 -> 12 -> 102 | then 100 to the first, 30 to the second, 4 to the third.
  EXPECT_THAT(load, ::testing::ElementsAre(164, 130, 106));
  const std::vector<Shard> round = shards_of(tensors, Sharding::kRoundRobin, 3);
  EXPECT_EQ(round[4].server, 1);
}

TEST(Sharding, StripesAreEqualAndWhole) {
  std::vector<Shard> shards = shards_of({{0, 4002}, {0, 8}}, Sharding::kStriped, 3);
  ASSERT_EQ(shards.size(), 5U);  // 8 bytes are two values: two servers have one, one has none
  EXPECT_EQ(shards[0].bytes + shards[1].bytes + shards[2].bytes, 4002);
  EXPECT_EQ(shards[0].bytes, 1332);
  EXPECT_EQ(shards[3].bytes + shards[4].bytes, 8);
}

// Key 0 has 999,999 values: whole on server 0 * 9973 mod 4 = 0. Key 1 has 1,000,000: a quarter
// each. Key 2 is small: on server 2 * 9973 mod 4 = 2.
TEST(KVStore, BigArraysAreOnAllServers) {
  const TrainingJob job =
      tensor_job(schedule_of("kvstore"), {4 * 999999, 4 * 1000000, 400}, {{"servers", "4"}});
  const Traffic traffic = schedule_of("kvstore").traffic(job, 2, {});
  const auto pushed = [&](int server) { return traffic.messages.at({0, 2 + server}); };
  EXPECT_EQ(pushed(0), 4 * 999999 + 1000000);
  EXPECT_EQ(pushed(1), 1000000);
  EXPECT_EQ(pushed(2), 1000000 + 400);
  EXPECT_EQ(pushed(3), 1000000);
}

TEST(InspurCaffe, RefusesSeventeenWorkers) {
  const Schedule& async = schedule_of("parameter-server-async");
  const TrainingJob job = tensor_job(async, {1000}, {{"max_workers", "16"}});
  EXPECT_EQ(async.servers(job, 16).count, 1);
  try {
    async.servers(job, 17);
    FAIL() << "17 workers";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--gpus"));
    EXPECT_THAT(error.what(), HasSubstr("17"));
    EXPECT_THAT(error.what(), HasSubstr("<= 16"));
  }
}

// ---- striped over the workers ----

TEST(StripedAggregation, TwoWorkersByHand) {
  TrainingJob job = tensor_job(schedule_of("striped-aggregation"), {kPackedBytes});
  // Each sends half to the other, and gets the other's sum back.
  const double exchange_s = 2 * (kAlpha_s + kPackedBytes / 2 / kStarBytesPerS);
  const double period_s = in_child([&] {
    return simulate_training(load_platform(star_of(2)), load_stack("ideal"),
                             schedule_of("striped-aggregation"), jobs_of(2, job), {})
        .iteration_s;
  });
  EXPECT_NEAR(period_s, kWorkerForward_s + kWorkerBackward_s + exchange_s, 1e-9);
}

}  // namespace
}  // namespace forescale::testing
