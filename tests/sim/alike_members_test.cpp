// One part of a call for all of them, against all of them, on every platform that names its NCCL.
#include "sim/alike_members.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/data_files.hpp"
#include "base/json_text.hpp"
#include "base/units.hpp"
#include "sim/ask/isolated.hpp"
#include "sim/run/simulate.hpp"
#include "sim/simulated_call.hpp"
#include "topologies/link_faults.hpp"
#include "topologies/node_routes.hpp"
#include "topologies/platform.hpp"

namespace forescale {
namespace {

struct Place {
  explicit Place(const std::string& platform_name, const std::string& stack_name = "")
      : platform(load_platform(platform_name)),
        stack(load_stack(stack_name.empty() ? platform.nccl : stack_name)) {}
  Platform platform;
  Stack stack;
  Lanes lanes{platform, stack};

  int gpus_of_a_node() const { return static_cast<int>(platform.node_routes->endpoints.size()); }
  // So many GPUs of each of the first nodes.
  ResolvedCall call(CollectiveOp op, int nodes, int gpus, std::int64_t bytes) const {
    std::vector<int> slots;
    for (int node = 0; node < nodes; ++node)
      for (int gpu = 0; gpu < gpus; ++gpu) slots.push_back(node * gpus_of_a_node() + gpu);
    return resolve(lanes, shared_group(platform, slots), {.op = op, .bytes = bytes});
  }
};

enum class Plan { kOfTheStack, kNamed };

std::string outcome_text(const ResolvedCall& call, const AlikeMembers* alike, Plan plan) {
  SessionOptions options;
  if (plan == Plan::kNamed) options.choices[call.collective->op] = plan_of(call);
  options.alike = alike;
  const CollectiveOutcome outcome = simulate_collective(call, options);
  return nlohmann::json({outcome.time_s, outcome.messages, outcome.bytes_sent,
                         outcome.busiest.busy_s, outcome.root_s})
      .dump();
}

// Times of both, and all else that is told of them, to `precision`.
void expect_as_all(const ResolvedCall& call, const AlikeMembers& alike, double precision,
                   Plan plan = Plan::kOfTheStack) {
  const auto found = isolated<std::string>({[&] { return outcome_text(call, nullptr, plan); },
                                            [&] { return outcome_text(call, &alike, plan); }},
                                           "simulating");
  const auto all = parse_json(found[0]);
  const auto one = parse_json(found[1]);
  EXPECT_NEAR(one[0].get<double>() / all[0].get<double>(), 1, precision);
  EXPECT_EQ(one[1], all[1]) << "messages";
  EXPECT_NEAR(one[2].get<double>() / all[2].get<double>(), 1, precision) << "bytes";
  EXPECT_NEAR(one[3].get<double>() / all[3].get<double>(), 1, precision) << "of the busiest link";
  for (const auto& [name, time_s] : all[4].items())
    EXPECT_NEAR(one[4].value(name, 0.0), time_s.get<double>(), precision * all[0].get<double>())
        << name;
}

std::vector<std::string> platforms_with_nccl() {
  std::vector<std::string> found;
  for (const std::string& name : catalogue("topologies/presets"))
    if (!load_platform(name).nccl.empty()) found.push_back(name);
  return found;
}

class AlikeMembers_OfAPlatform : public ::testing::TestWithParam<std::string> {};

TEST_P(AlikeMembers_OfAPlatform, OneTakesAsLongAsAll) {
  const Place place(GetParam());
  const int all_gpus = place.gpus_of_a_node();
  int found = 0;
  const int nodes_there = place.platform.slot_count() / all_gpus;
  for (const auto& [nodes, gpus] :
       {std::pair{1, all_gpus}, {2, all_gpus}, {3, all_gpus}, {4, 4}, {4, 2}, {5, 1}, {2, 3}}) {
    if (nodes > nodes_there || gpus > all_gpus || nodes * gpus > 40 || nodes * gpus < 2) continue;
    for (const CollectiveOp op :
         {CollectiveOp::kAllReduce, CollectiveOp::kAllGather, CollectiveOp::kReduceScatter})
      for (const std::int64_t bytes : {96 * kKiB, 6 * kMiB, 48 * kMiB}) {
        SCOPED_TRACE(fmt::format("{} of {} B, {} x {}", name_of(op), bytes, nodes, gpus));
        const ResolvedCall call = place.call(op, nodes, gpus, bytes);
        const auto alike = alike_members(call);
        if (!alike || !alike->is_even) continue;
        ++found;
        expect_as_all(call, *alike, 1e-9);
      }
  }
  EXPECT_GT(found, 0);
}

INSTANTIATE_TEST_SUITE_P(All, AlikeMembers_OfAPlatform, ::testing::ValuesIn(platforms_with_nccl()),
                         [](const auto& name) {
                           std::string text = name.param;
                           std::replace_if(
                               text.begin(), text.end(),
                               [](char c) { return c == '-' || c == '.'; }, '_');
                           return text;
                         });

// Eight rings that start at each GPU: each port of a node is one of eight that are turned into each
// other, and carries what all eight roles of a part send. Of two GPUs, each twice among four parts,
// half of a port's capacity is for one part's messages.
TEST(AlikeMembersFound, SayWhatStandsForWhat) {
  const Place place("dgx-h100:nodes=4");
  const auto whole = alike_members(place.call(CollectiveOp::kAllReduce, 4, 8, 64 * kMiB));
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->parts, 8);
  EXPECT_EQ(whole->ranks[7], 0);
  EXPECT_EQ(whole->ranks[15], 8);
  for (const auto& [resource, standing] : whole->standing) EXPECT_EQ(standing.share, 1);
  const auto pairs = alike_members(place.call(CollectiveOp::kAllGather, 4, 2, 64 * kMiB));
  ASSERT_TRUE(pairs);
  EXPECT_EQ(pairs->parts, 4);
  for (const auto& [resource, standing] : pairs->standing) EXPECT_EQ(standing.share, 0.5);
}

// A rack's 16 parts start at GPUs 0, 4, 9, 13, ...: turned by nine, every second is the same. Two
// stand for eight each, and each of a rack's GPUs for eight.
TEST(AlikeMembersFound, ArePartsOfTwoKinds) {
  const Place place("gb200-nvl72:nodes=2");
  for (const std::int64_t bytes : {12 * kMiB, 96 * kMiB}) {
    const ResolvedCall call = place.call(CollectiveOp::kAllReduce, 2, 72, bytes);
    ASSERT_EQ(call.parts().size(), 16U);
    const auto alike = alike_members(call);
    ASSERT_TRUE(alike);
    EXPECT_EQ(alike->parts, 8);
    EXPECT_EQ(alike->ranks[9], 0);
    EXPECT_EQ(alike->ranks[71], 8);
    EXPECT_EQ(alike->ranks[81], 72);
    expect_as_all(call, *alike, 1e-9);
  }
}

// A GPU's proxy thread sends what its role of one part does and receives that of another's.
TEST(AlikeMembersFound, ShareProxyThreads) {
  Place place("dgx-h100:nodes=3");
  for (PathRule& rule : place.stack.paths) rule.o_proxy = Seconds{5e-6};
  const ResolvedCall call = place.call(CollectiveOp::kAllGather, 3, 8, 6 * kMiB);
  const auto alike = alike_members(call);
  ASSERT_TRUE(alike);
  expect_as_all(call, *alike, 1e-9);
  EXPECT_FALSE(alike_members(place.call(CollectiveOp::kAllGather, 3, 2, 6 * kMiB)))
      << "one thread has two messages to do where one part has one";
}

// Twelve parts of 16 Mi elements: four have one more.
TEST(AlikeMembersFound, AreNearlyWhereSomeHaveAnElementMore) {
  const Place place("alps-gh200:nodes=4");
  const ResolvedCall call = place.call(CollectiveOp::kAllReduce, 4, 4, 64 * kMiB);
  const auto alike = alike_members(call);
  ASSERT_TRUE(alike);
  EXPECT_FALSE(alike->is_even);
  expect_as_all(call, *alike, 1e-3);
  EXPECT_FALSE(alike_members(place.call(CollectiveOp::kAllReduce, 4, 4, 64 * kKiB)))
      << "an element is 2e-4 of them";
}

TEST(AlikeMembersFound, AreNoneWhereTheyDiffer) {
  const auto is_found = [](const std::string& platform, CollectiveOp op, int nodes, int gpus) {
    const Place place(platform);
    return alike_members(place.call(op, nodes, gpus, 48 * kMiB)).has_value();
  };
  EXPECT_TRUE(is_found("dgx-h100", CollectiveOp::kAllReduce, 2, 8));
  EXPECT_FALSE(is_found("dgx-h100", CollectiveOp::kBroadcast, 2, 8)) << "each has its own root";
  Place slow("dgx-h100");
  apply_link_faults(slow.platform, {{"node0/gpu3--node0/nvswitch", "0.9"}}, "test");
  EXPECT_FALSE(alike_members(slow.call(CollectiveOp::kAllReduce, 2, 8, 48 * kMiB)))
      << "one GPU's NVLinks are slower";
  const Place told("kesch", "mvapich2-gdr");
  EXPECT_FALSE(alike_members(told.call(CollectiveOp::kAllReduce, 1, 8, 48 * kMiB))) << "one part";
}

// Where roles turn: every collective of the registry, on groups of several sizes.
struct TurnedPlace {
  std::string platform;
  std::string stack;
  int gpus = 1;  // of a node
  std::string name;
};
class AlikeMembers_OfTurns : public ::testing::TestWithParam<TurnedPlace> {};

std::vector<ResolvedCall> calls_of_registry(const Place& place, int ranks) {
  std::vector<ResolvedCall> calls;
  for (const Collective* collective : all_collectives()) {
    const PlanChoice plan{.collective = collective, .options = {}};
    const CollectiveCall call{.rank_count = ranks, .bytes = ranks * 16 * kKiB};
    if (collective->refuse != nullptr && !collective->refuse(call).empty()) continue;
    calls.push_back(resolve(place.lanes, shared_first_slots(place.platform, ranks),
                            {.op = collective->op, .bytes = call.bytes, .plan = &plan}));
  }
  return calls;
}

std::set<std::string> names_of_turned(const Place& place, int ranks) {
  std::set<std::string> names;
  for (const ResolvedCall& call : calls_of_registry(place, ranks))
    if (const auto alike = alike_members(call); alike && alike->turn.blocks > 1)
      names.insert(fmt::format("{}/{}", name_of(call.collective->op), call.collective->algorithm));
  return names;
}

constexpr int kMostRanks = 256;

TEST_P(AlikeMembers_OfTurns, OneBlockTakesAsLongAsAll) {
  const auto& [platform, stack, gpus, name] = GetParam();
  const Place place(platform, stack);
  int found = 0;
  for (const int nodes : {4, 6, 8, 12, 16, 32, 64, 128, 256}) {
    const int ranks = nodes * gpus;
    if (ranks < 8 || ranks > std::min(kMostRanks, place.platform.slot_count())) continue;
    for (const ResolvedCall& call : calls_of_registry(place, ranks)) {
      SCOPED_TRACE(fmt::format("{}/{} of {} ranks", name_of(call.collective->op),
                               call.collective->algorithm, ranks));
      const auto alike = alike_members(call);
      if (!alike || alike->turn.blocks == 1) continue;
      ++found;
      expect_as_all(call, *alike, 1e-9, Plan::kNamed);
    }
  }
  EXPECT_GT(found, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Where, AlikeMembers_OfTurns,
    ::testing::Values(
        TurnedPlace{"star:hosts=256,bandwidth=12.5GB/s,latency=1us", "ideal", 1, "Star"},
        TurnedPlace{"fat-tree:down=8x32,up=8,bandwidth=12.5GB/s,latency=1us", "ideal", 1,
                    "FatTree"},
        TurnedPlace{"fat-tree:down=8x32,up=4,bandwidth=12.5GB/s,latency=1us", "ideal", 1,
                    "CrowdedFatTree"},
        TurnedPlace{"torus:dims=4x4x16,bandwidth=10GB/s,latency=1us", "ideal", 1, "Torus"},
        TurnedPlace{"dragonfly:groups=9,routers=4,hosts=4,globals=2,bandwidth=12.5GB/s,latency=1us",
                    "ideal", 1, "Dragonfly"},
        TurnedPlace{"dragonfly+:groups=8,leaves=8,spines=8,hosts=4,globals=2,bandwidth=12.5GB/s,"
                    "latency=1us",
                    "ideal", 1, "DragonflyPlus"},
        TurnedPlace{"dgx-h100:nodes=32", "nccl-2.23-h100", 8, "DgxH100"},
        TurnedPlace{"aws-p4de", "nccl-2.23-a100-efa", 8, "P4de"},
        TurnedPlace{"kesch", "mvapich2-gdr", 16, "Kesch"}),
    [](const auto& tested) { return tested.param.name; });

// On a star all roles of these do the same; where one of its links is slow, none does.
TEST(AlikeMembersFound, AreNoneBesideASlowLink) {
  Place place("star:hosts=16,bandwidth=12.5GB/s,latency=1us", "ideal");
  EXPECT_EQ(
      names_of_turned(place, 16),
      (std::set<std::string>{"all-reduce/2d-ring", "all-reduce/halving-doubling",
                             "all-reduce/hierarchical", "all-reduce/near-halving-doubling",
                             "all-reduce/recursive-doubling", "all-reduce/ring",
                             "all-to-all/pairwise", "allgather/pat", "allgather/recursive-doubling",
                             "allgather/ring", "reduce-scatter/halving", "reduce-scatter/pairwise",
                             "reduce-scatter/pat", "reduce-scatter/ring", "shift/ring"}));
  apply_link_faults(place.platform, {{"host5", "0.25"}}, "test");
  EXPECT_EQ(names_of_turned(place, 16), (std::set<std::string>{}));
}

// Ports, connections, eager messages, a library that moves in calls only, adding on cores: what is
// a rank's own is that of the one that stands for it.
TEST(AlikeMembersFound, HaveWhatIsTheirOwn) {
  const auto expect_alike = [](const std::string& what, const std::function<void(Stack&)>& change) {
    SCOPED_TRACE(what);
    Place place("kesch", "mvapich2-gdr");
    change(place.stack);
    int found = 0;
    for (const ResolvedCall& call : calls_of_registry(place, 64)) {
      SCOPED_TRACE(fmt::format("{}/{}", name_of(call.collective->op), call.collective->algorithm));
      const auto alike = alike_members(call);
      if (!alike || alike->turn.blocks == 1) continue;
      ++found;
      expect_as_all(call, *alike, 1e-9, Plan::kNamed);
    }
    EXPECT_GT(found, 0);
  };
  expect_alike("as it is", [](Stack&) {});
  expect_alike("two channels", [](Stack& stack) { stack.channels = 2; });
  expect_alike("a connection's rate", [](Stack& stack) {
    stack.channels = 3;
    for (PathRule& rule : stack.paths) rule.connection_cap = BytesPerSecond{1e8};
  });
  expect_alike("eager", [](Stack& stack) { stack.eager_limit = Bytes{64 * kKiB}; });
  expect_alike("in calls", [](Stack& stack) { stack.progress = Progress::kInsideCalls; });
  expect_alike("on cores", [](Stack& stack) { stack.reduction.place = ReductionPlace::kCpu; });
}

// Three messages of a rank's at a time, to others, of what its connection carries.
TEST(AlikeMembersFound, ShareAConnection) {
  Place place("star:hosts=16,bandwidth=12.5GB/s,latency=1us", "ideal");
  place.stack.channels = 3;
  place.stack.channels_of = ChannelsOf::kCollective;
  for (PathRule& rule : place.stack.paths) rule.connection_cap = BytesPerSecond{1e8};
  const PlanChoice plan{.collective = &find_collective(CollectiveOp::kAllToAll, "pairwise", "test"),
                        .options = {}};
  const ResolvedCall call =
      resolve(place.lanes, shared_first_slots(place.platform, 16),
              {.op = CollectiveOp::kAllToAll, .bytes = 16 * kMiB, .plan = &plan});
  const auto alike = alike_members(call);
  ASSERT_TRUE(alike);
  EXPECT_EQ(alike->count(), 16);
  expect_as_all(call, *alike, 1e-9, Plan::kNamed);
}

// Whatever --root says of what has none: all do the same.
TEST(AlikeMembersFound, TellARanksTime) {
  const Place place("star:hosts=16,bandwidth=12.5GB/s,latency=1us", "ideal");
  const PlanChoice plan{.collective = &find_collective(CollectiveOp::kAllReduce, "ring", "test"),
                        .options = {}};
  const ResolvedCall call =
      resolve(place.lanes, shared_first_slots(place.platform, 16),
              {.op = CollectiveOp::kAllReduce, .bytes = 16 * kMiB, .root = 11, .plan = &plan});
  const auto alike = alike_members(call);
  ASSERT_TRUE(alike);
  EXPECT_EQ(alike->count(), 16);
  expect_as_all(call, *alike, 1e-9, Plan::kNamed);
}

}  // namespace
}  // namespace forescale
