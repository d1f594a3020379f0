// Protocols, wire factors and calls in parts: both engines obey the cost contract of
// models/stack.hpp, parts use the links that their orders lead over.
#include <gtest/gtest.h>

#include "models/stack.hpp"
#include "sim/cost_engine.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {
namespace {

constexpr double kBandwidth = 1e9;
constexpr double kLatency_s = 5e-6;

Platform star(int hosts) {
  return load_platform(fmt::format("star:hosts={},bandwidth=1GB/s,latency=0us", hosts));
}

// Every message takes kLatency_s; those of the protocol "thin" 1 us and three times the bytes.
Stack two_protocols() {
  Stack stack = load_stack("ideal");
  stack.protocols = {"", "thin"};
  PathRule thin = stack.paths.front();
  stack.paths.front().latency = {kLatency_s};
  thin.latency = {1e-6};
  thin.protocol = 1;
  thin.wire_factor = 3;
  stack.paths.insert(stack.paths.begin(), thin);
  return stack;
}

using Orders = std::vector<std::vector<int>>;

SelectionRule rule_of(const std::string& algorithm, int protocol, Orders orders = {}) {
  SelectionRule rule;
  rule.algorithm = algorithm;
  rule.protocol = protocol;
  rule.orders = std::move(orders);
  return rule;
}

CollectiveCall call_of(int ranks, std::int64_t bytes = kMiB) {
  return {.rank_count = ranks, .bytes = bytes};
}

double simulated_s(const Platform& platform, const Stack& stack, const std::string& algorithm,
                   int ranks, std::int64_t bytes = kMiB) {
  const Collective& collective = find_collective(CollectiveOp::kAllReduce, algorithm, "test");
  return in_child([&] { return collective_s(platform, stack, collective, call_of(ranks, bytes)); });
}

// A ring of 4 ranks: 6 steps of a quarter each.
TEST(Protocols, BelongToTheirAlgorithmInBothEngines) {
  const Platform platform = star(4);
  Stack stack = two_protocols();
  stack.selection["all-reduce"] = {rule_of("ring", 1)};
  const double thin_s = 6 * (1e-6 + 3 * kMiB / 4.0 / kBandwidth);
  const double plain_s = 6 * (kLatency_s + kMiB / 4.0 / kBandwidth);
  EXPECT_NEAR(simulated_s(platform, stack, "ring", 4), thin_s, 1e-9 * thin_s);
  const Collective& ring = find_collective(CollectiveOp::kAllReduce, "ring", "test");
  const Lanes lanes(platform, stack);
  const auto priced_s = [&](int protocol) {
    return evaluate_cost(ring, call_of(4), lanes, MessageKind(BufferPlace::kHost, protocol),
                         first_ranks(4))
        .time_s;
  };
  EXPECT_NEAR(priced_s(1), thin_s, 1e-9 * thin_s);
  EXPECT_NEAR(priced_s(0), plain_s, 1e-9 * plain_s);
  // Recursive doubling has no rule: two rounds of the whole vector by the path of none.
  const double doubling_s = 2 * (kLatency_s + kMiB / kBandwidth);
  EXPECT_NEAR(simulated_s(platform, stack, "recursive-doubling", 4), doubling_s, 1e-9 * doubling_s);
}

TEST(Protocols, PartsShareALinkByTheirWireBytes) {
  const Platform platform = star(4);
  Stack stack = two_protocols();
  stack.selection["all-reduce"] = {rule_of("ring", 1, {{0, 1, 2, 3}})};
  const double one_s = simulated_s(platform, stack, "ring", 4);
  stack.channels_of = ChannelsOf::kCollective;
  stack.selection["all-reduce"].front().orders = {{0, 1, 2, 3}, {0, 1, 2, 3}};
  const double two_s = simulated_s(platform, stack, "ring", 4);
  EXPECT_NEAR(two_s, one_s, 1e-9 * one_s) << "two halves side by side over the same links";
}

TEST(Protocols, SwitchesThatAddLowerThePhysicalFloor) {
  const Platform platform = star(4);
  Stack stack = two_protocols();
  const Lanes lanes(platform, stack);
  const double floor_s = collective_bound(CollectiveOp::kAllReduce, call_of(4), lanes,
                                          BufferPlace::kHost, first_ranks(4))
                             .time_s;
  EXPECT_NEAR(floor_s, 2 * 3 * kMiB / 4.0 / kBandwidth, 1e-12);
  stack.paths.front().wire_factor = 0.5;
  const Lanes adding(platform, stack);
  const double lower_s = collective_bound(CollectiveOp::kAllReduce, call_of(4), adding,
                                          BufferPlace::kHost, first_ranks(4))
                             .time_s;
  EXPECT_NEAR(lower_s, floor_s / 2, 1e-12);
  stack.selection["all-reduce"] = {rule_of("ring", 1)};
  EXPECT_GT(simulated_s(platform, stack, "ring", 4), lower_s);
}

TEST(Parts, RolesFollowTheOrderInEveryRun) {
  const auto roles = [](const std::vector<int>& order, int members) {
    return by_order(order, first_ranks(members));
  };
  EXPECT_EQ(roles({1, 2, 0}, 6), (std::vector<int>{1, 2, 0, 4, 5, 3}));
  EXPECT_EQ(roles({1, 2, 0}, 5), (std::vector<int>{1, 2, 0, 4, 3})) << "a shorter run";
  // A node of four GPUs behind one of eight: each part begins at another one, as in the full node.
  const std::vector<int> fifth = roles({5, 6, 7, 0, 1, 2, 3, 4}, 12);
  EXPECT_EQ(std::vector<int>(fifth.begin() + 8, fifth.end()), (std::vector<int>{9, 10, 11, 8}));
}

// Two nodes of two GPUs, an adapter of 1 GB/s beside each GPU, NVLink that never limits.
Platform rails() {
  const char* text = R"({
    "format": "forescale-platform-1", "name": "rails",
    "link_classes": {
      "slow": {"bandwidth_bytes_per_s": 1e9, "latency_s": 0},
      "fast": {"bandwidth_bytes_per_s": 1e15, "latency_s": 0}},
    "node": {
      "count": 2, "layout": "explicit", "gpu": "h100", "cpu": "grace",
      "devices": [
        {"name": "cpu0", "kind": "cpu", "socket": 0},
        {"name": "switch0", "kind": "pcie-switch", "socket": 0},
        {"name": "switch1", "kind": "pcie-switch", "socket": 0},
        {"name": "gpu0", "kind": "gpu", "socket": 0}, {"name": "gpu1", "kind": "gpu", "socket": 0},
        {"name": "nic0", "kind": "nic", "socket": 0}, {"name": "nic1", "kind": "nic", "socket": 0}],
      "links": [
        {"from": "cpu0", "to": "switch0", "class": "fast"},
        {"from": "cpu0", "to": "switch1", "class": "fast"},
        {"from": "switch0", "to": "gpu0", "class": "fast"},
        {"from": "switch1", "to": "gpu1", "class": "fast"},
        {"from": "switch0", "to": "nic0", "class": "fast"},
        {"from": "switch1", "to": "nic1", "class": "fast"},
        {"from": "gpu0", "to": "gpu1", "class": "fast"}]},
    "fabric": {"layout": "star", "link": "slow"}})";
  return read_platform(text, "rails.json");
}

