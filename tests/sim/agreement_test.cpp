// The simulator against the cost engine and the closed forms, on a platform without contention:
// three ways to the same time. Driven by the registry: a new collective is covered as it is.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "sim/cost_engine.hpp"
#include "tests/algorithms/call_variants.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

// A stack and the step cost that it means on the star.
struct Costing {
  std::string stack;
  StepCost step;
};

StepCost step_cost_of(double reduce_alpha_s, double reduce_bytes_per_s, bool overlaps) {
  return {.alpha_s = kAlpha_s,
          .beta_s_per_byte = 1 / kStarBytesPerS,
          .reduce_alpha_s = reduce_alpha_s,
          .gamma_s_per_byte = reduce_bytes_per_s > 0 ? 1 / reduce_bytes_per_s : 0,
          .reduction_overlaps = overlaps};
}

// Free; one after the other; overlapped with r < x and with r > x.
const std::vector<Costing>& costings() {
  static const std::vector<Costing> all = {
      {"ideal", step_cost_of(0, 0, false)},
      {"ideal:reduce_bandwidth=20GB/s,reduce_overhead=3us", step_cost_of(3e-6, 20e9, false)},
      {"ideal:reduce_bandwidth=50GB/s,overlap=true", step_cost_of(0, 50e9, true)},
      {"ideal:reduce_bandwidth=4GB/s,reduce_overhead=3us,overlap=true",
       step_cost_of(3e-6, 4e9, true)}};
  return all;
}

struct Case {
  const Collective* collective = nullptr;
  CollectiveCall call;
};

std::vector<Case> cases_of(int rank_count, std::int64_t bytes) {
  const Variants variants = {
      .chunk_bytes = {4 * 1000}, .chain_sizes = {4}, .levels = {"", "chain:4,flat:2,binomial"}};
  std::vector<Case> cases;
  for (const Collective* collective : all_collectives())
    for (const CollectiveCall& call : calls_of(*collective, rank_count, bytes, variants))
      cases.push_back({.collective = collective, .call = call});
  return cases;
}

std::vector<double> simulated_cases_s(const Platform& platform, const Stack& stack,
                                      const std::vector<Case>& cases) {
  std::vector<std::function<double()>> tasks;
  tasks.reserve(cases.size());
  for (const Case& each : cases)
    tasks.emplace_back([&platform, &stack, &each] {
      return collective_s(platform, stack, *each.collective, each.call);
    });
  return in_children(tasks);
}

class Agreement : public ::testing::TestWithParam<int> {};

