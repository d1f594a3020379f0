// The order of slots: random whole nodes, fewer slots a node, servers on hosts.
#include "topologies/placement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "tests/base/refusal.hpp"
#include "tests/topologies/route_checks.hpp"

namespace forescale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::refusal;

std::vector<int> node_order(const Platform& platform) {
  std::vector<int> nodes;
  for (int slot = 0; slot < platform.slot_count(); ++slot)
    nodes.push_back(node_of_slot(platform, slot));
  return nodes;
}

std::string placement_refusal(const std::string& text) {
  Platform platform = load_platform("ri2");
  return refusal([&] { place_ranks(platform, text, "--placement"); });
}

TEST(Placement, RandomMovesWholeNodes) {
  Platform kesch = load_platform("kesch");
  const std::vector<int> linear = kesch.endpoints;
  place_ranks(kesch, "random:seed=7", "test");
  EXPECT_NE(kesch.endpoints, linear);
  EXPECT_TRUE(std::is_permutation(linear.begin(), linear.end(), kesch.endpoints.begin()));
  for (int slot = 0; slot < kesch.slot_count(); ++slot) {
    EXPECT_EQ(node_of_slot(kesch, slot), node_of_slot(kesch, slot / 16 * 16));
    EXPECT_EQ(kesch.endpoints[static_cast<size_t>(slot)] % kesch.node_device_count,
              linear[static_cast<size_t>(slot % 16)]);
  }
  place_ranks(kesch, "linear", "test");
  EXPECT_EQ(kesch.endpoints, linear);
}

TEST(Placement, SameSeedSameOrder) {
  Platform star = load_platform("star:hosts=6,bandwidth=1GB/s,latency=1us");
  place_ranks(star, "random:seed=1", "test");
  const std::vector<int> first = star.endpoints;
  place_ranks(star, "random:seed=2", "test");
  EXPECT_NE(star.endpoints, first);
  place_ranks(star, "random:seed=1", "test");
  EXPECT_EQ(star.endpoints, first);
}

TEST(Placement, AllOrdersComeUp) {
  Platform star = load_platform("star:hosts=3,bandwidth=1GB/s,latency=1us");
  std::set<std::vector<int>> orders;
  for (int seed = 0; seed < 64; ++seed) {
    place_ranks(star, "random:seed=" + std::to_string(seed), "test");
    orders.insert(star.endpoints);
  }
  EXPECT_EQ(orders.size(), 3U * 2U);
}

