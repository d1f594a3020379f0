// A stack's caps on what one device sends and receives together, and on what two exchange.
#include <gtest/gtest.h>

#include "models/stack.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

constexpr std::int64_t kDuplexBytes = 4'000'000;

double all_gather_s(const std::string& algorithm, BytesPerSecond PathRule::*cap,
                    double bytes_per_s) {
  const Platform platform = load_platform(star_of(4));
  Stack stack = load_stack("ideal");
  for (PathRule& rule : stack.paths) rule.*cap = BytesPerSecond{bytes_per_s};
  const Collective& plan = find_collective(CollectiveOp::kAllGather, algorithm, "test");
  return in_child([&] {
    return collective_s(platform, stack, plan, {.rank_count = 4, .bytes = kDuplexBytes});
  });
}

double ring_s(double duplex_bytes_per_s) {
  return all_gather_s("ring", &PathRule::duplex_cap, duplex_bytes_per_s);
}

// Three steps, in each of which every rank sends one block and receives one.
double expected_s(double rate_bytes_per_s) {
  return 3 * (kAlpha_s + kDuplexBytes / 4 / rate_bytes_per_s);
}

TEST(Duplex, BothDirectionsShareTheCap) {
  EXPECT_NEAR(ring_s(1.5 * kStarBytesPerS), expected_s(0.75 * kStarBytesPerS),
              1e-9 * expected_s(kStarBytesPerS));
}

TEST(Duplex, ACapOfBothDirectionsTogetherIsNone) {
  EXPECT_NEAR(ring_s(2 * kStarBytesPerS), expected_s(kStarBytesPerS),
              1e-9 * expected_s(kStarBytesPerS));
}

TEST(Duplex, OneDirectionAloneDoesNotFeelIt) {
  const Platform platform = load_platform(star_of(2));
  Stack stack = load_stack("ideal");
  for (PathRule& rule : stack.paths) rule.duplex_cap = BytesPerSecond{1.2 * kStarBytesPerS};
  const Collective& flat = find_collective(CollectiveOp::kBroadcast, "flat", "test");
  const double time_s = in_child([&] {
    return collective_s(platform, stack, flat, {.rank_count = 2, .bytes = kDuplexBytes});
  });
  const double alone_s = kAlpha_s + kDuplexBytes / kStarBytesPerS;
  EXPECT_NEAR(time_s, alone_s, 1e-9 * alone_s);
}

TEST(PairCap, ARingOfFourDoesNotFeelIt) {
  EXPECT_NEAR(all_gather_s("ring", &PathRule::pair_cap, kStarBytesPerS), expected_s(kStarBytesPerS),
              1e-9 * expected_s(kStarBytesPerS));
}

TEST(PairCap, TwoThatExchangeShareIt) {
  // One block, then two, both ways between two ranks.
  const double expected = 2 * kAlpha_s + 3 * (kDuplexBytes / 4) / (0.5 * kStarBytesPerS);
  EXPECT_NEAR(all_gather_s("recursive-doubling", &PathRule::pair_cap, kStarBytesPerS), expected,
              1e-9 * expected);
}

}  // namespace
}  // namespace forescale::testing