Stack of_collectives() {
  Stack stack = load_stack("ideal");
  stack.channels = 4;
  stack.channels_of = ChannelsOf::kCollective;
  PathRule gpu = stack.paths.front();
  gpu.buffers = BufferPlace::kGpu;
  stack.paths.push_back(gpu);
  return stack;
}

// A ring of 4 ranks as it is leaves a node through one adapter: 2 (3/4) b at 1 GB/s. Two parts
// whose orders end at different GPUs use both.
TEST(Parts, UseAnAdapterEach) {
  const Platform platform = rails();
  Stack stack = of_collectives();
  const double one_s = 2 * 0.75 * kMiB / 1e9;
  EXPECT_NEAR(simulated_s(platform, stack, "ring", 4), one_s, 1e-6 * one_s);
  stack.selection["all-reduce"] = {rule_of("ring", 0, {{0, 1}, {1, 0}})};
  EXPECT_NEAR(simulated_s(platform, stack, "ring", 4), one_s / 2, 1e-6 * one_s);
}

// Between two nodes a tree moves the vector once, not 2 (P-1)/P of it: with many chunks the time
// comes down to b over both adapters, which is more "bus bandwidth" than they have.
TEST(Parts, TreesOfTwoNodesBeatTheRingsShareOfTheAdapters) {
  const Platform platform = rails();
  Stack stack = of_collectives();
  stack.selection["all-reduce"] = {rule_of("chain-tree", 0, {{0, 1}, {1, 0}})};
  const Collective& tree = find_collective(CollectiveOp::kAllReduce, "chain-tree", "test");
  CollectiveCall call = call_of(4, 64 * kMiB);
  call.options = {{"chunk_bytes", kMiB / 8}, {"chain_size", 2}};
  const double tree_s = in_child([&] { return collective_s(platform, stack, tree, call); });
  const double both_s = 64 * kMiB / 2e9;
  EXPECT_GE(tree_s, both_s);
  EXPECT_LT(tree_s, 1.1 * both_s);
}

