// What each fabric's formulas say: hops, latencies, who shares a link.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/base/refusal.hpp"
#include "tests/topologies/route_checks.hpp"
#include "topologies/node_template.hpp"

namespace forescale {
namespace {

using ::testing::HasSubstr;
using testing::refusal;

size_t hops(const Platform& platform, int from, int to) {
  return platform
      .route(platform.endpoints[static_cast<size_t>(from)],
             platform.endpoints[static_cast<size_t>(to)])
      .capacities.size();
}

TEST(Star, LatencyIsHostToHost) {
  const Platform platform = load_platform("star:hosts=4,bandwidth=12.5GB/s,latency=1.3us");
  const Route route = platform.route(platform.endpoints[1], platform.endpoints[3]);
  EXPECT_EQ(route.latency.value, 1.3e-6);  // exactly: halving is exact in binary
  EXPECT_EQ(link_names(platform, route),
            (std::vector<std::string>{"host1 -> hub0", "hub0 -> host3"}));
  EXPECT_EQ(platform.bandwidth(route.capacities[0]).value, 12.5e9);
  EXPECT_EQ(platform.locality(0, 3), Locality::kInterNode);
  EXPECT_EQ(platform.locality(2, 2), Locality::kSame);
  EXPECT_EQ(platform.host_of(2), 2);
  EXPECT_EQ(platform.nic_of(2), 2);
  EXPECT_FALSE(platform.has_gpus());
}

TEST(Star, HalfDuplexSharesOneCapacity) {
  const Platform platform = load_platform("star:hosts=2,bandwidth=1GB/s,latency=0,duplex=half");
  const Route there = platform.route(0, 1);
  const Route back = platform.route(1, 0);
  EXPECT_EQ(there.capacities[0], back.capacities[1]);
  EXPECT_EQ(there.capacities[1], back.capacities[0]);
}

TEST(FatTree, CountsAndHops) {
  // Radix 8: 4 hosts a leaf, 8 leaves, 4 spines; three levels: 8^3/4 hosts, 8 pods of 4 + 4.
  const Platform two = load_platform("fat-tree:radix=8,bandwidth=1GB/s,latency=1us");
  EXPECT_EQ(two.slot_count(), 8 * 8 / 2);
  EXPECT_EQ(two.devices.size(), 32u + 8 + 4);
  EXPECT_EQ(two.links.size(), 32u + 8 * 4);
  EXPECT_EQ(hops(two, 0, 3), 2u);
  EXPECT_EQ(hops(two, 0, 4), 4u);
  EXPECT_NEAR(two.route(0, 31).latency.value, 4e-6, 1e-18);
  const Platform three = load_platform("fat-tree:radix=8,levels=3,bandwidth=1GB/s,latency=1us");
  EXPECT_EQ(three.slot_count(), 8 * 8 * 8 / 4);
  EXPECT_EQ(three.devices.size(), 128u + 32 + 32 + 16);
  EXPECT_EQ(hops(three, 0, 1), 2u);
  EXPECT_EQ(hops(three, 0, 4), 4u);
  EXPECT_EQ(hops(three, 0, 16), 6u);
}

// d-mod-k carries every shift permutation without sharing a link on a fat tree without
// oversubscription (Zahavi 2009), so each capacity appears at most once.
void expect_shifts_without_contention(const char* text) {
  const Platform platform = load_platform(text);
  const int hosts = platform.slot_count();
  for (int shift = 1; shift < hosts; ++shift) {
    std::set<Capacity> used;
    for (int host = 0; host < hosts; ++host)
      for (Capacity capacity : platform.route(host, (host + shift) % hosts).capacities)
        EXPECT_TRUE(used.insert(capacity).second)
            << text << " shift " << shift << " shares " << platform.capacity_name(capacity);
  }
}

TEST(FatTree, ShiftsDoNotShareLinks) {
  expect_shifts_without_contention("fat-tree:radix=8,link=edr");
  expect_shifts_without_contention("fat-tree:radix=4,levels=3,link=edr");
  expect_shifts_without_contention("fat-tree:radix=6,levels=3,link=edr");
}

TEST(FatTree, DestinationsSpreadOverAllSpines) {
  const Platform platform = load_platform("fat-tree:radix=8,link=edr");
  std::map<std::string, int> uses;
  for (int to = 4; to < 32; ++to) ++uses[link_names(platform, platform.route(0, to))[1]];
  EXPECT_EQ(uses.size(), 4u);
  for (const auto& [name, count] : uses) EXPECT_EQ(count, (32 - 4) / 4) << name;
}

TEST(FatTree, OversubscriptionSharesUplinks) {
  // 4 hosts, 2 uplinks a leaf: two hosts of a leaf share each uplink.
  const Platform platform = load_platform("fat-tree:down=4x2,up=2,link=edr");
  std::set<Capacity> uplinks;
  for (int host = 0; host < 4; ++host) uplinks.insert(platform.route(host, host + 4).capacities[1]);
  EXPECT_EQ(uplinks.size(), 2u);
}

// Nodes of 8 adapters, 4 nodes a scalable unit: adapter k of each on leaf k of the unit's 8.
TEST(FatTree, RailsOfAUnitMeetInOneSwitch) {
  const Platform platform = read_platform(R"({
    "format": "forescale-platform-1", "name": "rails",
    "node": {"count": 6, "layout": "preset", "preset": "dgx-h100"},
    "fabric": {"layout": "fat-tree", "down": [4, 64], "up": [4], "rails": 8, "link": "ndr"}})",
                                          "rails.json");
  const std::vector<int> ports = fabric_ports(platform);
  const auto links_between = [&](size_t from, size_t to) {
    return platform.fabric_route(ports[from], ports[to]).capacities.size();
  };
  for (size_t rail = 0; rail < 8; ++rail) {
    EXPECT_EQ(links_between(rail, 3 * 8 + rail), 2u) << rail;  // over their leaf switch
    EXPECT_EQ(links_between(rail, 4 * 8 + rail), 4u) << rail;  // node 4: the next unit
  }
  EXPECT_EQ(links_between(0, 8 + 1), 4u);  // another rail
  // 8 leaf switches for nodes 0 to 3 and 8 for the other two, and no more are built.
  EXPECT_NE(platform.fabric_summary.find("16 leaf switches of 4 ports"), std::string::npos)
      << platform.fabric_summary;
}

