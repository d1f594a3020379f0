// What is folded against the same simulated whole, on groups of several shapes; and what is not
// folded.
#include "sim/folded.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "models/stack.hpp"
#include "sim/alike_members.hpp"
#include "sim/ask/isolated.hpp"
#include "sim/simulated_call.hpp"
#include "topologies/link_faults.hpp"
#include "topologies/platform.hpp"

namespace forescale {
namespace {

constexpr int kGpusANode = 8;
constexpr int kOneGiB = 1 << 30;

// So many GPUs of each node, `stride` apart.
std::vector<int> slots_of_nodes(int nodes, int each, int stride = 1) {
  std::vector<int> slots;
  for (int node = 0; node < nodes; ++node)
    for (int i = 0; i < each; ++i) slots.push_back(node * kGpusANode + i * stride);
  return slots;
}

double simulated_whole_s(const ResolvedCall& call) {
  const auto simulate = [&] {
    SessionOptions options;
    options.choices[call.collective->op] = {.collective = call.collective,
                                            .options = call.call.options};
    const std::vector<int>& slots = call.group->slots;
    return simulate_collective(call.lanes->platform(), call.lanes->stack(),
                               {.op = call.collective->op,
                                .bytes = call.call.bytes,
                                .label = "whole",
                                .group = std::make_shared<const std::vector<int>>(slots)},
                               *std::max_element(slots.begin(), slots.end()) + 1, options)
        .time_s;
  };
  return isolated<double>({simulate}, "simulating").front();
}

struct Ring {
  explicit Ring(Platform on = load_platform("dgx-h100")) : platform(std::move(on)) {}
  Platform platform;
  Stack stack = load_stack("nccl-2.23-h100");
  Lanes lanes{platform, stack};

  ResolvedCall call(CollectiveOp op, const std::vector<int>& slots, std::int64_t bytes) const {
    const PlanChoice plan{.collective = &find_collective(op, "ring", "test"), .options = {}};
    return resolve(lanes, shared_group(platform, slots), {.op = op, .bytes = bytes, .plan = &plan});
  }

