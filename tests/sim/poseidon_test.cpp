// Poseidon: volumes by the paper's formulas and as simulated, what Algorithm 3 chooses, what
// wait-free backpropagation, staleness, the three levels and the bandwidth manager do.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "algorithms/poseidon/poseidon_plan.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

constexpr double kStageForward_s = 6e-3;
constexpr double kStageBackward_s = 12e-3;

// AlexNet's fc6 to fc7, as the paper's example.
const FactorCase kExample{.rows = 4096, .columns = 4096, .batch = 256, .workers = 4};

TrainingStage stage_of(const std::string& name, std::int64_t parameter_bytes) {
  return {.name = name,
          .forward_s = kStageForward_s,
          .backward_s = kStageBackward_s,
          .parameter_bytes = parameter_bytes,
          .tensor_bytes = {parameter_bytes}};
}

TrainingStage linear_stage(std::int64_t rows, std::int64_t columns) {
  TrainingStage stage = stage_of("fc", rows * columns * 4);
  stage.matrix_rows = rows;
  stage.matrix_columns = columns;
  return stage;
}

// Buffers are on the hosts of a star: nothing is staged, and software costs nothing.
TrainingJob host_job(const Schedule& schedule, std::vector<TrainingStage> stages,
                     const std::map<std::string, std::string>& options, int iterations = 4) {
  TrainingJob job;
  job.stages = std::move(stages);
  job.iterations = iterations;
  job.options = ScheduleOptions::parse(schedule.options, options, "test");
  job.host.stages_through_host = false;
  return job;
}

struct Cluster {
  int workers = 1;
  int servers = 1;
};

TrainingOutcome train(const Schedule& schedule, const TrainingJob& job, const Cluster& cluster,
                      const ComputeNoise& noise = {}, Timeline* timeline = nullptr) {
  const int ranks = cluster.workers + cluster.servers;
  return simulate_training(
      load_platform(star_of(ranks)), load_stack("ideal"), schedule, jobs_of(ranks, job),
      {.workers = cluster.workers, .choices = {}, .timeline = timeline, .noise = noise});
}

double cluster_iteration_s(const Schedule& schedule, const TrainingJob& job, const Cluster& cluster,
                           const ComputeNoise& noise = {}) {
  return in_child([&] { return train(schedule, job, cluster, noise).iteration_s; });
}

std::vector<int> own_nodes(int ranks) {
  std::vector<int> nodes(static_cast<size_t>(ranks));
  std::iota(nodes.begin(), nodes.end(), 0);
  return nodes;
}

double total(const Traffic& traffic) {
  double bytes = 0;
  for (const auto& [pair, moved] : traffic.messages) bytes += moved;
  return bytes;
}

// ---- volumes (section 4.3.1) ----

TEST(PoseidonVolumes, PaperPrints18_9And134_2And75_5Million) {
  EXPECT_EQ(paper_broadcast_values(kExample), 9.0 * 256 * 8192);  // 18.9 M
  EXPECT_NEAR(paper_broadcast_values(kExample) / 1e6, 18.9, 0.05);
  EXPECT_NEAR(full_matrix_values(kExample) / 1e6, 134.2, 0.05);
  EXPECT_NEAR(factors_to_server_values(kExample) / 1e6, 75.5, 0.05);
  // Every one of 4 workers sends to 3: 12 messages, where the paper counts 9.
  EXPECT_EQ(broadcast_values(kExample), 12.0 * 256 * 8192);
}

TEST(PoseidonVolumes, SimulatedBytesAreTheFormulas) {
  const Schedule& schedule = schedule_of("poseidon");
  const std::map<std::string, double> values = {
      {"factors", broadcast_values(kExample)},
      {"matrices", full_matrix_values(kExample)},
      {"factors-to-server", factors_to_server_values(kExample)},
      {"auto", broadcast_values(kExample)}};
  for (const auto& [way, expected] : values) {
    TrainingJob job = host_job(schedule, {linear_stage(4096, 4096)}, {{"fc", way}});
    job.batch = 256;
    const double bytes =
        in_child([&] { return train(schedule, job, {.workers = 4, .servers = 4}).bytes_sent; });
    EXPECT_EQ(bytes / job.iterations / 4, expected) << way;
    EXPECT_EQ(total(schedule.traffic(job, 4, own_nodes(8))), 4 * expected) << way;
  }
}