// 4 hosts a leaf share what its 2 uplinks carry.
TEST(FatTree, AdaptiveRoutingSharesAllUplinksOfALeaf) {
  const Platform platform = load_platform("fat-tree:down=4x2,up=2,link=edr,routing=adaptive");
  std::set<Capacity> uplinks;
  for (int host = 0; host < 4; ++host) uplinks.insert(platform.route(host, host + 4).capacities[1]);
  ASSERT_EQ(uplinks.size(), 1u);
  EXPECT_DOUBLE_EQ(platform.bandwidth(*uplinks.begin()).value,
                   2 * platform.bandwidth(platform.route(0, 4).capacities[0]).value);
  EXPECT_EQ(bisection_bandwidth(platform).value,
            bisection_bandwidth(load_platform("fat-tree:down=4x2,up=2,link=edr")).value);
}

TEST(FatTree, RailsAreRefusedWhereTheyDoNotFit) {
  const auto with_fabric = [](const std::string& fabric) {
    return refusal([&] {
      read_platform(R"({"format": "forescale-platform-1", "name": "rails",
        "node": {"count": 6, "layout": "preset", "preset": "dgx-h100"}, "fabric": )" +
                        fabric + "}",
                    "rails.json");
    });
  };
  EXPECT_THAT(with_fabric(R"({"layout": "fat-tree", "radix": 64, "rails": 3, "link": "ndr"})"),
              HasSubstr("/fabric/rails = 3: must divide the adapters of a node: 8"));
  EXPECT_THAT(with_fabric(R"({"layout": "fat-tree", "radix": 8, "rails": 8, "link": "ndr"})"),
              HasSubstr("must have room for 48 ports"));
  EXPECT_THAT(with_fabric(R"({"layout": "fat-tree", "radix": 4, "rails": 8, "link": "ndr"})"),
              HasSubstr("must not need more than all ports: 16 of 8"));
  EXPECT_THAT(refusal([] { load_platform("fat-tree:radix=8,link=edr,rails=2"); }),
              HasSubstr("a host has one port"));
}