  double whole_s(const ResolvedCall& call) const { return simulated_whole_s(call); }
};

struct FoldedCase {
  CollectiveOp op;
  int nodes;
  int each;
  int stride;
  bool is_exact;
};
class FoldedRings : public ::testing::TestWithParam<FoldedCase> {};

TEST_P(FoldedRings, IsAsLongAsTheWholeOne) {
  const FoldedCase& about = GetParam();
  const Ring ring;
  const ResolvedCall call =
      ring.call(about.op, slots_of_nodes(about.nodes, about.each, about.stride), kOneGiB);
  ASSERT_EQ(why_not_folded(call), "");
  const Folded folded = simulate_folded(call);
  EXPECT_EQ(folded.ranks, 10 * about.each);
  // Where roles of a part slow each other no more is said; these are exact all the same.
  EXPECT_LE(folded.error, about.is_exact ? 0.015 : 0.06);
  const double allowed = about.is_exact ? 1e-9 : 0.03;
  const double whole_s = ring.whole_s(call);
  EXPECT_NEAR(folded.outcome.time_s / whole_s, 1, allowed);
}

TEST(FoldedRingCosts, AreThoseOfAllRanks) {
  for (const int ranks : {64, 100, 257})
    for (const CollectiveOp op :
         {CollectiveOp::kAllReduce, CollectiveOp::kAllGather, CollectiveOp::kReduceScatter}) {
      const Platform platform =
          load_platform("star:hosts=" + std::to_string(ranks) + ",bandwidth=12.5GB/s,latency=1us");
      const Stack stack = load_stack("ideal");
      const Lanes lanes(platform, stack);
      std::vector<int> slots(static_cast<size_t>(ranks));
      std::iota(slots.begin(), slots.end(), 0);
      const PlanChoice plan{.collective = &find_collective(op, "ring", "test"), .options = {}};
      const ResolvedCall call = resolve(lanes, shared_group(platform, slots),
                                        {.op = op, .bytes = 100'000'000, .plan = &plan});
      const auto few = cost_of_few(call);
      ASSERT_TRUE(few.has_value()) << ranks;
      const CostResult all = evaluate_cost(call);
      // Blocks of one size: 257 ranks round theirs up.
      EXPECT_NEAR(few->time_s / all.time_s, 1, ranks == 257 ? 1e-6 : 1e-9) << ranks;
      EXPECT_EQ(few->messages, all.messages);
      EXPECT_EQ(few->operations, all.operations);
      EXPECT_NEAR(few->bytes_sent / all.bytes_sent, 1, 1e-5);
    }
}

// One or two nodes that are unlike the others.
TEST(FoldedUnlikeNodes, RingsAndTheirCostsAreThoseOfAll) {
  for (const auto& links : std::vector<std::map<std::string, std::string>>{
           {{"host77", "0.5"}}, {{"host0", "0.1"}}, {{"host12", "0.3"}, {"host95", "0.2"}}})
    for (const CollectiveOp op : {CollectiveOp::kAllReduce, CollectiveOp::kAllGather}) {
      Platform platform = load_platform("star:hosts=96,bandwidth=12.5GB/s,latency=1us");
      apply_link_faults(platform, links, "test");
      const Stack stack = load_stack("ideal");
      const Lanes lanes(platform, stack);
      const PlanChoice plan{.collective = &find_collective(op, "ring", "test"), .options = {}};
      const ResolvedCall call = resolve(lanes, shared_first_slots(platform, 96),
                                        {.op = op, .bytes = 96 << 10, .plan = &plan});
      ASSERT_EQ(why_not_folded(call), "");
      const double whole_s = simulated_whole_s(call);
      const Folded folded = simulate_folded(call);
      EXPECT_EQ(folded.error, 0);
      EXPECT_NEAR(folded.outcome.time_s / whole_s, 1, 1e-9);
      const auto cost = cost_of_few(call);
      ASSERT_TRUE(cost.has_value());
      EXPECT_NEAR(cost->time_s / evaluate_cost(call).time_s, 1, 1e-9);
    }
}

TEST(FoldedUnlikeNodes, NcclsRingsAreAsLongAsTheWhole) {
  for (const auto& links :
       std::vector<std::map<std::string, std::string>>{{{"node3/nic0", "0.25"}},
                                                       {{"node15", "0.5"}},
                                                       {{"node5", "0.5"}, {"node9/nic1", "0.1"}},
                                                       {{"node8/nic2", "down"}}}) {
    Platform platform = load_platform("dgx-h100");
    apply_link_faults(platform, links, "test");
    const Ring ring(std::move(platform));
    const ResolvedCall call = ring.call(CollectiveOp::kAllGather, slots_of_nodes(16, 4), kOneGiB);
    ASSERT_EQ(why_not_folded(call), "");
    const Folded folded = simulate_folded(call);
    EXPECT_LE(folded.error, 0.04);
    EXPECT_NEAR(folded.outcome.time_s / ring.whole_s(call), 1, folded.error);
  }
}

// What a slow adapter costs a tree is more where its node has more peers.
TEST(FoldedUnlikeNodes, HaveInTreesAsManyPeersAsAmongAll) {
  const PlanChoice plan = parse_plan("all-reduce/star-tree:chain_size=1,chunk_bytes=524288", "x");
  std::set<double> times_ms;
  for (const int node : {0, 3, 30, 31}) {
    Platform platform = load_platform("dgx-h100");
    apply_link_faults(platform, {{fmt::format("node{}/nic0", node), "0.25"}}, "test");
    const Ring ring(std::move(platform));
    const ResolvedCall call =
        resolve(ring.lanes, shared_group(ring.platform, slots_of_nodes(32, 1)),
                {.op = CollectiveOp::kAllReduce, .bytes = 256 << 20, .plan = &plan});
    ASSERT_EQ(why_not_folded(call), "");
    const Folded folded = simulate_folded(call);
    EXPECT_LE(folded.error, 0.15);
    EXPECT_NEAR(folded.outcome.time_s / ring.whole_s(call), 1, folded.error);
    times_ms.insert(std::round(1e3 * folded.outcome.time_s));
  }
  EXPECT_GT(*times_ms.rbegin(), 1.5 * *times_ms.begin());
}

// One byte of 149 blocks, the others empty: nothing is said of it but by all of them.
TEST(FoldedRingCosts, OfBlocksThatDifferAreNotThoseOfFew) {
  const Platform platform = load_platform("star:hosts=149,bandwidth=1MB/s,latency=1us");
  const Stack stack = load_stack("ideal");
  const Lanes lanes(platform, stack);
  const PlanChoice plan{.collective = &find_collective(CollectiveOp::kAllGather, "ring", "test"),
                        .options = {}};
  for (const std::int64_t bytes : {0, 1}) {
    const ResolvedCall call =
        resolve(lanes, shared_first_slots(platform, 149),
                {.op = CollectiveOp::kAllGather, .bytes = bytes, .plan = &plan});
    EXPECT_FALSE(cost_of_few(call).has_value()) << bytes;
    // 1 us and a byte at 1 MB/s on each of 148 steps.
    EXPECT_NEAR(evaluate_cost(call).time_s, bytes == 0 ? 0 : 148 * 2e-6, 1e-12);
  }
}

// Of 128 nodes one stands for all, exactly: what few nodes say of as many is as near as it says.
TEST(FoldedRingOfManyNodes, IsAsNearAsItSays) {
  const Ring ring(load_platform("dgx-h100:nodes=128"));
  // 16 MiB in blocks as large as those of 1 GiB on 65,536.
  for (const auto& [op, bytes] : {std::pair{CollectiveOp::kAllReduce, kOneGiB},
                                  {CollectiveOp::kAllReduce, 1 << 24},
                                  {CollectiveOp::kAllGather, kOneGiB}}) {
    const ResolvedCall call = ring.call(op, slots_of_nodes(128, 8), bytes);
    ASSERT_EQ(why_not_folded(call), "");
    const Folded folded = simulate_folded(call);
    const auto alike = alike_members(call);
    ASSERT_TRUE(alike);
    EXPECT_EQ(alike->turn.blocks, 128);
    const auto exact_s = [&] {
      SessionOptions options;
      options.choices[call.collective->op] = plan_of(call);
      options.alike = &*alike;
      return simulate_collective(call, options).time_s;
    };
    EXPECT_NEAR(folded.outcome.time_s / isolated<double>({exact_s}, "simulating").front(), 1,
                folded.error);
  }
}

std::optional<Folded> folded_if_it_pays(const ResolvedCall& call) {
  FoundAlike alike(call);
  return fold_where_it_pays(call, alike);
}

// 256 ranks send a million messages in eight parts, 64 ranks 64,512, few enough for all.
TEST(FoldedRingPays, OnFewNodesByItsMessages) {
  const Ring ring(load_platform("dgx-h100:nodes=56"));
  const ResolvedCall of_448 = ring.call(CollectiveOp::kAllGather, slots_of_nodes(56, 8), kOneGiB);
  const auto few = folded_if_it_pays(of_448);
  ASSERT_TRUE(few.has_value());
  EXPECT_EQ(few->ranks, 80);
  EXPECT_TRUE(few->is_large);
  EXPECT_GE(few->error, 0.03);  // of points that are not on a line: equal times, in another order
  EXPECT_NEAR(few->outcome.time_s / ring.whole_s(of_448), 1, 0.03);
  EXPECT_EQ(few->outcome.messages, 448U * 447 * 8);
  // One part stands for all of 256: whole, and exact.
  const ResolvedCall of_256 = ring.call(CollectiveOp::kAllReduce, slots_of_nodes(32, 8), kOneGiB);
  EXPECT_FALSE(folded_if_it_pays(of_256).has_value());
  const ResolvedCall of_64 =
      ring.call(CollectiveOp::kAllReduce, slots_of_nodes(32, 2), std::int64_t{1} << 20);
  EXPECT_EQ(why_not_folded(of_64), "");
  EXPECT_FALSE(folded_if_it_pays(of_64).has_value());
}

// Steps on four GH200 each differ without order by 3 % from one number of nodes to the next: what
// the slope between two numbers says is 7 % off here.
TEST(FoldedRing, StepsThatDifferCountByTheirMean) {
  const Platform platform = load_platform("alps-gh200:nodes=64");
  const Stack stack = load_stack("nccl-2.23-gh200");
  const Lanes lanes(platform, stack);
  const PlanChoice plan = parse_plan("all-reduce/ring", "test");
  constexpr std::int64_t kBytes = 419'014'656;
  const ResolvedCall call =
      resolve(lanes, shared_first_slots(platform, 256),
              {.op = CollectiveOp::kAllReduce, .bytes = kBytes, .plan = &plan});
  const Folded folded = simulate_folded(call);
  EXPECT_GE(folded.error, 0.06);
  EXPECT_LT(folded.error, 0.1);
  EXPECT_NEAR(folded.outcome.time_s / simulated_whole_s(call), 1, 0.05);
}

// 0.7 s, which few nodes miss by 1.4 %.
TEST(FoldedTree, OfFewMessagesIsSimulatedWhole) {
  const Platform platform = load_platform("alps-gh200:nodes=180");
  const Stack stack = load_stack("nccl-2.23-gh200");
  const Lanes lanes(platform, stack);
  const ResolvedCall call = resolve(lanes, shared_first_slots(platform, 720),
                                    {.op = CollectiveOp::kAllReduce, .bytes = 256 << 10});
  ASSERT_THAT(call.collective->algorithm, ::testing::HasSubstr("tree"));
  EXPECT_EQ(why_not_folded(call), "");
  EXPECT_FALSE(folded_if_it_pays(call).has_value());
}

TEST(FoldedRingRefuses, WhatSendsNothing) {
  const Ring ring;
  EXPECT_EQ(why_not_folded(ring.call(CollectiveOp::kAllGather, slots_of_nodes(32, 1), 0)),
            "nothing is sent");
}

TEST(FoldedRingCounts, WhatAllRanksSend) {
  const Ring ring;
  const ResolvedCall call = ring.call(CollectiveOp::kAllGather, slots_of_nodes(32, 1), kOneGiB);
  const CollectiveOutcome outcome = simulate_folded(call).outcome;
  const std::size_t parts = call.parts().size();
  EXPECT_EQ(outcome.messages, parts * 32 * 31);
  EXPECT_DOUBLE_EQ(outcome.bytes_sent, 31.0 * kOneGiB);
}

INSTANTIATE_TEST_SUITE_P(
    Groups, FoldedRings,
    ::testing::Values(FoldedCase{CollectiveOp::kAllGather, 32, 1, 1, true},
                      FoldedCase{CollectiveOp::kAllGather, 16, 8, 1, false},
                      FoldedCase{CollectiveOp::kReduceScatter, 32, 1, 1, true},
                      FoldedCase{CollectiveOp::kReduceScatter, 32, 2, 1, true},
                      FoldedCase{CollectiveOp::kReduceScatter, 16, 4, 2, false},
                      FoldedCase{CollectiveOp::kReduceScatter, 16, 8, 1, false},
                      FoldedCase{CollectiveOp::kAllReduce, 16, 2, 4, true}));

TEST(FoldedRingRefuses, WhatIsNotAlike) {
  const Ring ring;
  std::vector<int> slots = slots_of_nodes(16, 2);
  slots.pop_back();
  EXPECT_NE(why_not_folded(ring.call(CollectiveOp::kAllGather, slots, kOneGiB)).find("same GPUs"),
            std::string::npos);
  slots.push_back(15 * kGpusANode + 5);
  EXPECT_NE(why_not_folded(ring.call(CollectiveOp::kAllGather, slots, kOneGiB)).find("same GPUs"),
            std::string::npos);
  EXPECT_NE(why_not_folded(ring.call(CollectiveOp::kAllGather, slots_of_nodes(10, 2), kOneGiB))
                .find("few nodes"),
            std::string::npos);
}

// Leaves of 4 hosts: a ring whose every way leads to another leaf.
std::string why_not_on_fat_tree(const char* text, const char* stack_name, int stride) {
  const Platform platform = load_platform(text);
  const Stack stack = load_stack(stack_name);
  const Lanes lanes(platform, stack);
  const PlanChoice plan{.collective = &find_collective(CollectiveOp::kAllGather, "ring", "test"),
                        .options = {}};
  std::vector<int> slots;
  for (int begin = 0; begin < stride; ++begin)
    for (int slot = begin; slot < 32; slot += stride) slots.push_back(slot);
  return why_not_folded(resolve(lanes, shared_group(platform, slots),
                                {.op = CollectiveOp::kAllGather, .bytes = kOneGiB, .plan = &plan}));
}

TEST(FoldedRingRefuses, LinksOfSeveralNodes) {
  const char* two_to_one = "fat-tree:down=4x8,up=2,bandwidth=12.5GB/s,latency=1us";
  EXPECT_EQ(why_not_on_fat_tree(two_to_one, "openmpi-1.10", 4),
            "messages of several nodes share links");
  EXPECT_EQ(why_not_on_fat_tree(two_to_one, "openmpi-1.10", 1), "");
}

TEST(FoldedRingRefuses, LatenciesThatDifferAndHoldPorts) {
  EXPECT_EQ(why_not_on_fat_tree("fat-tree:radix=8,bandwidth=12.5GB/s,latency=1us", "ideal", 1),
            "latencies between nodes differ, and hold ports");
}

// Four nodes a scalable unit, so that most of 32 nodes are several switches away.
Platform rail_optimized() {
  return read_platform(R"({
    "format": "forescale-platform-1", "name": "rails", "assumptions": ["a test"],
    "link_classes": {"far": {"bandwidth_bytes_per_s": 48.8e9, "latency_s": 5e-6}},
    "node": {"count": 32, "layout": "preset", "preset": "dgx-h100"},
    "fabric": {"layout": "fat-tree", "down": [4, 64], "up": [4], "rails": 8, "routing": "adaptive",
               "link": "ndr", "up_link": "far"}})",
                       "rails.json");
}