// A bias goes through the server as a matrix does, whatever the weights do.
TEST(PoseidonVolumes, BiasTakesTheWayOfTheMatrices) {
  const Schedule& schedule = schedule_of("poseidon");
  TrainingStage stage = linear_stage(100, 200);
  stage.parameter_bytes += 400;
  stage.tensor_bytes.push_back(400);
  TrainingJob job = host_job(schedule, {stage}, {{"fc", "factors"}});
  job.batch = 8;
  EXPECT_EQ(total(schedule.traffic(job, 3, own_nodes(4))),
            4.0 * 3 * 2 * 8 * (100 + 200) + 3.0 * 2 * 400);
}

// ---- Algorithm 3 ----

// (P-1)^2 K (M+N) <= P K (M+N) + P M N with M = N = 4096, K = 256: (P-1)^2 <= 9 P, so up to P = 10.
TEST(PoseidonChoice, CrossesOverWithTheWorkers) {
  FactorCase layer = kExample;
  layer.workers = 10;
  EXPECT_EQ(choose_factor_path(layer), FactorPath::kBroadcast);
  layer.workers = 11;
  EXPECT_EQ(choose_factor_path(layer), FactorPath::kToServer);
}

// With 8 workers: 41 * 8192 K <= 8 * 4096^2, so up to K = 399.
TEST(PoseidonChoice, CrossesOverWithTheBatch) {
  const Schedule& schedule = schedule_of("poseidon");
  for (const std::int64_t batch : {399, 400}) {
    const FactorCase layer{.rows = 4096, .columns = 4096, .batch = batch, .workers = 8};
    TrainingJob job = host_job(schedule, {linear_stage(4096, 4096)}, {{"fc", "auto"}});
    job.batch = batch;
    EXPECT_EQ(total(schedule.traffic(job, 8, own_nodes(16))),
              4 * (batch == 399 ? broadcast_values(layer) : factors_to_server_values(layer)))
        << batch;
  }
}

// ---- reconstruction ----

// One worker, no peers: its own product is left, 2 K M N = 2e9 operations at 1e12 a second.
TEST(PoseidonReconstruction, TakesTheGpu) {
  const Schedule& schedule = schedule_of("poseidon");
  TrainingJob job = host_job(schedule, {linear_stage(1000, 1000)}, {{"fc", "factors"}});
  job.batch = 1000;
  job.gpu_flops = 1e12;
  EXPECT_NEAR(cluster_iteration_s(schedule, job, {}), kStageForward_s + kStageBackward_s + 2e-3,
              1e-9);
}

// ---- wait-free backpropagation ----

// The last layer's 12.5 MB take 1.001 ms each way, under 12 ms of backward pass of the layer below;
// 125 MB take 10.001 ms each way, of which 12 ms are hidden.
TEST(PoseidonWaitFree, HidesCommunicationUnderTheBackwardPass) {
  const Schedule& schedule = schedule_of("poseidon");
  const double compute_s = 2 * (kStageForward_s + kStageBackward_s);
  const auto time_s = [&](std::int64_t bytes, const char* backpropagation) {
    return cluster_iteration_s(schedule,
                               host_job(schedule, {stage_of("low", 0), stage_of("high", bytes)},
                                        {{"backpropagation", backpropagation}}),
                               {});
  };
  EXPECT_NEAR(time_s(12'500'000, "traditional"), compute_s + 2.002e-3, 1e-9);
  EXPECT_NEAR(time_s(12'500'000, "wait-free"), compute_s, 1e-9);
  EXPECT_NEAR(time_s(125'000'000, "traditional"), compute_s + 20.002e-3, 1e-9);
  EXPECT_NEAR(time_s(125'000'000, "wait-free"), compute_s + 8.002e-3, 1e-9);
}

