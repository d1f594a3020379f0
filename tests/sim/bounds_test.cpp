// Physical floors: by hand for each operation, and under every registered collective.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "sim/bounds.hpp"
#include "sim/resolved_call.hpp"
#include "tests/algorithms/call_variants.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

using ::testing::HasSubstr;

double bound_s(const Platform& platform, const Stack& stack, CollectiveOp op, int ranks,
               std::int64_t bytes) {
  const Lanes lanes(platform, stack);
  CollectiveCall call{.rank_count = ranks, .bytes = bytes};
  return collective_bound(op, call, lanes, lanes.default_place(), first_ranks(call.rank_count))
      .time_s;
}

// What crosses the narrowest port of a star, as a part of the bytes.
TEST(Bound, OfEachOperationOnAStar) {
  constexpr double kRanks = 16;
  constexpr double kOthers = (kRanks - 1) / kRanks;
  const std::map<CollectiveOp, double> share = {{CollectiveOp::kReduce, 1},
                                                {CollectiveOp::kBroadcast, 1},
                                                {CollectiveOp::kAllReduce, 2 * kOthers},
                                                {CollectiveOp::kReduceScatter, kOthers},
                                                {CollectiveOp::kAllGather, kOthers},
                                                {CollectiveOp::kGather, kOthers},
                                                {CollectiveOp::kScatter, kOthers},
                                                {CollectiveOp::kAllToAll, kOthers}};
  const Platform platform = load_platform(star_of(16));
  const Stack stack = load_stack("ideal");
  for (const auto& [op, part] : share) {
    const double expected_s = part * (1 << 28) / kStarBytesPerS;
    EXPECT_NEAR(bound_s(platform, stack, op, 16, 1 << 28), expected_s, 1e-9 * expected_s)
        << name_of(op);
  }
}

// ceil(log2 P) alphas where an alpha holds the ports, one where it does not.
TEST(Bound, OfSmallMessagesIsTheirLatency) {
  const Platform platform = load_platform(star_of(17));
  Stack stack = load_stack("ideal");
  EXPECT_NEAR(bound_s(platform, stack, CollectiveOp::kReduce, 17, 4), 5 * kAlpha_s, 1e-15);
  EXPECT_NEAR(bound_s(platform, stack, CollectiveOp::kReduce, 16, 4), 4 * kAlpha_s, 1e-15);
  stack.latency_holds_ports = false;
  EXPECT_NEAR(bound_s(platform, stack, CollectiveOp::kReduce, 17, 4), kAlpha_s, 1e-15);
}

TEST(Bound, OfOneRankOrNoBytesIsNothing) {
  const Platform platform = load_platform(star_of(4));
  const Stack stack = load_stack("ideal");
  for (const CollectiveOp op : all_collective_ops()) {
    EXPECT_EQ(bound_s(platform, stack, op, 1, 1 << 20), 0) << name_of(op);
    EXPECT_EQ(bound_s(platform, stack, op, 4, 0), 0) << name_of(op);
  }
}

// kesch, 16 devices a node: a device's link carries 12 GB/s, a node's network adapter 6.3.
TEST(Bound, OfTwoNodesOfKesch) {
  const Platform kesch = load_platform("kesch");
  const Stack stack = load_stack("mvapich2-gdr");
  const double link = load_link("k80-card", "test", nullptr).bandwidth.value;
  const double nic = load_link("connect-ib-dual-fdr", "test", nullptr).bandwidth.value;
  const double bytes = 1 << 28;
  constexpr double kOthers = 31.0 / 32;
  const std::map<CollectiveOp, double> expected_s = {
      {CollectiveOp::kReduce, std::max(bytes / link, bytes / nic)},
      {CollectiveOp::kBroadcast, std::max(bytes / link, bytes / nic)},
      {CollectiveOp::kAllReduce, std::max(2 * kOthers * bytes / link, bytes / nic)},
      {CollectiveOp::kReduceScatter, std::max(kOthers * bytes / link, 0.5 * bytes / nic)},
      {CollectiveOp::kAllGather, std::max(kOthers * bytes / link, 0.5 * bytes / nic)},
      {CollectiveOp::kGather, std::max(kOthers * bytes / link, 0.5 * bytes / nic)},
      {CollectiveOp::kScatter, std::max(kOthers * bytes / link, 0.5 * bytes / nic)},
      // 16 ranks send half of what they have to the other node.
      {CollectiveOp::kAllToAll, std::max(kOthers * bytes / link, 16 * 0.5 * bytes / nic)}};
  for (const auto& [op, time_s] : expected_s)
    EXPECT_NEAR(bound_s(kesch, stack, op, 32, 1 << 28), time_s, 1e-9 * time_s) << name_of(op);
}

// GPUDirect to another node's on kesch, as CUDA IPC takes longer, whichever rank that is.
TEST(Bound, OfAFewBytesIsTheSmallestLatencyOfAnyPair) {
  const Platform kesch = load_platform("kesch");
  const Stack stack = load_stack("mvapich2-gdr");
  const Lanes lanes(kesch, stack);
  const auto bound = [&](const std::vector<int>& slots, std::int64_t bytes) {
    const CollectiveCall call{.rank_count = static_cast<int>(slots.size()), .bytes = bytes};
    return collective_bound(CollectiveOp::kBroadcast, call, lanes, lanes.default_place(), slots);
  };
  const double least_s = bound({0, 16}, 4).time_s;
  EXPECT_GT(bound({0, 1, 2}, 4).time_s, 2 * least_s);
  for (const std::vector<int>& slots : {std::vector{0, 1, 2, 16}, std::vector{0, 16, 1, 2}}) {
    EXPECT_DOUBLE_EQ(bound(slots, 4).time_s, least_s);
    EXPECT_THAT(bound(slots, 4).reason, ::testing::HasSubstr("message latencies"));
    EXPECT_THAT(bound(slots, 1 << 28).reason, ::testing::Not(::testing::HasSubstr("latencies")));
  }
}

