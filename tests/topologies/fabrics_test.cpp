// What each fabric's formulas say: hops, latencies, who shares a link.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/topologies/route_checks.hpp"

namespace forescale {
namespace {

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