// As the published code: gradients leave when the worker ends its clock. 12.5 MB take 10 ms to
// encode, which a thread of the layer does under the 12 ms of the layer below; the main thread does
// it after the backward pass.
TEST(PoseidonAtTheClock, HidesEncodingAlone) {
  const Schedule& schedule = schedule_of("poseidon");
  const double compute_s = 2 * (kStageForward_s + kStageBackward_s);
  const auto time_s = [&](double encode_s_per_byte, const char* backpropagation) {
    TrainingJob job = host_job(schedule, {stage_of("low", 0), stage_of("high", 12'500'000)},
                               {{"backpropagation", backpropagation}, {"leave", "clock"}});
    job.host.encode_s_per_byte = encode_s_per_byte;
    return cluster_iteration_s(schedule, job, {});
  };
  EXPECT_NEAR(time_s(0, "wait-free"), compute_s + 2.002e-3, 1e-9);
  EXPECT_NEAR(time_s(0.8e-9, "wait-free"), compute_s + 2.002e-3, 1e-9);
  EXPECT_NEAR(time_s(0.8e-9, "traditional"), compute_s + 10e-3 + 2.002e-3, 1e-9);
}

// ---- what factors cost the processor ----

// 125 images of 1000 x 1000: 1 MB. Three workers: one thread encodes once (1 ms) and copies for two
// peers (0.5 ms each); the first peer's arrive 81 us later and are parsed in 2 ms, the other's
// after them.
TEST(PoseidonFactors, OneThreadEncodesCopiesAndParses) {
  const Schedule& schedule = schedule_of("poseidon");
  const auto time_s = [&](const char* factors, double backward_s) {
    TrainingJob job = host_job(schedule, {stage_of("low", 0), linear_stage(1000, 1000)},
                               {{"fc", "factors"}, {"factors", factors}});
    job.stages.front().backward_s = backward_s;
    job.batch = 125;
    job.host.encode_s_per_byte = 1e-9;
    job.host.copy_s_per_byte = 0.5e-9;
    job.host.decode_s_per_byte = 2e-9;
    return cluster_iteration_s(schedule, job, {.workers = 3, .servers = 1});
  };
  const double compute_s = 2 * kStageForward_s + kStageBackward_s;
  EXPECT_NEAR(time_s("awaited", 0), compute_s + 1e-3 + 2 * 0.5e-3 + 81e-6 + 2 * 2e-3, 1e-9);
  EXPECT_NEAR(time_s("awaited", 7e-3), compute_s + 7e-3, 1e-9);
  // Late: the next clock's.
  EXPECT_NEAR(time_s("late", 0), compute_s, 1e-9);
}

// Every worker's factors are multiplied, and applied with an update of their own: 4 (1 + 0.5) ms.
TEST(PoseidonFactors, EveryWorkersAreAnUpdate) {
  const Schedule& schedule = schedule_of("poseidon");
  TrainingJob job = host_job(schedule, {linear_stage(1000, 1000)}, {{"fc", "factors"}});
  job.batch = 500;  // 2 K M N = 1e9 operations
  job.gpu_flops = 1e12;
  job.stages.front().update_s = 0.5e-3;
  const double messages_s = 3 * (4e6 / 12.5e9) + 3 * 1e-6;  // 4 MB from each peer, on one port
  EXPECT_NEAR(cluster_iteration_s(schedule, job, {.workers = 4, .servers = 1}),
              kStageForward_s + kStageBackward_s + messages_s + 4 * 1.5e-3, 1e-5);
}

// ---- rows ----

