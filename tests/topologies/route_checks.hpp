// What must hold for every route of every platform; shared by the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "topologies/platform.hpp"

namespace forescale {

inline std::vector<std::string> link_names(const Platform& platform, const Route& route) {
  std::vector<std::string> names;
  for (Capacity capacity : route.capacities) names.push_back(platform.capacity_name(capacity));
  return names;
}

// Follows the route link by link: it is connected, ends at `to`, goes through no GPU, host or
// foreign NIC, and its latency is the sum of its links'.
inline void expect_sound(const Platform& platform, int from, int to) {
  const Route route = platform.route(from, to);
  int here = from;
  double latency_s = 0;
  for (Capacity capacity : route.capacities) {
    const Link& link = platform.links[static_cast<size_t>(capacity / 2)];
    const LinkClass& properties = platform.link_classes[static_cast<size_t>(link.link_class)];
    const DeviceKind kind = platform.devices[static_cast<size_t>(here)].kind;
    if (here != from && here != platform.nic_of(from) && here != platform.nic_of(to)) {
      EXPECT_NE(kind, DeviceKind::kGpu);
      EXPECT_NE(kind, DeviceKind::kHost);
      EXPECT_NE(kind, DeviceKind::kNic);
    }
    bool forward = capacity % 2 == 0;
    if (!properties.full_duplex) {
      EXPECT_TRUE(forward) << "a half-duplex link has only its even capacity";
      forward = link.from == here;
    }
    ASSERT_EQ(forward ? link.from : link.to, here) << platform.capacity_name(capacity);
    here = forward ? link.to : link.from;
    latency_s += properties.latency.value;
  }
  EXPECT_EQ(here, to);
  EXPECT_NEAR(route.latency.value, latency_s, 1e-12 * (1 + latency_s));
}

// Between all endpoints (GPUs, hosts) and their CPUs: sound, and as long there as back.
inline void expect_all_pairs_sound(const Platform& platform) {
  std::vector<int> ends = platform.endpoints;
  for (int endpoint : platform.endpoints) {
    const int host = platform.host_of(endpoint);
    ASSERT_GE(host, 0);
    if (host != ends.back()) ends.push_back(host);
  }
  for (int from : ends)
    for (int to : ends) {
      expect_sound(platform, from, to);
      if (::testing::Test::HasFatalFailure()) return;
      const Route there = platform.route(from, to);
      const Route back = platform.route(to, from);
      ASSERT_EQ(there.capacities.size(), back.capacities.size())
          << platform.devices[static_cast<size_t>(from)].name << " and "
          << platform.devices[static_cast<size_t>(to)].name;
      ASSERT_NEAR(there.latency.value, back.latency.value, 1e-15);
    }
}

}  // namespace forescale