TEST(FoldedOverSwitches, RingsTakeTheirLongerWays) {
  const Ring ring(rail_optimized());
  // Of one GPU of each node one way in four is longer; of two, whose rings change rails, all are;
  // of eight, what parts meet on differs from step to step.
  for (const CollectiveOp op : {CollectiveOp::kAllGather, CollectiveOp::kAllReduce})
    for (const int each : {1, 2, 8}) {
      if (each == 8 && op == CollectiveOp::kAllReduce) continue;  // takes twice as long
      const ResolvedCall call = ring.call(op, slots_of_nodes(32, each), 4 << 20);
      ASSERT_EQ(why_not_folded(call), "");
      const Folded folded = simulate_folded(call);
      EXPECT_LE(folded.error, each < 8 ? 0.015 : 0.06);
      EXPECT_NEAR(folded.outcome.time_s / ring.whole_s(call), 1, each < 8 ? 1e-9 : 0.03);
    }
}

// Nodes drawn from a whole dragonfly: few of them have none as near each other as the nearest of
// all.
TEST(FoldedOverSwitches, RingsOfScatteredNodesTakeTheirLongerWays) {
  Ring ring(load_platform("piz-daint"));
  ring.stack = load_stack("nccl-2.3");
  for (const CollectiveOp op :
       {CollectiveOp::kAllGather, CollectiveOp::kReduceScatter, CollectiveOp::kAllReduce})
    for (const int ranks : {64, 97}) {
      std::vector<int> slots(static_cast<size_t>(ranks));
      std::iota(slots.begin(), slots.end(), 0);
      const ResolvedCall call = ring.call(op, slots, ranks * std::int64_t{4});
      ASSERT_EQ(why_not_folded(call), "");
      const Folded folded = simulate_folded(call);
      EXPECT_EQ(folded.error, 0);
      EXPECT_NEAR(folded.outcome.time_s / ring.whole_s(call), 1, 1e-9) << name_of(op) << ranks;
    }
}

