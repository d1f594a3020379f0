// From made-up measurements with known numbers back to those numbers; and the files that come out
// are read by the very code that predictions use.
#include "calibrate/fit/fit_cluster.hpp"
#include "base/scratch_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>

#include "base/error.hpp"
#include "calibrate/fit/cluster_shape.hpp"
#include "models/stack.hpp"
#include "topologies/platform.hpp"

namespace forescale::testing {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A cluster as a formula: alpha, rates by host, a trunk between two halves, what duplex leaves.
struct Truth {
  double eager_alpha_s = 80e-6;
  double alpha_s = 140e-6;  // above the eager limit
  double stream_share = 0.4;
  double rate = 60e6;
  double duplex_rate = 110e6;        // both ways together
  double pair_rate_both_ways = 1e9;  // between two that send to each other, together
  std::int64_t eager_limit = 64 * 1024;
  std::vector<double> host_rate = std::vector<double>(8, 60e6);
  std::vector<int> switch_of = std::vector<int>(8, 0);
  double trunk_rate = 0;
  int cores = 0;             // of one machine that is all hosts; 0: each its own
  double core_share = 0.6;   // of alpha, that runs on them
  double fabric_rate = 1e9;  // all together

  double alpha(std::int64_t bytes) const { return bytes <= eager_limit ? eager_alpha_s : alpha_s; }
  double pair_rate(int a, int b) const {
    const double cables =
        std::min(host_rate[static_cast<size_t>(a)], host_rate[static_cast<size_t>(b)]);
    const bool crosses = switch_of[static_cast<size_t>(a)] != switch_of[static_cast<size_t>(b)];
    return crosses ? std::min(cables, trunk_rate) : cables;
  }
};

std::vector<std::int64_t> sizes(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> all;
  for (std::int64_t size = from; size <= to; size *= 2) all.push_back(size);
  return all;
}

Series series(Pattern pattern, std::vector<int> members, const std::vector<std::int64_t>& of,
              const std::function<double(std::int64_t)>& time_s) {
  Series made{.pattern = pattern, .ranks = static_cast<int>(members.size()), .members = members};
  for (const std::int64_t bytes : of) {
    const double t = time_s(bytes);
    made.points.push_back({.bytes = bytes,
                           .time_s = t,
                           .low_s = t,
                           .high_s = t,
                           .p10_s = t,
                           .p90_s = t,
                           .samples = 9});
  }
  return made;
}

Measurement measured_by(const Truth& truth) {
  const auto all = sizes(64, 8 << 20);
  Measurement made{.machine = "a formula", .library = "none"};
  const auto one_way = [&](int a, int b) {
    return [&truth, a, b](std::int64_t bytes) {
      return truth.alpha(bytes) + static_cast<double>(bytes) / truth.pair_rate(a, b);
    };
  };
  const ClusterShape known{.host_rate = truth.host_rate, .switch_of = truth.switch_of};
  const std::vector<int> ordinary = known.ordinary();
  made.series.push_back(series(Pattern::kPingPong, {ordinary[0], ordinary[1]}, all,
                               one_way(ordinary[0], ordinary[1])));
  const auto hosts = static_cast<int>(truth.host_rate.size());
  for (int a = 0; a < hosts; ++a)
    for (int b = a + 1; b < hosts; ++b)
      made.series.push_back(series(Pattern::kPingPong, {a, b}, {8 * 1024, 1 << 20}, one_way(a, b)));
  for (const size_t ranks : {size_t{2}, ordinary.size()}) {
    const auto P = static_cast<double>(ranks);
    const double turns = truth.cores > 0 ? std::max(1.0, P / truth.cores) : 1;
    made.series.push_back(
        series(Pattern::kShift, {ordinary.begin(), ordinary.begin() + static_cast<long>(ranks)},
               all, [&](std::int64_t bytes) {
                 return truth.alpha(bytes) + (turns - 1) * truth.core_share * truth.alpha(bytes) +
                        static_cast<double>(bytes) /
                            std::min({truth.rate, truth.duplex_rate / 2, truth.fabric_rate / P,
                                      ranks == 2 ? truth.pair_rate_both_ways / 2 : truth.rate});
               }));
  }
  if (truth.cores > 0) made.provenance["shared_cores"] = std::to_string(truth.cores);
  made.series.push_back(
      series(Pattern::kStream, {ordinary[0], ordinary[1]}, all, [&](std::int64_t bytes) {
        return truth.stream_share * truth.alpha(bytes) + static_cast<double>(bytes) / truth.rate;
      }));
  made.series.push_back(
      series(Pattern::kLateReceive, {ordinary[0], ordinary[1]}, all,
             [&](std::int64_t bytes) { return bytes <= truth.eager_limit ? 20e-6 : 5.2e-3; }));
  std::vector<int> crossing;
  for (const int side : {0, 1})
    for (int host = side * hosts / 2; host < (side + 1) * hosts / 2; ++host)
      crossing.push_back(host);
  made.series.push_back(
      series(Pattern::kPairs, crossing, sizes(1024, 1 << 20), [&](std::int64_t bytes) {
        double slowest = 0;
        for (int i = 0; i < hosts / 2; ++i) {
          double rate = truth.pair_rate(i, hosts / 2 + i);
          if (truth.trunk_rate > 0) rate = std::min(rate, truth.trunk_rate / (hosts / 2));
          slowest = std::max(slowest, truth.alpha(bytes) + static_cast<double>(bytes) / rate);
        }
        return slowest;
      }));
  made.series.push_back(
      series(Pattern::kReduction, {0}, sizes(1024, 1 << 22),
             [](std::int64_t bytes) { return 1e-6 + static_cast<double>(bytes) / 4e9; }));
  return made;
}

class Files {
 public:
  explicit Files(const ClusterFit& fit) {
    std::ofstream(platform()) << fit.platform.dump(2);
    std::ofstream(stack()) << fit.stack.dump(2);
  }
  std::string platform() const { return folder_.file("platform.json"); }
  std::string stack() const { return folder_.file("stack.json"); }