// Row r on server (r / channels) mod S: 32 rows by 8 are on 4 servers of 8, one row is on one.
TEST(PoseidonRows, FewRowsLeaveServersWithoutAny) {
  const Schedule& schedule = schedule_of("poseidon");
  const auto bytes = [&](const char* rows, const char* channels) {
    const TrainingJob job =
        host_job(schedule, {stage_of("a", 32'000)}, {{"rows", rows}, {"comm_channels", channels}});
    std::vector<double> sums(8, 0.0);
    for (const auto& [pair, moved] : schedule.traffic(job, 2, own_nodes(10)).messages)
      if (pair.first == 0) sums[static_cast<size_t>(pair.second - 2)] += moved;
    return sums;
  };
  EXPECT_EQ(bytes("32", "8"), (std::vector<double>{8000, 8000, 8000, 8000, 0, 0, 0, 0}));
  EXPECT_EQ(bytes("1", "1"), (std::vector<double>{32'000, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(bytes("8", "1"), std::vector<double>(8, 4000));
}

// ---- stale synchronous parallel ----

const std::int64_t kLayerBytes = 40'000'000;  // 3.2 ms a way alone; 4 workers share 2 servers

std::vector<TrainingStage> three_layers() {
  return {stage_of("a", kLayerBytes), stage_of("b", kLayerBytes), stage_of("c", kLayerBytes)};
}

TEST(PoseidonStaleness, ZeroIsBulkSynchronous) {
  ComputeNoise noise;
  for (const double sigma : {0.0, 0.3}) {
    noise.sigma = sigma;
    const auto periods = [&](const std::string& name,
                             const std::map<std::string, std::string>& options) {
      const Schedule& schedule = schedule_of(name);
      const TrainingJob job = host_job(schedule, three_layers(), options, 8);
      return numbers_in_child(
          [&] { return train(schedule, job, {.workers = 4, .servers = 2}, noise).periods_s; });
    };
    const std::vector<double> synchronous = periods("poseidon", {});
    const std::vector<double> stale = periods("poseidon-ssp", {{"staleness", "0"}});
    ASSERT_EQ(synchronous.size(), stale.size());
    for (size_t i = 0; i < stale.size(); ++i)
      EXPECT_NEAR(stale[i], synchronous[i], 1e-9 * synchronous[i]) << sigma << " " << i;
  }
}

double stale_iteration_s(int staleness, const ComputeNoise& noise) {
  const Schedule& schedule = schedule_of("poseidon-ssp");
  const TrainingJob job =
      host_job(schedule, three_layers(), {{"staleness", std::to_string(staleness)}}, 40);
  return cluster_iteration_s(schedule, job, {.workers = 4, .servers = 2}, noise);
}

TEST(PoseidonStaleness, HidesCommunication) {
  const double compute_s = 3 * (kStageForward_s + kStageBackward_s);
  const double synchronous_s = stale_iteration_s(0, {});
  EXPECT_GT(synchronous_s, compute_s + 5e-3);
  EXPECT_NEAR(stale_iteration_s(1, {}), compute_s, 1e-6 * compute_s);
  EXPECT_NEAR(stale_iteration_s(4, {}), compute_s, 1e-6 * compute_s);
}

// Noise makes another worker the slowest in every iteration; the more clocks they may be apart, the
// less they wait. A worker that is always slow sets the pace whatever the bound.
TEST(PoseidonStaleness, HidesPassingStragglersOnly) {
  ComputeNoise noise;
  noise.sigma = 0.5;
  const double one_s = stale_iteration_s(1, noise);
  const double eight_s = stale_iteration_s(8, noise);
  EXPECT_LT(one_s, 0.95 * stale_iteration_s(0, noise));
  EXPECT_LT(eight_s, one_s);

  ComputeNoise straggler;
  straggler.stragglers[2] = 1.5;
  const double slow_s = 1.5 * 3 * (kStageForward_s + kStageBackward_s);
  EXPECT_GT(stale_iteration_s(0, straggler), slow_s + 5e-3);
  EXPECT_NEAR(stale_iteration_s(1, straggler), slow_s, 0.01 * slow_s);
}

// ---- three levels ----

double between_nodes(const Traffic& traffic, const std::vector<int>& nodes) {
  double bytes = 0;
  for (const auto& [pair, moved] : traffic.messages)
    if (nodes[static_cast<size_t>(pair.first)] != nodes[static_cast<size_t>(pair.second)])
      bytes += moved;
  return bytes;
}

TEST(PoseidonThreeLevels, FourGpusANodeMoveAQuarterBetweenNodes) {
  const Schedule& schedule = schedule_of("poseidon");
  const std::vector<int> nodes = {0, 0, 0, 0, 1, 1, 1, 1, 0, 1};  // the last two are servers
  for (const char* way : {"matrices", "factors"}) {
    const auto traffic = [&](const char* three_level) {
      TrainingJob job = host_job(schedule, {stage_of("conv", 1 << 20), linear_stage(512, 512)},
                                 {{"fc", way}, {"three_level", three_level}});
      job.batch = 16;
      return schedule.traffic(job, 8, nodes);
    };
    EXPECT_EQ(4 * between_nodes(traffic("true"), nodes), between_nodes(traffic("false"), nodes))
        << way;
    EXPECT_TRUE(traffic("false").collectives.empty());
    EXPECT_EQ(traffic("true").collectives.size(), way == std::string("matrices") ? 8U : 6U);
  }
}

// ---- bandwidth manager ----

struct Sent {
  int rank;
  double begin_s;
  double bytes;
  int label;
};

// All sends in the order of their starts: rank, start, bytes, number of the label.
std::vector<Sent> sends_with(const std::map<std::string, std::string>& options) {
  const Schedule& schedule = schedule_of("poseidon-managed");
  std::map<std::string, std::string> equal_halves = options;
  equal_halves["rows"] = "16";
  const TrainingJob job = host_job(schedule, three_layers(), equal_halves, 3);
  const std::vector<double> numbers = numbers_in_child([&] {
    Timeline timeline;
    train(schedule, job, {.workers = 2, .servers = 2}, {}, &timeline);
    std::vector<double> list;
    for (const Span& span : timeline.spans()) {
      if (span.track != Track::kSend) continue;
      const char layer = timeline.labels()[static_cast<size_t>(span.label)].back();
      list.insert(list.end(), {static_cast<double>(span.rank), span.begin_s,
                               static_cast<double>(span.bytes), static_cast<double>(layer)});
    }
    return list;
  });
  std::vector<Sent> sends;
  for (size_t i = 0; i < numbers.size(); i += 4)
    sends.push_back({static_cast<int>(numbers[i]), numbers[i + 1], numbers[i + 2],
                     static_cast<int>(numbers[i + 3])});
  std::stable_sort(sends.begin(), sends.end(),
                   [](const Sent& a, const Sent& b) { return a.begin_s < b.begin_s; });
  return sends;
}

// Handed over at the budget's rate, a message may start late, behind others at its receiver:
// between any two starts a rank sends no more than the budget and one such message.
TEST(PoseidonBandwidthManager, KeepsToItsBudget) {
  constexpr double kBudget = 1e9;
  constexpr double kMessageBytes = kLayerBytes / 2.0;  // two servers
  for (const char* order : {"layer", "arrival", "magnitude"}) {
    const std::vector<Sent> sends = sends_with({{"budget", "1GB"}, {"order", order}});
    EXPECT_EQ(sends.size(), 3U * 2 * 2 * 3 * 2);  // clocks, workers, servers, layers, both ways
    for (const Sent& first : sends) {
      double bytes = 0;
      for (const Sent& sent : sends) {
        if (sent.rank != first.rank || sent.begin_s < first.begin_s) continue;
        EXPECT_LE(bytes, kBudget * (sent.begin_s - first.begin_s) + kMessageBytes) << order;
        bytes += sent.bytes;
      }
    }
  }
}

// After all of the backward pass every layer waits, each with its first message of two. The top
// layer's, c, was first to come and is let out, then the most urgent; a layer offers its second
// message when the first has left, and the next turn is given then.
TEST(PoseidonBandwidthManager, LetsTheMostUrgentOutFirst) {
  const auto first_layers = [](const char* order) {
    std::string layers;
    for (const Sent& sent :
         sends_with({{"budget", "1GB"}, {"order", order}, {"backpropagation", "traditional"}}))
      if (sent.rank == 0 && layers.size() < 6) layers += static_cast<char>(sent.label);
    return layers;
  };
  EXPECT_EQ(first_layers("layer"), "cababc");
  EXPECT_EQ(first_layers("arrival"), "cbacba");
}

// ---- stack ----

// One large message between two hosts: the I/O thread's rate where the link has 40 Gbit/s, else the
// link's.
TEST(PoseidonSockets, IoThreadIsTheLimitOnFastEthernet) {
  const std::map<std::string, double> rates = {
      {"susitna", 1.3e9}, {"susitna-ethernet-10g", 1.187e9}, {"susitna-ethernet-1g", 0.1187e9}};
  for (const auto& [name, bytes_per_s] : rates) {
    const CollectiveStep step{.op = CollectiveOp::kBroadcast,
                              .bytes = 256 << 20,
                              .label = "one message",
                              .on_host = true};
    const double time_s = in_child([&, platform = name] {
      return simulate_collective(load_platform(platform), load_stack("poseidon-sockets"), step, 2,
                                 {})
          .time_s;
    });
    EXPECT_NEAR(static_cast<double>(step.bytes) / time_s, bytes_per_s, 0.01 * bytes_per_s) << name;
  }
}

}  // namespace
}  // namespace forescale::testing