TEST(FoldedOverSwitches, TreesTakeTheirLongerWays) {
  const Ring ring(rail_optimized());
  const PlanChoice plan = parse_plan("all-reduce/star-tree:chain_size=1,chunk_bytes=65536", "x");
  const ResolvedCall call =
      resolve(ring.lanes, shared_group(ring.platform, slots_of_nodes(32, 1)),
              {.op = CollectiveOp::kAllReduce, .bytes = 32 << 20, .plan = &plan});
  ASSERT_EQ(why_not_folded(call), "");
  const Folded folded = simulate_folded(call);
  EXPECT_NEAR(folded.outcome.time_s / ring.whole_s(call), 1, folded.error);
  EXPECT_LT(folded.error, 0.2);
}

// Every registered collective, wherever it folds: to 1e-9 or within what it says. What does not
// fold says why.
struct FoldedPlace {
  const char* platform;
  const char* stack;
  std::vector<int> ranks;
  std::set<std::string> folds;  // of the registry
};
class FoldedRegistry : public ::testing::TestWithParam<FoldedPlace> {};

TEST_P(FoldedRegistry, IsTheWholeOrSaysWhyNot) {
  const Platform platform = load_platform(GetParam().platform);
  const Stack stack = load_stack(GetParam().stack);
  const Lanes lanes(platform, stack);
  std::set<std::string> folds;
  for (const int ranks : GetParam().ranks)
    for (const Collective* collective : all_collectives()) {
      const PlanChoice plan{.collective = collective, .options = {}};
      std::optional<ResolvedCall> call;
      try {
        call = resolve(lanes, shared_first_slots(platform, ranks),
                       {.op = collective->op, .bytes = 1 << 20, .plan = &plan});
      } catch (const InputError&) {
        continue;  // not for so many ranks
      }
      if (!why_not_folded(*call).empty()) continue;
      const Folded folded = simulate_folded(*call);
      if (folded.error > kMostFoldedError) continue;  // not used
      folds.insert(collective->name);
      EXPECT_NEAR(folded.outcome.time_s / simulated_whole_s(*call), 1, std::max(1e-9, folded.error))
          << collective->name << " " << ranks;
    }
  EXPECT_EQ(folds, GetParam().folds);
}