// Four nodes of a scalable unit: each rail has a leaf switch of its own, and what changes rails
// crosses spines.
Platform unit_of_rails(const std::string& spine_bytes_per_s) {
  return read_platform(R"({
    "format": "forescale-platform-1", "name": "unit", "assumptions": ["a test"],
    "link_classes": {"spine": {"bandwidth_bytes_per_s": )" +
                           spine_bytes_per_s + R"(, "latency_s": 1e-6}},
    "node": {"count": 32, "layout": "preset", "preset": "dgx-h100"},
    "fabric": {"layout": "fat-tree", "down": [4, 64], "up": [4], "rails": 8, "routing": "adaptive",
               "link": "ndr", "up_link": "spine"}})",
                       "unit.json");
}

// By way of the GPU that has the adapter of the receiver's number.
TEST(Rails, NcclKeepsToThem) {
  const Platform fast = unit_of_rails("48.8e9");
  const Platform slow = unit_of_rails("1e9");
  const Stack stack = load_stack("nccl-2.23-h100:NCCL_ALGO=Ring");  // NVLSTree never leaves them
  Stack across = stack;
  for (PathRule& rule : across.paths) rule.by_rail = false;
  const auto time_s = [](const Platform& platform, const Stack& taken, CollectiveOp op) {
    return in_child([&] {
      const CollectiveStep step{.op = op, .bytes = 256 * kMiB, .label = "rails"};
      return simulate_collective(platform, taken, step, 32, {}).time_s;
    });
  };
  for (const CollectiveOp op :
       {CollectiveOp::kAllReduce, CollectiveOp::kAllGather, CollectiveOp::kAllToAll}) {
    const double kept_s = time_s(slow, stack, op);
    EXPECT_NEAR(kept_s / time_s(fast, stack, op), 1, 1e-9) << name_of(op);
    EXPECT_GT(time_s(slow, across, op), 3 * kept_s) << name_of(op);
  }
  const int from = fast.endpoints[1];
  EXPECT_EQ(fast.on_rail_of(from, fast.endpoints[8]), fast.endpoints[0]);
  EXPECT_EQ(fast.on_rail_of(from, fast.endpoints[9]), from);
}

