// Shaped links: a token bucket lets pass at once what it gained while the link was idle.
#include <gtest/gtest.h>

#include "models/stack.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

constexpr double kRate = 1e6;
constexpr double kBurst = 10'000;
constexpr double kHold_s = 2e-3;  // alpha, both ports held: the link gains 2000 tokens meanwhile

Platform shaped() {
  return read_platform(R"({
    "format": "forescale-platform-1", "name": "shaped", "source": "made up",
    "node": {"count": 4, "layout": "host"},
    "fabric": {"layout": "star", "link": {"bandwidth_bytes_per_s": 1e6, "latency_s": 0.001,
                                          "burst_bytes": 10000}}})",
                       "shaped.json");
}

double shaped_s(CollectiveOp op, const std::string& algorithm, int ranks, std::int64_t bytes,
                std::int64_t chunk_bytes = 0) {
  const Platform platform = shaped();
  const Stack stack = load_stack("ideal");
  const Collective& collective = find_collective(op, algorithm, "test");
  CollectiveCall call{.rank_count = ranks, .bytes = bytes};
  if (chunk_bytes > 0) call.options.set("chunk_bytes", chunk_bytes);
  return in_child([&] { return collective_s(platform, stack, collective, call); });
}

TEST(Burst, PassesAtOnce) {
  expect_near(shaped_s(CollectiveOp::kBroadcast, "flat", 2, 8'000), kHold_s);
  expect_near(shaped_s(CollectiveOp::kBroadcast, "flat", 2, 50'000),
              kHold_s + (50'000 - kBurst) / kRate);
}

// Three chunks one after the other: the first has a full bucket, the others what alpha gave.
TEST(Burst, GrowsBackWhileTheLinkIsIdle) {
  expect_near(shaped_s(CollectiveOp::kBroadcast, "chain", 2, 150'000, 50'000),
              3 * (kHold_s + 50'000 / kRate) - (kBurst + 2 * kHold_s * kRate) / kRate);
}

// Small chunks go at the pace of alpha until the bucket is empty, and never faster than the rate.
TEST(Burst, IsNeverMoreThanTheBucket) {
  constexpr int kChunks = 20;
  constexpr double kChunk = 3'000;         // 1000 more than alpha gives back
  const double at_pace = kBurst - kChunk;  // tokens left after the first
  const double time_s = shaped_s(CollectiveOp::kBroadcast, "chain", 2, kChunks * 3'000, 3'000);
  expect_near(time_s, kHold_s +  // the first passes at once
                          (kChunks - 1) * kHold_s +
                          ((kChunks - 1) * (kChunk - kHold_s * kRate) - at_pace) / kRate);
}

// Into one port: what the receiver's cable lets pass at once is for all of them together.
TEST(Burst, BelongsToTheLinkAndNotToTheMessage) {
  const double time_s = shaped_s(CollectiveOp::kGather, "flat", 4, 4 * 20'000);
  expect_near(time_s, 3 * (kHold_s + 20'000 / kRate) - (kBurst + 2 * kHold_s * kRate) / kRate);
}

// What passed at once took no time of the link: it is busy with the rest, never longer than the
// whole lasted.
TEST(Burst, IsNoTimeThatALinkIsBusy) {
  const auto share = [](std::int64_t bytes) {
    return in_child([&] {
      const CollectiveOutcome outcome = simulate_collective(
          shaped(), load_stack("ideal"),
          {.op = CollectiveOp::kBroadcast, .bytes = bytes, .label = "burst"}, 2, {});
      return outcome.busiest.busy_s / outcome.time_s;
    });
  };
  EXPECT_EQ(share(8'000), 0);
  // 2 ms of latency, in which the burst grows to no more than it is, then what is beyond it.
  const double beyond_s = (50'000 - kBurst) / kRate;
  EXPECT_NEAR(share(50'000), beyond_s / (kHold_s + beyond_s), 1e-9);
}

}  // namespace
}  // namespace forescale::testing