const std::set<std::string> kRingsAndTrees = {"allgather/ring", "all-reduce/ring",
                                              "reduce-scatter/ring", "all-reduce/chain-tree",
                                              "all-reduce/star-tree"};
// Where ways between nodes are of different lengths and sums are made on cores.
const std::set<std::string> kGathers = {"allgather/ring"};

INSTANTIATE_TEST_SUITE_P(
    Where, FoldedRegistry,
    ::testing::Values(
        FoldedPlace{"star:hosts=256,bandwidth=12.5GB/s,latency=1us",
                    "ideal",
                    {16, 17, 64, 256},
                    kRingsAndTrees},
        FoldedPlace{"fat-tree:radix=16,bandwidth=12.5GB/s,latency=1us",
                    "openmpi-1.10",
                    {16, 128},
                    kGathers},
        FoldedPlace{"fat-tree:down=8x16,up=4,bandwidth=12.5GB/s,latency=1us",
                    "openmpi-1.10",
                    {16, 128},
                    kGathers},
        FoldedPlace{"dragonfly:groups=9,routers=4,hosts=4,globals=2,bandwidth=12.5GB/s,latency=1us",
                    "openmpi-1.10",
                    {16, 144},
                    kGathers},
        FoldedPlace{"dragonfly+:groups=4,leaves=8,spines=8,hosts=8,globals=2,bandwidth=12.5GB/"
                    "s,latency=1us",
                    "openmpi-1.10",
                    {16, 256},
                    kGathers},
        FoldedPlace{
            "torus:dims=4x4x4,bandwidth=12.5GB/s,latency=1us", "openmpi-1.10", {16, 64}, kGathers},
        FoldedPlace{"dgx-h100", "nccl-2.23-h100", {96, 128}, kRingsAndTrees},
        FoldedPlace{
            "aws-p5", "nccl-2.23-h100-efa:take=nvls_tree/simple", {96, 128}, kRingsAndTrees},
        FoldedPlace{"kesch", "mvapich2-gdr", {16, 192}, {}}),
    [](const auto& tested) {
      std::string name = tested.param.platform;
      return name.substr(0, name.find_first_of(":-+")) + std::to_string(tested.index);
    });