TEST_P(Agreement, SimulatorCostEngineAndClosedFormOnAStar) {
  const Platform platform = load_platform(star_of(GetParam()));
  bool is_even = false;  // blocks that differ by an element
  for (const Costing& costing : costings()) {
    is_even = !is_even;
    const std::vector<Case> cases =
        cases_of(GetParam(), is_even ? 4LL * 1000 * GetParam() : 4LL * 3001);
    const Stack stack = load_stack(costing.stack);
    const Lanes lanes(platform, stack);
    const std::vector<double> times_s = simulated_cases_s(platform, stack, cases);
    for (size_t i = 0; i < cases.size(); ++i) {
      const auto& [collective, call] = cases[i];
      const std::string what = costing.stack + " " + to_text(*collective, call);
      const CostResult cost =
          evaluate_cost(*collective, call, lanes, BufferPlace::kHost, first_ranks(call.rank_count));
      expect_near(times_s[i], cost.time_s, what + ": cost engine");
      if (const auto form_s = collective->closed_form(call, costing.step))
        expect_near(times_s[i], *form_s, what + ": closed form");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(RankCounts, Agreement,
                         ::testing::Values(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
                                           32, 33));

// The walk over lanes gives what the walk over one common step cost gives.
TEST(AgreementOnce, CostEngineByLanesAndByStep) {
  const Platform uniform = load_platform(star_of(13));
  Platform platform = uniform;
  platform.uniform_pairs = false;
  for (const Costing& costing : costings()) {
    const Stack stack = load_stack(costing.stack);
    const Lanes lanes(platform, stack);
    EXPECT_FALSE(uniform_step(lanes, first_ranks(13), BufferPlace::kHost).has_value());
    EXPECT_TRUE(
        uniform_step(Lanes(uniform, stack), first_ranks(13), BufferPlace::kHost).has_value());
    for (const auto& [collective, call] : cases_of(13, 4 * 3001)) {
      const CostResult by_lanes =
          evaluate_cost(*collective, call, lanes, BufferPlace::kHost, first_ranks(call.rank_count));
      const CostResult by_step = evaluate_cost(*collective, call, costing.step);
      expect_near(by_lanes.time_s, by_step.time_s, costing.stack + to_text(*collective, call));
      EXPECT_EQ(by_lanes.messages, by_step.messages);
    }
  }
}

class Named : public ::testing::TestWithParam<int> {
 protected:
  // Simulated, and equal to the cost engine.
  double time_s(CollectiveOp op, const std::string& algorithm, std::int64_t bytes,
                const OptionValues& options, const Costing& costing) {
    const Platform platform = load_platform(star_of(GetParam()));
    const Stack stack = load_stack(costing.stack);
    const Collective& collective = find_collective(op, algorithm, "test");
    CollectiveCall call{.rank_count = GetParam(), .bytes = bytes};
    call.options = options;
    const double simulated =
        in_child([&] { return collective_s(platform, stack, collective, call); });
    const CostResult cost = evaluate_cost(collective, call, Lanes(platform, stack),
                                          BufferPlace::kHost, first_ranks(call.rank_count));
    expect_near(simulated, cost.time_s, costing.stack + " " + to_text(collective, call));
    return simulated;
  }
};

// S-Caffe equation 2: (n + P - 2) t(c).
TEST_P(Named, Chain) {
  const int ranks = GetParam();
  const OptionValues chunks = {{"chunk_bytes", 4 * kMiB}};
  for (const Costing& costing : costings()) {
    const double x_s = kAlpha_s + 4.0 * kMiB / kStarBytesPerS;
    const double r_s = costing.step.reduce_s(4 * kMiB);
    const double expected_s = costing.step.reduction_overlaps
                                  ? (ranks - 1) * (x_s + r_s) + 63 * std::max(x_s, r_s)
                                  : (64 + ranks - 2) * (x_s + r_s);
    expect_near(time_s(CollectiveOp::kReduce, "chain", 256 * kMiB, chunks, costing), expected_s,
                costing.stack);
  }
}

TEST_P(Named, Ring) {
  const int ranks = GetParam();
  const std::int64_t block = kMiB;
  for (const Costing& costing : costings()) {
    const double step_s = kAlpha_s + static_cast<double>(block) / kStarBytesPerS;
    // A block's reduction is always waited for: its sum is the next thing to be sent.
    const double expected_s = (ranks - 1) * (2 * step_s + costing.step.reduce_s(block));
    expect_near(time_s(CollectiveOp::kAllReduce, "ring", block * ranks, {}, costing), expected_s,
                costing.stack);
  }
}

TEST_P(Named, Binomial) {
  const double rounds = std::ceil(std::log2(GetParam()));
  const Costing& costing = costings()[1];
  const double expected_s =
      rounds * (kAlpha_s + 64.0 * kMiB / kStarBytesPerS + 3e-6 + 64.0 * kMiB / 20e9);
  expect_near(time_s(CollectiveOp::kReduce, "binomial", 64 * kMiB, {}, costing), expected_s, "");
}

TEST_P(Named, HalvingDoubling) {
  const Costing& costing = costings()[1];
  const int ranks = GetParam();
  const double bytes = 1000.0 * 4 * ranks;
  const double time =
      time_s(CollectiveOp::kAllReduce, "halving-doubling", 1000LL * 4 * ranks, {}, costing);
  const double rounds = std::floor(std::log2(ranks));
  if (std::exp2(rounds) != ranks) return;  // the plan for other counts: against the cost engine
  const double expected_s = rounds * (2 * kAlpha_s + 3e-6) +
                            bytes * (ranks - 1) / ranks * (2 / kStarBytesPerS + 1 / 20e9);
  expect_near(time, expected_s, "");
}

// CB-8: chains of 8, then a binomial tree of the whole buffer between their heads.
TEST_P(Named, ChainBinomial) {
  const OptionValues chunks = {{"chunk_bytes", 4 * kMiB}};
  const Costing& costing = costings()[1];
  const auto t = [](double bytes) {
    return kAlpha_s + bytes / kStarBytesPerS + 3e-6 + bytes / 20e9;
  };
  const double heads = GetParam() / 8;
  const double expected_s =
      (64 + 8 - 2) * t(4 * kMiB) + std::ceil(std::log2(heads)) * t(256 * kMiB);
  expect_near(time_s(CollectiveOp::kReduce, "cb", 256 * kMiB, chunks, costing), expected_s, "");
}

INSTANTIATE_TEST_SUITE_P(RankCounts, Named, ::testing::Values(8, 64, 128, 160));

// Eager messages take no port, so they can meet on a receiver's link, which the cost engine does
// not see: the two agree where a rank gets one message at a time.
TEST(Eager, SimulatorAndCostEngineAgree) {
  const Stack stack = load_stack("ideal:eager=8KiB");
  const std::set<std::string> one_at_a_time = {
      "all-reduce/ring",     "allgather/ring",  "allgather/recursive-doubling",
      "broadcast/binomial",  "broadcast/chain", "allgather/bruck",
      "reduce-scatter/ring", "reduce/chain",    "scatter/binomial"};
  std::set<std::string> seen;
  for (const int rank_count : {2, 3, 7, 8, 16}) {
    const Platform platform = load_platform(star_of(rank_count));
    const Lanes lanes(platform, stack);
    std::vector<Case> cases;
    // Eager in all messages, in none, and in chunks only.
    for (const std::int64_t bytes : {4LL * 1000, 4LL * 4000 * rank_count})
      for (const Collective* collective : all_collectives())
        for (const CollectiveCall& call :
             calls_of(*collective, rank_count, bytes,
                      {.chunk_bytes = {0, 4 * 1000}, .chain_sizes = {4}, .levels = {""}}))
          if (one_at_a_time.count(collective->name) != 0)
            cases.push_back({.collective = collective, .call = call});
    const std::vector<double> times_s = simulated_cases_s(platform, stack, cases);
    for (size_t i = 0; i < cases.size(); ++i) {
      const auto& [collective, call] = cases[i];
      const CostResult cost =
          evaluate_cost(*collective, call, lanes, BufferPlace::kHost, first_ranks(call.rank_count));
      expect_near(times_s[i], cost.time_s, to_text(*collective, call));
      seen.insert(collective->name);
    }
  }
  EXPECT_EQ(seen, one_at_a_time);
}

// Every rank's block is on its way at once: they share the link into the root.
TEST(Eager, MessagesMeetOnTheReceiversLink) {
  const Platform platform = load_platform(star_of(6));
  const Stack stack = load_stack("ideal:eager=8KiB");
  CollectiveCall call{.rank_count = 6, .bytes = 6 * 4000};
  const Collective& flat = find_collective(CollectiveOp::kGather, "flat", "test");
  const double time_s = in_child([&] { return collective_s(platform, stack, flat, call); });
  expect_near(time_s, kAlpha_s + 5 * 4000 / kStarBytesPerS, "");
}

// What the stack calls a packet passes the others by; a byte more, and it shares again.
TEST(Eager, PacketsLoadNoLink) {
  const Platform platform = load_platform(star_of(6));
  Stack stack = load_stack("ideal:eager=8KiB");
  CollectiveCall call{.rank_count = 6, .bytes = 6 * 4000};
  const Collective& flat = find_collective(CollectiveOp::kGather, "flat", "test");
  stack.packet_limit = Bytes{4000};
  expect_near(in_child([&] { return collective_s(platform, stack, flat, call); }),
              kAlpha_s + 4000 / kStarBytesPerS, "");
  stack.packet_limit = Bytes{3999};
  expect_near(in_child([&] { return collective_s(platform, stack, flat, call); }),
              kAlpha_s + 5 * 4000 / kStarBytesPerS, "");
}

}  // namespace
}  // namespace forescale::testing