 private:
  ScratchFolder folder_{"fit"};
};

void expect_within(double value, double truth, double share, const std::string& what) {
  EXPECT_NEAR(value, truth, share * truth) << what;
}

TEST(FitCluster, GivesBackTheNumbersOfAStar) {
  const Truth truth;
  const Measurement measurement = measured_by(truth);
  const Files files(fit_cluster(measurement, "m.json", {.name = "made"}));
  const Platform platform = load_platform(files.platform());
  const Stack stack = load_stack(files.stack());
  EXPECT_EQ(platform.node_count, 8);
  EXPECT_EQ(stack.eager_limit.value, truth.eager_limit);
  const Route route = platform.route(platform.endpoints[0], platform.endpoints[5]);
  for (const Capacity capacity : route.capacities)
    expect_within(platform.bandwidth(capacity).value, truth.rate, 0.01, "link");
  const PathRule& small = stack.path("inter-node", BufferPlace::kHost, 4096);
  expect_within(small.o_send.value + small.latency.value, truth.eager_alpha_s, 0.02, "alpha");
  expect_within(small.o_send.value, truth.stream_share * truth.eager_alpha_s, 0.05, "o_send");
  const PathRule& large = stack.path("inter-node", BufferPlace::kHost, 1 << 20);
  expect_within(large.o_send.value + large.latency.value, truth.alpha_s, 0.05, "alpha, large");
  expect_within(large.duplex_cap.value, truth.duplex_rate, 0.02, "duplex");
  EXPECT_EQ(large.connection_cap.value, 0);
  EXPECT_EQ(stack.host_reduction.place, ReductionPlace::kFixed);
  expect_within(stack.host_reduction.rate.value, 4e9, 0.01, "reduction");
}

TEST(FitCluster, TellsWhatRunsOnSharedCoresFromWhatOnlyTakesTime) {
  const Truth truth{.duplex_rate = 120e6, .cores = 2, .fabric_rate = 400e6};
  const Files files(fit_cluster(measured_by(truth), "m.json", {}));
  const Stack stack = load_stack(files.stack());
  EXPECT_EQ(stack.shared_cores, 2);
  const PathRule& small = stack.path("inter-node", BufferPlace::kHost, 4096);
  expect_within(small.o_send.value, truth.core_share * truth.eager_alpha_s, 0.03, "o_send");
  expect_within(small.latency.value, (1 - truth.core_share) * truth.eager_alpha_s, 0.05, "latency");
  const PathRule& large = stack.path("inter-node", BufferPlace::kHost, 1 << 20);
  expect_within(large.fabric_cap.value, truth.fabric_rate, 0.03, "fabric");
  EXPECT_EQ(large.duplex_cap.value, 0);
}

TEST(FitCluster, TellsWhatAPairLosesFromWhatAHostLoses) {
  const Truth truth{.duplex_rate = 116e6, .pair_rate_both_ways = 60e6};
  const Files files(fit_cluster(measured_by(truth), "m.json", {}));
  const Stack stack = load_stack(files.stack());
  const PathRule& large = stack.path("inter-node", BufferPlace::kHost, 1 << 20);
  expect_within(large.pair_cap.value, truth.pair_rate_both_ways, 0.02, "pair");
  EXPECT_EQ(large.duplex_cap.value, 0);
  // Eight hosts that all lose 4 of 120 MB/s: which of the two caps says so is not told apart.
  expect_within(large.fabric_cap.value, 4 * truth.duplex_rate, 0.02, "all together");
}

TEST(FitCluster, FindsASlowHost) {
  Truth truth;
  truth.host_rate[3] = 12e6;
  const Measurement measurement = measured_by(truth);
  const ClusterShape shape = shape_of(measurement);
  EXPECT_THAT(shape.ordinary(), ElementsAre(0, 1, 2, 4, 5, 6, 7));
  EXPECT_EQ(shape.switch_count(), 1);
  const Files files(fit_cluster(measurement, "m.json", {}));
  const Platform platform = load_platform(files.platform());
  const auto narrowest = [&](int a, int b) {
    double rate = 1e30;
    for (const Capacity capacity : platform
                                       .route(platform.endpoints[static_cast<size_t>(a)],
                                              platform.endpoints[static_cast<size_t>(b)])
                                       .capacities)
      rate = std::min(rate, platform.bandwidth(capacity).value);
    return rate;
  };
  expect_within(narrowest(0, 1), 60e6, 0.01, "usual");
  expect_within(narrowest(0, 3), 12e6, 0.03, "slow");
}

TEST(FitCluster, FindsAThinTrunkFromSinglePairs) {
  Truth truth;
  truth.switch_of = {0, 0, 0, 0, 1, 1, 1, 1};
  truth.trunk_rate = 36e6;
  const ClusterShape shape = shape_of(measured_by(truth));
  EXPECT_EQ(shape.switch_of, truth.switch_of);
  expect_within(shape.trunk_rate, 36e6, 0.03, "trunk");
}

// Wider than one cable, narrower than four.
TEST(FitCluster, FindsATrunkThatOnlyManyPairsFill) {
  Truth truth;
  truth.switch_of = {0, 0, 0, 0, 1, 1, 1, 1};
  truth.trunk_rate = 100e6;
  const ClusterShape shape = shape_of(measured_by(truth));
  EXPECT_EQ(shape.switch_of, truth.switch_of);
  expect_within(shape.trunk_rate, 100e6, 0.03, "trunk");
  const Files files(fit_cluster(measured_by(truth), "m.json", {}));
  EXPECT_NEAR(bisection_bandwidth(load_platform(files.platform())).value, 100e6, 3e6);
}

TEST(FitCluster, IntervalsHoldTheValueAndReachPredictions) {
  Measurement measurement = measured_by({});
  // Repetitions that scatter by 5 % either way.
  for (Series& each : measurement.series)
    for (MeasuredPoint& point : each.points) {
      point.p10_s = 0.95 * point.time_s;
      point.p90_s = 1.05 * point.time_s;
    }
  const ClusterFit fit = fit_cluster(measurement, "m.json", {});
  for (const FittedNumber& number : fit.numbers) {
    EXPECT_LE(number.interval.low, number.value) << number.what;
    EXPECT_GE(number.interval.high, number.value) << number.what;
  }
  const Files files(fit);
  const double fast = load_stack(files.stack(), Scenario::kFast)
                          .path("inter-node", BufferPlace::kHost, 4096)
                          .latency.value;
  const double slow = load_stack(files.stack(), Scenario::kSlow)
                          .path("inter-node", BufferPlace::kHost, 4096)
                          .latency.value;
  EXPECT_LT(fast, slow);
}

TEST(FitCluster, SaysWhatIsMissing) {
  Measurement measurement = measured_by({});
  std::erase_if(measurement.series,
                [](const Series& each) { return each.pattern != Pattern::kPingPong; });
  const ClusterFit fit = fit_cluster(measurement, "m.json", {});
  EXPECT_THAT(fit.warnings, Contains(HasSubstr("no late-receive")));
  EXPECT_THAT(fit.warnings, Contains(HasSubstr("no reduction")));
  EXPECT_THAT(fit.warnings, Contains(HasSubstr("no shift")));
  measurement.series.clear();
  EXPECT_THROW(fit_cluster(measurement, "m.json", {}), InputError);
}

TEST(FitCluster, AnEmulatedGpuGoesIntoThePlatform) {
  const Files files(fit_cluster(measured_by({}), "m.json", {.emulated_gpu = "k80"}));
  const Platform platform = load_platform(files.platform());
  EXPECT_TRUE(platform.can_train());
  EXPECT_FALSE(platform.has_gpus());
}

}  // namespace
}  // namespace forescale::testing