// NCCL's trees in chunks of 64 KiB.
TEST(FoldedTree, IsAsLongAsTheWholeOne) {
  const Ring ring(load_platform("dgx-h100:nodes=64"));
  // Of 64 nodes 32 are simulated where a part has few chunks (of eight parts), else 16, as of 32.
  for (const auto& [nodes, each, few_nodes] : {std::tuple(32, 1, 16), std::tuple(32, 4, 16),
                                               std::tuple(64, 1, 16), std::tuple(64, 4, 32)}) {
    const PlanChoice plan =
        parse_plan(each == 1 ? "all-reduce/star-tree:chain_size=1,chunk_bytes=65536"
                             : "all-reduce/chain-tree:chain_size=4,chunk_bytes=65536",
                   "x");
    const ResolvedCall call =
        resolve(ring.lanes, shared_group(ring.platform, slots_of_nodes(nodes, each)),
                {.op = CollectiveOp::kAllReduce, .bytes = 32 << 20, .plan = &plan});
    ASSERT_EQ(why_not_folded(call), "");
    const Folded folded = simulate_folded(call);
    EXPECT_EQ(folded.ranks, few_nodes * each);
    EXPECT_GT(folded.error, 0);
    EXPECT_LT(folded.error, 0.1);
    EXPECT_NEAR(folded.outcome.time_s / ring.whole_s(call), 1, folded.error);
  }
}