// Eight adapters a node: a group with one GPU of each node leaves it by one, with two by two, and
// with half of the GPUs of p4de, two to an adapter, by those beside them.
TEST(Bound, OfSomeGpusOfANodeIsThatOfTheirAdapters) {
  const auto two_nodes_s = [](const char* preset, const std::vector<int>& slots) {
    const Platform platform = load_platform(preset);
    const Stack stack = load_stack(platform.nccl);
    const Lanes lanes(platform, stack);
    const CollectiveCall call{.rank_count = static_cast<int>(slots.size()), .bytes = 1 << 30};
    return collective_bound(CollectiveOp::kAllGather, call, lanes, BufferPlace::kGpu, slots).time_s;
  };
  const double ndr = load_link("ndr", "test", nullptr).bandwidth.value;
  const double least = least_wire_factor(load_stack("nccl-2.23-h100"));
  const double half_s = least * (1 << 29) / ndr;
  EXPECT_NEAR(two_nodes_s("dgx-h100", {0, 8}), half_s, 1e-9);
  EXPECT_NEAR(two_nodes_s("dgx-h100", {0, 1, 8, 9}), half_s / 2, 1e-9);
  const double efa = load_link("efa-100g", "test", nullptr).bandwidth.value;
  EXPECT_NEAR(two_nodes_s("aws-p4de", {0, 1, 8, 9}), (1 << 29) / efa, 1e-9);
  EXPECT_NEAR(two_nodes_s("aws-p4de", {0, 2, 8, 10}), (1 << 29) / efa / 2, 1e-9);
}

TEST(Bound, IsEnforced) {
  const Bound bound{.time_s = 1, .reason = "1 GB over 1 GB/s"};
  EXPECT_NO_THROW(enforce(bound, 1, "a reduce"));
  EXPECT_NO_THROW(enforce(bound, 1 - 1e-12, "a reduce"));
  try {
    enforce(bound, 0.999, "a reduce");
    FAIL() << "not enforced";
  } catch (const CheckFailed& error) {
    EXPECT_THAT(error.what(), HasSubstr("a reduce: 999 ms is below its physical bound 1 s"));
    EXPECT_THAT(error.what(), HasSubstr("1 GB over 1 GB/s"));
  }
}

// One element in four blocks belongs to rank 0: gathered there, nothing has to move.
TEST(Bound, CountsOnlyBlocksThatAreNotEmpty) {
  const Platform platform = load_platform(star_of(4));
  const Stack stack = load_stack("ideal");
  EXPECT_EQ(bound_s(platform, stack, CollectiveOp::kGather, 4, 4), 0);
  EXPECT_EQ(bound_s(platform, stack, CollectiveOp::kScatter, 4, 4), 0);
  EXPECT_NEAR(bound_s(platform, stack, CollectiveOp::kGather, 4, 2 * 4), kAlpha_s, 1e-15);
  EXPECT_NEAR(bound_s(platform, stack, CollectiveOp::kGather, 4, 4 * 4), 2 * kAlpha_s, 1e-15);
}

struct Where {
  const char* name;
  const char* platform;
  const char* stack;
};

class EveryCollectiveIsAboveItsBound : public ::testing::TestWithParam<Where> {};

TEST_P(EveryCollectiveIsAboveItsBound, InTheSimulator) {
  const Platform platform = load_platform(GetParam().platform);
  const Stack stack = load_stack(GetParam().stack);
  const Lanes lanes(platform, stack);
  const Variants variants = {.chunk_bytes = {1 << 16}, .chain_sizes = {4}, .levels = {""}};
  struct Case {
    const Collective* collective;
    CollectiveCall call;
  };
  std::vector<Case> cases;
  for (const Collective* collective : all_collectives())
    for (const int ranks : {2, 5, 16, 32})
      for (const std::int64_t bytes : {4, 1 << 20})
        for (const CollectiveCall& call : calls_of(*collective, ranks, bytes, variants))
          cases.push_back({collective, call});
  std::vector<std::function<double()>> tasks;
  tasks.reserve(cases.size());
  for (const Case& each : cases)
    tasks.emplace_back([&] { return collective_s(platform, stack, *each.collective, each.call); });
  const std::vector<double> times_s = in_children(tasks);
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto& [collective, call] = cases[i];
    const PlanChoice plan{.collective = collective, .options = call.options};
    const BufferPlace place =
        resolve(lanes, shared_first_slots(platform, call.rank_count),
                {.op = collective->op, .bytes = call.bytes, .root = call.root, .plan = &plan})
            .place;
    const Bound bound =
        collective_bound(collective->op, call, lanes, place, first_ranks(call.rank_count));
    EXPECT_GE(times_s[i], bound.time_s * (1 - 1e-9))
        << to_text(*collective, call) << ": " << bound.reason;
    // No floor only where nothing has to move: four bytes that are the root's own block.
    EXPECT_EQ(bound.time_s > 0, times_s[i] > 0) << to_text(*collective, call);
  }
}

constexpr const char* kWideStar = "star:hosts=32,bandwidth=12.5GB/s,latency=1us";
INSTANTIATE_TEST_SUITE_P(Where, EveryCollectiveIsAboveItsBound,
                         ::testing::Values(Where{"Star", kWideStar, "ideal"},
                                           Where{"StarEager", kWideStar, "ideal:eager=8KiB"},
                                           Where{"StarChannels", kWideStar, "ideal:channels=4"},
                                           Where{"Kesch", "kesch", "ideal"},
                                           Where{"KeschStack", "kesch", "mvapich2-gdr"}),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace forescale::testing