// Its node is read from there, with what that file says of it alone.
TEST(PresetNode, IsThatOfThePreset) {
  const Platform own = load_platform("dgx-h100");
  const Platform taken = load_platform("dgx-h100-superpod:nodes=32");
  EXPECT_EQ(taken.node_device_count, own.node_device_count);
  EXPECT_EQ(taken.gpu_models.front().name, "h100");
  EXPECT_EQ(link_names(taken, taken.route(0, 7)), link_names(own, own.route(0, 7)));
}

TEST(PresetNode, IsRefusedWhereThereIsNone) {
  const auto with_node_of = [](const std::string& preset) {
    return refusal([&] {
      read_platform(R"({"format": "forescale-platform-1", "name": "x", "node": {"count": 1,
                    "layout": "preset", "preset": ")" +
                        preset + R"("}})",
                    "x.json");
    });
  };
  EXPECT_THAT(with_node_of("dgx-h10"), HasSubstr("did you mean \"dgx-h100\"?"));
  EXPECT_THAT(with_node_of("dgx-h100-superpod"),
              HasSubstr("must be a preset that describes its node itself"));
}

TEST(Dragonfly, MinimalRoutesHaveAtMostOneGlobalLink) {
  const Platform platform = load_platform(
      "dragonfly:groups=9,routers=4,hosts=2,globals=2,bandwidth=1GB/s,latency=1us,"
      "global_bandwidth=1GB/s,global_latency=100us");
  EXPECT_EQ(platform.slot_count(), 9 * 4 * 2);
  EXPECT_EQ(platform.links.size(), 72u + 9 * 6 + 9 * 8 / 2);
  for (int from = 0; from < platform.slot_count(); ++from)
    for (int to = 0; to < platform.slot_count(); ++to) {
      if (from == to) continue;
      const Route route = platform.route(from, to);
      const bool same_group = from / 8 == to / 8;
      EXPECT_LE(route.capacities.size(), same_group ? 3u : 5u);
      const double locals = static_cast<double>(route.capacities.size()) - (same_group ? 0 : 1);
      EXPECT_NEAR(route.latency.value, (same_group ? 0 : 100e-6) + locals * 1e-6, 1e-12);
    }
}

TEST(Dragonfly, EveryGlobalPortIsUsedOnce) {
  const Platform platform =
      load_platform("dragonfly:groups=5,routers=4,hosts=1,globals=2,link=edr,global_link=fdr");
  // 4 * 2 ports over 4 other groups: two links a pair of groups, every router has two.
  std::map<int, int> ports;
  for (const Link& link : platform.links)
    if (platform.link_classes[static_cast<size_t>(link.link_class)].name == "fdr") {
      ++ports[link.from];
      ++ports[link.to];
    }
  EXPECT_EQ(ports.size(), 5u * 4);
  for (const auto& [router, count] : ports) EXPECT_EQ(count, 2);
}

// Leaf, spine, spine, leaf between groups; leaf, spine, leaf inside one.
TEST(DragonflyPlus, MinimalRoutesClimbToASpine) {
  const Platform platform = load_platform(
      "dragonfly+:groups=5,leaves=3,spines=4,hosts=2,globals=2,bandwidth=1GB/s,latency=1us,"
      "local_bandwidth=1GB/s,local_latency=10us,global_bandwidth=1GB/s,global_latency=100us");
  EXPECT_EQ(platform.slot_count(), 5 * 3 * 2);
  // Two links a pair of groups.
  EXPECT_EQ(platform.links.size(), 30U + 5 * 3 * 4 + 2 * 5 * 4 / 2);
  for (int from = 0; from < platform.slot_count(); ++from)
    for (int to = 0; to < platform.slot_count(); ++to) {
      if (from == to) continue;
      const double us = 1e6 * platform.route(from, to).latency.value;
      EXPECT_NEAR(us, from / 2 == to / 2 ? 2 : from / 6 == to / 6 ? 22 : 122, 1e-9);
    }
  EXPECT_EQ(link_names(platform, platform.route(0, 3)),
            (std::vector<std::string>{"host0 -> group0.leaf0", "group0.leaf0 -> group0.spine3",
                                      "group0.spine3 -> group0.leaf1", "group0.leaf1 -> host3"}));
  // To the next group over its first spine or, its turn done, its third; from the other side the
  // group is the fourth away.
  EXPECT_EQ(link_names(platform, platform.route(0, 6)),
            (std::vector<std::string>{"host0 -> group0.leaf0", "group0.leaf0 -> group0.spine0",
                                      "group0.spine0 -> group1.spine1",
                                      "group1.spine1 -> group1.leaf0", "group1.leaf0 -> host6"}));
  EXPECT_EQ(link_names(platform, platform.route(7, 0)),
            (std::vector<std::string>{"host7 -> group1.leaf0", "group1.leaf0 -> group1.spine3",
                                      "group1.spine3 -> group0.spine2",
                                      "group0.spine2 -> group0.leaf0", "group0.leaf0 -> host0"}));
}

