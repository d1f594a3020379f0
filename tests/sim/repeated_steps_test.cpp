// A few steps of a ring against all of them, where links are shared and where not; and rings whose
// ranks do not keep step.
#include "sim/repeated_steps.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "models/stack.hpp"
#include "sim/ask/isolated.hpp"
#include "sim/folded.hpp"
#include "sim/simulated_call.hpp"
#include "topologies/link_faults.hpp"
#include "topologies/platform.hpp"

namespace forescale {
namespace {

constexpr CollectiveOp kOps[] = {CollectiveOp::kAllReduce, CollectiveOp::kAllGather,
                                 CollectiveOp::kReduceScatter};

// Neighbours of the ring on neighbouring leaves of a fat tree, so that all links up are crowded.
std::vector<int> dealt(int leaves, int hosts) {
  std::vector<int> slots;
  for (int host = 0; host < hosts; ++host)
    for (int leaf = 0; leaf < leaves; ++leaf) slots.push_back(leaf * hosts + host);
  return slots;
}

std::vector<int> first(int count) {
  std::vector<int> slots;
  for (int slot = 0; slot < count; ++slot) slots.push_back(slot);
  return slots;
}

struct RingMachine {
  RingMachine(const std::string& platform_name, const std::string& stack_name)
      : platform(load_platform(platform_name)), stack(load_stack(stack_name)) {}
  Platform platform;
  Stack stack;
  Lanes lanes{platform, stack};