TEST(Placement, FewerSlotsANode) {
  Platform taurus = load_platform("taurus-smp4");
  place_ranks(taurus, "linear:per_node=1", "test");
  EXPECT_THAT(node_order(taurus), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  place_ranks(taurus, "random:seed=3,per_node=2", "test");
  EXPECT_EQ(taurus.slot_count(), 16);
}

TEST(Placement, MistakesAreNamed) {
  EXPECT_THAT(placement_refusal("randon:seed=1"), HasSubstr("did you mean \"random\"?"));
  EXPECT_THAT(placement_refusal("random"), HasSubstr("--placement random:seed: is required"));
  EXPECT_THAT(placement_refusal("random:seed=-1"),
              HasSubstr("--placement random:seed = -1: must be >= 0"));
  EXPECT_THAT(placement_refusal("linear:per_node=3"), HasSubstr("must be <= 2"));
  EXPECT_THAT(placement_refusal("linear:seed=1"), HasSubstr("seed"));
}

TEST(Servers, OnTheirOwnNodes) {
  Platform kesch = load_platform("kesch");
  place_servers(kesch, {.workers = 17, .servers = 2, .own_nodes = true}, "--servers");
  EXPECT_EQ(kesch.slot_count(), 19);
  EXPECT_EQ(kesch.devices[static_cast<size_t>(kesch.endpoints[17])].name, "node2/cpu0");
  EXPECT_EQ(kesch.devices[static_cast<size_t>(kesch.endpoints[18])].name, "node3/cpu0");
  expect_all_pairs_sound(kesch);
}

TEST(Servers, BesideTheWorkers) {
  Platform kesch = load_platform("kesch");
  place_servers(kesch, {.workers = 32, .servers = 4, .own_nodes = false}, "--servers");
  std::vector<std::string> names;
  for (size_t slot = 32; slot < 36; ++slot)
    names.push_back(kesch.devices[static_cast<size_t>(kesch.endpoints[slot])].name);
  EXPECT_THAT(names, ElementsAre("node0/cpu0", "node0/cpu1", "node1/cpu0", "node1/cpu1"));
  EXPECT_EQ(kesch.locality(kesch.endpoints[0], kesch.endpoints[32]), Locality::kPeer);
  EXPECT_EQ(kesch.locality(kesch.endpoints[0], kesch.endpoints[33]), Locality::kCrossSocket);
  EXPECT_EQ(kesch.locality(kesch.endpoints[0], kesch.endpoints[34]), Locality::kInterNode);
}

// Workers of 17 and 17 slots: the second job goes on in the first one's second node, and behind the
// nodes of its servers.
TEST(Servers, OfJobsBesideEachOther) {
  Platform kesch = load_platform("kesch");
  place_servers(kesch, {.workers = 17, .servers = 2, .own_nodes = true, .jobs = 2}, "--servers");
  EXPECT_EQ(kesch.slot_count(), 38);
  EXPECT_EQ(node_of_slot(kesch, 17), 2);
  EXPECT_EQ(node_of_slot(kesch, 18), 3);
  EXPECT_EQ(node_of_slot(kesch, 19), 1);
  EXPECT_EQ(node_of_slot(kesch, 19 + 14), 1);
  EXPECT_EQ(node_of_slot(kesch, 19 + 15), 4);
  EXPECT_EQ(node_of_slot(kesch, 36), 5);
  EXPECT_EQ(node_of_slot(kesch, 37), 6);

  Platform ri2 = load_platform("ri2");
  place_ranks(ri2, "linear", "test");
  place_servers(ri2, {.workers = 4, .servers = 2, .own_nodes = false, .jobs = 2}, "--servers");
  EXPECT_EQ(node_of_slot(ri2, 4), 0);
  EXPECT_EQ(node_of_slot(ri2, 5), 1);
  EXPECT_EQ(node_of_slot(ri2, 6), 2);
  EXPECT_EQ(node_of_slot(ri2, 10), 2);
  EXPECT_EQ(node_of_slot(ri2, 11), 3);
}

TEST(Servers, FewOnesAreSpreadOverTheNodes) {
  Platform ri2 = load_platform("ri2");
  place_ranks(ri2, "linear", "test");  // both devices of a node
  place_servers(ri2, {.workers = 8, .servers = 2, .own_nodes = false}, "--servers");
  EXPECT_EQ(node_of_slot(ri2, 8), 0);
  EXPECT_EQ(node_of_slot(ri2, 9), 2);
}

TEST(Servers, BareHosts) {
  Platform star = load_platform("star:hosts=4,bandwidth=1GB/s,latency=1us");
  EXPECT_TRUE(star.uniform_pairs);
  place_servers(star, {.workers = 3, .servers = 1, .own_nodes = true}, "--servers");
  EXPECT_TRUE(star.uniform_pairs);
  EXPECT_THAT(node_order(star), ElementsAre(0, 1, 2, 3));
  place_servers(star, {.workers = 3, .servers = 1, .own_nodes = false}, "--servers");
  EXPECT_FALSE(star.uniform_pairs);
  EXPECT_THAT(node_order(star), ElementsAre(0, 1, 2, 0));
}

TEST(Servers, NeedRoom) {
  Platform ri2 = load_platform("ri2");
  place_ranks(ri2, "linear", "test");
  try {
    place_servers(ri2, {.workers = 39, .servers = 1, .own_nodes = true}, "--servers");
    FAIL() << "20 nodes hold 39 workers and no server";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--servers = 1: must leave a node for each server"));
  }
  EXPECT_THAT(refusal([] {
                Platform again = load_platform("ri2");
                place_servers(again, {.workers = 8, .servers = 3, .own_nodes = true, .jobs = 2},
                              "--gpus");
              }),
              HasSubstr("--gpus = 3: must leave a node for each server: 20 nodes, 16 of them with "
                        "workers, for 2 jobs"));
  EXPECT_THAT(refusal([] {
                Platform again = load_platform("ri2");
                place_servers(again, {.workers = 9, .servers = 3, .own_nodes = true, .jobs = 2},
                              "--gpus");
              }),
              HasSubstr("--gpus = 9: must leave a node for each server: 20 slots, 9 of them with "
                        "workers, for 2 jobs"));
}

}  // namespace
}  // namespace forescale