TEST(DragonflyPlus, EveryGlobalPortIsUsedOnce) {
  const Platform platform = load_platform(
      "dragonfly+:groups=5,leaves=3,spines=4,hosts=1,globals=2,link=edr,global_link=fdr");
  std::map<int, int> ports;
  for (const Link& link : platform.links)
    if (platform.link_classes[static_cast<size_t>(link.link_class)].name == "fdr") {
      ++ports[link.from];
      ++ports[link.to];
    }
  EXPECT_EQ(ports.size(), 5U * 4);
  for (const auto& [spine, count] : ports) EXPECT_EQ(count, 2);
}

// Groups of 2 rows x 3 columns: rows have 3 links each, columns 1; the rest takes two steps.
TEST(Dragonfly, GridGroupsGoAlongTheRowThenTheColumn) {
  const Platform platform = load_platform(
      "dragonfly:groups=3,routers=6,rows=2,hosts=1,globals=1,bandwidth=1GB/s,latency=0,"
      "local_bandwidth=1GB/s,local_latency=1us,column_bandwidth=1GB/s,column_latency=10us,"
      "global_bandwidth=1GB/s,global_latency=100us");
  const size_t links_per_pair = 6 / 2;
  EXPECT_EQ(platform.links.size(), 18U + 3 * (2 * 3 + 3 * 1) + 3 * links_per_pair);
  const auto latency_us = [&](int from, int to) {
    return 1e6 * platform.route(from, to).latency.value;
  };
  EXPECT_NEAR(latency_us(0, 2), 1, 1e-9);
  EXPECT_NEAR(latency_us(0, 3), 10, 1e-9);
  EXPECT_NEAR(latency_us(0, 5), 1 + 10, 1e-9);
  EXPECT_EQ(
      link_names(platform, platform.route(0, 5)),
      (std::vector<std::string>{"host0 -> group0.router0", "group0.router0 -> group0.router2",
                                "group0.router2 -> group0.router5", "group0.router5 -> host5"}));
  for (int from = 0; from < 6; ++from)
    for (int to = 6; to < 12; ++to) {
      EXPECT_GE(latency_us(from, to), 100 - 1e-9);
      EXPECT_LE(latency_us(from, to), 100 + 2 * (1 + 10) + 1e-9);
    }
}

TEST(Torus, HopsAreTheSumOfRingDistances) {
  const int extents[] = {4, 5, 2};
  const Platform platform = load_platform("torus:dims=4x5x2,bandwidth=1GB/s,latency=1us");
  EXPECT_EQ(platform.links.size(), 40u + 40 + 40 + 40 / 2);  // host links, then each dimension
  for (int from = 0; from < 40; ++from)
    for (int to = 0; to < 40; ++to) {
      if (from == to) continue;
      int distance = 2;
      int stride = 1;
      for (int extent : extents) {
        const int apart = std::abs(from / stride % extent - to / stride % extent);
        distance += std::min(apart, extent - apart);
        stride *= extent;
      }
      EXPECT_EQ(hops(platform, from, to), static_cast<size_t>(distance));
    }
}

TEST(Torus, FirstDimensionFirst) {
  const Platform platform = load_platform("torus:dims=3x3,link=edr");
  EXPECT_EQ(link_names(platform, platform.route(0, 4)),
            (std::vector<std::string>{"host0 -> router0", "router0 -> router1",
                                      "router1 -> router4", "router4 -> host4"}));
}

TEST(Star, ManyHostsAreLean) {
  const Platform platform = load_platform("star:hosts=65536,bandwidth=12.5GB/s,latency=1us");
  EXPECT_EQ(platform.devices.size(), 65537u);
  EXPECT_EQ(platform.links.size(), 65536u);
  EXPECT_EQ(platform.route(0, 65535).latency.value, 1e-6);
}

}  // namespace
}  // namespace forescale