// Rooted ones keep their root: of rank 3's vector both parts, one over each adapter.
TEST(Parts, KeepTheRoot) {
  const Platform platform = rails();
  Stack stack = of_collectives();
  stack.selection["broadcast"] = {rule_of("flat", 0, {{0, 1}, {1, 0}})};
  const Collective& flat = find_collective(CollectiveOp::kBroadcast, "flat", "test");
  const CollectiveCall call{.rank_count = 4, .bytes = kMiB, .root = 3};
  // Rank 3 sends the vector to ranks 0 and 1 through its own adapter, whatever the part.
  const double out_s = 2 * kMiB / 1e9;
  EXPECT_NEAR(in_child([&] { return collective_s(platform, stack, flat, call); }), out_s,
              1e-6 * out_s);
}

// Orders name a node's GPUs; where a group has fewer of them, or not one after the other, they are
// of those that it has.
TEST(Parts, OrdersAreOfTheRanksThatEachNodeHas) {
  const Platform platform = rails();
  Stack stack = of_collectives();
  const Lanes lanes(platform, stack);
  const auto parts_of = [&](const std::string& plan, const Orders& orders,
                            const std::vector<int>& slots) {
    const PlanChoice choice = parse_plan("all-reduce/" + plan, "test");
    stack.selection["all-reduce"] = {rule_of(choice.collective->algorithm, 0, orders)};
    return resolve(lanes, shared_group(platform, slots),
                   {.op = CollectiveOp::kAllReduce, .bytes = kMiB, .root = 0, .plan = &choice});
  };
  const Orders pairs = {{0, 1}, {1, 0}};
  for (const std::string plan : {"ring", "chain-tree:chain_size=2"}) {
    EXPECT_EQ(parts_of(plan, pairs, {0, 1, 2, 3}).parts(), (Orders{{0, 1, 2, 3}, {1, 0, 3, 2}}));
    EXPECT_EQ(parts_of(plan, pairs, {2, 3, 0}).parts(), (Orders{{0, 1, 2}, {1, 0, 2}}));
    EXPECT_EQ(parts_of(plan, pairs, {1, 3}).parts(), (Orders{{0, 1}, {0, 1}})) << "one a node";
    EXPECT_EQ(parts_of(plan, pairs, {0, 2, 1, 3}).parts(), (Orders{{0, 2, 1, 3}, {2, 0, 3, 1}}))
        << "members 0 and 2 are on the first node";
    EXPECT_EQ(parts_of(plan, pairs, {0, 2, 3}).parts(), (Orders{{0, 1, 2}, {0, 2, 1}}));
    EXPECT_EQ(parts_of(plan, {}, {0, 2, 1, 3}).parts(), (Orders{{0, 1, 2, 3}})) << "as it is";
  }
  EXPECT_EQ(parts_of("ring", {{2, 0, 1}, {0, 1, 2}}, {0, 1, 2, 3}).parts(),
            (Orders{{0, 1, 2, 3}, {0, 1, 2, 3}}));
  // A tree's groups are what the nodes have.
  const auto options_of = [&](const std::vector<int>& slots) {
    return parts_of("chain-tree:chain_size=2", pairs, slots).call.options;
  };
  EXPECT_EQ(options_of({0, 1, 2, 3}), (OptionValues{{"chain_size", 2}}));
  EXPECT_EQ(options_of({2, 3, 0}), (OptionValues{{"chain_size", 2}})) << "the last one is shorter";
  EXPECT_EQ(options_of({1, 3}), (OptionValues{{"chain_size", 1}}));
  EXPECT_EQ(options_of({0, 2, 3}), (OptionValues{{"chain_size", 2}, {"group_sizes", "1,2"}}));
}

// Chunks of a chain-tree whose groups are as long as said.
double tree_s(const Stack& stack, int ranks, int chain_size, std::int64_t bytes, int chunks) {
  const Collective& tree = find_collective(CollectiveOp::kAllReduce, "chain-tree", "test");
  CollectiveCall call = call_of(ranks, bytes);
  call.options = {{"chunk_bytes", bytes / chunks}, {"chain_size", chain_size}};
  return in_child([&] { return collective_s(star(ranks), stack, tree, call); });
}