  ResolvedCall call(CollectiveOp op, const std::vector<int>& slots, std::int64_t bytes) const {
    const PlanChoice plan{.collective = &find_collective(op, "ring", "test"), .options = {}};
    return resolve(lanes, shared_group(platform, slots), {.op = op, .bytes = bytes, .plan = &plan});
  }
};

CollectiveOutcome whole(const ResolvedCall& call) {
  const auto simulate = [&] {
    SessionOptions options;  // no members stand for others
    options.choices[call.collective->op] = plan_of(call);
    return to_text(simulate_collective(call, options));
  };
  return collective_outcome(isolated<nlohmann::json>({simulate}, "simulating").front());
}

struct RepeatedCase {
  std::string platform;
  std::string stack;
  std::vector<int> slots;
  std::string name;
};
class RepeatedSteps_Of : public ::testing::TestWithParam<RepeatedCase> {};

TEST_P(RepeatedSteps_Of, ARingAreAllOfThem) {
  const RingMachine machine(GetParam().platform, GetParam().stack);
  const std::vector<int>& slots = GetParam().slots;
  // Even blocks of 16 KiB, and an element more, in blocks of two sizes.
  const auto even = static_cast<std::int64_t>(slots.size()) * 16384;
  for (const CollectiveOp op : kOps)
    for (const std::int64_t bytes : {even, even + 4}) {
      SCOPED_TRACE(fmt::format("{} of {} bytes", name_of(op), bytes));
      const ResolvedCall call = machine.call(op, slots, bytes);
      ASSERT_EQ(why_not_repeated(call), "");
      const auto few = simulate_few_steps(call);
      ASSERT_TRUE(few.has_value());
      const CollectiveOutcome all = whole(call);
      const double allowed = bytes == even ? 1e-9 : 1e-3;
      EXPECT_NEAR(few->outcome.time_s / all.time_s, 1, allowed);
      EXPECT_EQ(few->outcome.messages, all.messages);
      EXPECT_NEAR(few->outcome.bytes_sent / all.bytes_sent, 1, allowed);
      EXPECT_NEAR(few->outcome.busiest.busy_s / all.busiest.busy_s, 1, allowed);
      EXPECT_EQ(few->outcome.has_shared, all.has_shared);
      for (const auto& [name, root_s] : all.root_s)
        EXPECT_NEAR(few->outcome.root_s.at(name), root_s, allowed * all.time_s) << name;
      EXPECT_EQ(few->outcome.sizes.least, all.sizes.least);
      EXPECT_EQ(few->outcome.sizes.most, all.sizes.most);
      if (bytes == even) {
        EXPECT_EQ(few->error, 0);
      } else {
        EXPECT_LE(std::abs(few->outcome.time_s / all.time_s - 1), few->error);
        EXPECT_LT(few->error, 1e-3);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Where, RepeatedSteps_Of,
    ::testing::Values(RepeatedCase{"star:hosts=64,bandwidth=12.5GB/s,latency=1us", "ideal",
                                   first(64), "Star"},
                      RepeatedCase{"fat-tree:down=8x8,up=4,bandwidth=12.5GB/s,latency=1us", "ideal",
                                   dealt(8, 8), "CrowdedFatTree"},
                      RepeatedCase{"fat-tree:down=10x8,up=2,bandwidth=12.5GB/s,latency=1us",
                                   "cray-mpich-aries", dealt(8, 10), "AStackOnAFatTree"}),
    [](const auto& tested) { return tested.param.name; });

// One link is slower, or one way is longer: ranks are done at other moments, and all is simulated.
TEST(RepeatedSteps, AreRefusedWhereRanksDoNotKeepStep) {
  for (const bool has_slow_link : {false, true}) {
    RingMachine star("star:hosts=64,bandwidth=12.5GB/s,latency=1us", "ideal");
    if (has_slow_link) apply_link_faults(star.platform, {{"host5", "0.25"}}, "test");
    const ResolvedCall call = star.call(CollectiveOp::kAllReduce, first(64), 64 * kMiB);
    EXPECT_NE(simulate_few_steps(call).has_value(), has_slow_link);
  }

  const RingMachine leaves("fat-tree:down=8x8,up=4,bandwidth=12.5GB/s,latency=1us", "ideal");
  const ResolvedCall longer = leaves.call(CollectiveOp::kAllReduce, first(64), 64 * kMiB);
  ASSERT_EQ(why_not_repeated(longer), "");
  EXPECT_FALSE(simulate_few_steps(longer).has_value());
}

TEST(RepeatedSteps, AreNotTried) {
  const RingMachine machine("star:hosts=100,bandwidth=12.5GB/s,latency=1us", "ideal");
  const auto why = [&](int ranks, std::int64_t bytes) {
    return why_not_repeated(machine.call(CollectiveOp::kAllReduce, first(ranks), bytes));
  };
  EXPECT_EQ(why(63, kMiB), "there are few ranks");
  EXPECT_EQ(why(100, 396), "some blocks are empty");
  EXPECT_EQ(why(100, 404), "blocks are of two sizes");
  EXPECT_EQ(why(100, 400), "");
  const PlanChoice plan{
      .collective = &find_collective(CollectiveOp::kAllReduce, "recursive-doubling", "test"),
      .options = {}};
  EXPECT_EQ(why_not_repeated(resolve(machine.lanes, shared_first_slots(machine.platform, 64),
                                     {.op = CollectiveOp::kAllReduce, .bytes = 4, .plan = &plan})),
            "all-reduce/recursive-doubling is not a ring");
}

// 512 ranks send half a million messages around a crowded tree; folding by nodes refuses it, and
// blocks of two sizes turn into no others.
TEST(RepeatedSteps, StandForAllWhereThereAreVeryManyMessages) {
  const RingMachine machine("fat-tree:down=16x32,up=8,bandwidth=12.5GB/s,latency=1us", "ideal");
  const ResolvedCall call = machine.call(CollectiveOp::kAllReduce, dealt(32, 16), 64 * kMiB + 4);
  EXPECT_EQ(why_not_folded(call), "messages of several nodes share links");
  FoundAlike alike(call);
  EXPECT_FALSE(fold_where_it_pays(call, alike).has_value());
  const auto few = repeat_where_it_pays(call, alike);
  ASSERT_TRUE(few.has_value());
  EXPECT_EQ(few->ranks, 512);
  EXPECT_LT(few->error, 1e-3);
  EXPECT_NEAR(few->outcome.time_s / whole(call).time_s, 1, few->error);

  for (const auto& [leaves, bytes] : {std::pair{16, 64 * kMiB + 4}, {32, 64 * kMiB}}) {
    const ResolvedCall other = machine.call(CollectiveOp::kAllReduce, dealt(leaves, 16), bytes);
    FoundAlike of_other(other);
    EXPECT_FALSE(repeat_where_it_pays(other, of_other)) << "few messages, or of members alike";
  }
}

}  // namespace
}  // namespace forescale