// As NCCL has it on 1,024 GPUs, where parts that are alike stand for all.
TEST(FoldedTree, OfManyLevelsIsAsNearAsItSays) {
  const Platform platform = load_platform("dgx-h100:nodes=128");
  const Stack stack = load_stack("nccl-2.23-h100");
  const Lanes lanes(platform, stack);
  for (const std::int64_t bytes : {1 << 20, 16 << 20, 64 << 20, 256 << 20}) {
    const ResolvedCall call = resolve(lanes, shared_first_slots(platform, 1024),
                                      {.op = CollectiveOp::kAllReduce, .bytes = bytes});
    ASSERT_THAT(call.collective->algorithm, ::testing::HasSubstr("tree"));
    FoundAlike alike(call);
    EXPECT_FALSE(fold_where_it_pays(call, alike).has_value());
    const auto whole = [&] {
      return simulated_text(call, plan_of(call), rules_of(call), alike).at("time_s").get<double>();
    };
    const double whole_s = isolated<double>({whole}, "simulating").front();
    const Folded folded = simulate_folded(call);
    EXPECT_LE(folded.error, 0.06);
    EXPECT_NEAR(folded.outcome.time_s / whole_s, 1, 0.05) << bytes;
  }
}

// What NCCL takes of what its environment leaves is no rule of its selection, where trees of 64 MiB
// go by another protocol: fewer nodes keep to the rules of all.
TEST(FoldedTree, KeepsToTheRulesThatTheStackTook) {
  const Platform platform = load_platform("dgx-h100");
  const auto folded_s = [&](const std::string& options) {
    const Stack stack = load_stack("nccl-2.23-h100:" + options);
    const Lanes lanes(platform, stack);
    const ResolvedCall call =
        resolve(lanes, shared_group(platform, slots_of_nodes(32, 8)),
                {.op = CollectiveOp::kAllReduce, .bytes = 64 << 20, .plan = nullptr});
    EXPECT_EQ(why_not_folded(call), "");
    return simulate_folded(call).outcome.time_s;
  };
  for (const char* protocol : {"LL128", "Simple"}) {
    std::string lower = protocol;
    std::transform(lower.begin(), lower.end(), lower.begin(), ::tolower);
    EXPECT_DOUBLE_EQ(folded_s(std::string("NCCL_ALGO=Tree,NCCL_PROTO=") + protocol),
                     folded_s("take=tree/" + lower))
        << protocol;
  }
}

}  // namespace
}  // namespace forescale