Stack of_queues(int channels) {
  Stack stack = load_stack("ideal");
  stack.paths.front().latency = {0};
  stack.channels = channels;
  stack.channels_of = ChannelsOf::kQueue;
  return stack;
}

// Two ranks in one group, four chunks that take x each: up, and each at once down again.
TEST(Queues, AConnectionSendsOneChunkAfterTheOther) {
  const double x_s = kMiB / 4.0 / kBandwidth;
  Stack stack = of_queues(4);
  EXPECT_NEAR(tree_s(stack, 2, 2, kMiB, 4), 5 * x_s, 1e-9);
  stack.channels_of = ChannelsOf::kCollective;
  EXPECT_NEAR(tree_s(stack, 2, 2, kMiB, 4), 8 * x_s, 1e-9)
      << "all four share the link, and are there together";
}

// Two ranks, each the root of one of two trees: what a rank sends up in one and down in the other
// has a connection of its own, which half of the link's rate holds back. In the order of the plan,
// with one channel, they take turns.
TEST(Queues, GoOnByThemselvesOnConnectionsOfTheirOwn) {
  constexpr int kChunks = 8;
  Stack stack = of_queues(1);
  stack.paths.front().connection_cap = {kBandwidth / 2};
  const double x_s = kMiB / 2.0 / kChunks / (kBandwidth / 2);
  EXPECT_NEAR(tree_s(stack, 2, 1, kMiB, 2 * kChunks), (kChunks + 1) * x_s, 1e-9);
  stack.channels_of = ChannelsOf::kCollective;
  EXPECT_GE(tree_s(stack, 2, 1, kMiB, 2 * kChunks), 2 * kChunks * x_s);
}

// What a rank sends up and down a tree shares the channel's cap, half of the link's rate: the
// middle one of three sends all of it twice. Trees have channels of their own.
TEST(Queues, UpAndDownATreeShareItsChannel) {
  constexpr int kChunks = 32;
  Stack stack = of_queues(1);
  const double x_s = kMiB / static_cast<double>(kChunks) / kBandwidth;
  EXPECT_NEAR(tree_s(stack, 3, 3, kMiB, kChunks), (2 * kChunks + 2) * x_s, 1e-9) << "by the link";
  stack.paths.front().channel_cap = {kBandwidth / 2};
  const double shared_s = tree_s(stack, 3, 3, kMiB, kChunks);
  EXPECT_GE(shared_s, 4 * kChunks * x_s);
  EXPECT_LE(shared_s, (4 * kChunks + 4) * x_s);
  EXPECT_NEAR(tree_s(stack, 2, 1, kMiB, 2 * kChunks), (kChunks + 1) * x_s, 1e-9)
      << "up in one and down in the other";
}

// Four ranks in two groups: chains of both trees are the same two ranks, and the second tree has
// one element less.
TEST(Queues, MatchMessagesOfTheirOwnTree) {
  const Stack stack = of_queues(2);
  const std::int64_t bytes = 4 * 1023;
  const double least_s = static_cast<double>(bytes) / kBandwidth;
  for (const int chunks : {1, 3, 7}) EXPECT_GE(tree_s(stack, 4, 2, bytes, chunks), least_s);
}

// What is not dealt into queues keeps to the collective's channels: four sends, two at a time.
TEST(Queues, AreOfPlansThatHaveThem) {
  Stack stack = of_queues(2);
  stack.paths.front().connection_cap = {kBandwidth / 4};
  const Collective& flat = find_collective(CollectiveOp::kBroadcast, "flat", "test");
  const double x_s = kMiB / (kBandwidth / 4);
  EXPECT_NEAR(in_child([&] { return collective_s(star(5), stack, flat, call_of(5)); }), 2 * x_s,
              1e-9);
}

}  // namespace
}  // namespace forescale::testing
