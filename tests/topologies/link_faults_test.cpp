// Links that are slow, down or lost: which they are, and what goes around them.
#include "topologies/link_faults.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/base/refusal.hpp"
#include "tests/topologies/route_checks.hpp"

namespace forescale {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::refusal;

using Links = std::map<std::string, std::string>;

constexpr const char* kTree = "fat-tree:down=4x4,up=2,bandwidth=10GB/s,latency=1us";

Platform with(const std::string& platform, const Links& links) {
  Platform changed = load_platform(platform);
  apply_link_faults(changed, links, "--link");
  return changed;
}

std::string refused(const std::string& platform, const Links& links) {
  return refusal([&] { with(platform, links); });
}

// Bandwidths over the way from slot to slot.
std::set<double> bandwidths(const Platform& platform, int from, int to) {
  std::set<double> found;
  for (const Capacity capacity : platform
                                     .route(platform.endpoints[static_cast<size_t>(from)],
                                            platform.endpoints[static_cast<size_t>(to)])
                                     .capacities)
    found.insert(platform.bandwidth(capacity).value);
  return found;
}

TEST(LinkFaults, ASlowLinkIsSlowForThoseWhoCrossIt) {
  const Platform star = with("star:hosts=4,bandwidth=10GB/s,latency=1us", {{"host1", "0.25"}});
  EXPECT_EQ(bandwidths(star, 0, 1), (std::set<double>{10e9, 2.5e9}));
  EXPECT_EQ(bandwidths(star, 0, 2), (std::set<double>{10e9}));
  EXPECT_FALSE(star.uniform_pairs);
}

TEST(LinkFaults, ANameMeansTheLinksThatLeaveItsNode) {
  const auto slowed = [](const std::string& name) {
    const Platform before = load_platform("dgx-h100");
    const Platform after = with("dgx-h100", {{name, "0.5"}});
    int changed = 0;
    for (size_t i = 0; i < before.links.size(); ++i)
      if (before.links[i].link_class != after.links[i].link_class) ++changed;
    return changed;
  };
  EXPECT_EQ(slowed("node1/nic0"), 1);
  EXPECT_EQ(slowed("node1"), 8);
  // GPUs have none: those to NVSwitch and PCIe. Two devices name the one between them.
  EXPECT_GE(slowed("node1/gpu0"), 2);
  EXPECT_EQ(slowed("node1/gpu0--node1/nvswitch"), 1);
}

TEST(LinkFaults, RoutesGoAroundWhatIsDown) {
  const Platform before = load_platform(kTree);
  const Platform after = with(kTree, {{"leaf0--spine0", "down"}});
  const auto way = [](const Platform& platform, int from, int to) {
    return link_names(platform, platform.route(platform.endpoints[static_cast<size_t>(from)],
                                               platform.endpoints[static_cast<size_t>(to)]));
  };
  int rerouted = 0;
  for (int from = 0; from < before.slot_count(); ++from)
    for (int to = 0; to < before.slot_count(); ++to) {
      if (from == to) continue;
      expect_sound(after, after.endpoints[static_cast<size_t>(from)],
                   after.endpoints[static_cast<size_t>(to)]);
      const auto now = way(after, from, to);
      EXPECT_THAT(now, Not(Contains("leaf0 -> spine0")));
      EXPECT_THAT(now, Not(Contains("spine0 -> leaf0")));
      EXPECT_EQ(now.size(), way(before, from, to).size());  // another spine is as near
      if (now == way(before, from, to)) continue;
      ++rerouted;
      EXPECT_TRUE(from < 4 || to < 4) << from << " " << to;
    }
  EXPECT_EQ(rerouted, 2 * 4 * 12 / 2);  // half of what leaves or enters the leaf went over spine0
}

TEST(LinkFaults, EqualWaysAroundAreAllUsed) {
  const Platform tree =
      with("fat-tree:down=8x4,up=4,bandwidth=10GB/s,latency=1us", {{"leaf0--spine0", "down"}});
  std::set<std::string> first;
  for (int from = 0; from < 8; ++from)
    for (int to = 8; to < 32; ++to) {
      const auto names = link_names(tree, tree.route(tree.endpoints[static_cast<size_t>(from)],
                                                     tree.endpoints[static_cast<size_t>(to)]));
      if (names.size() > 1) first.insert(names[1]);
    }
  EXPECT_EQ(first,
            (std::set<std::string>{"leaf0 -> spine1", "leaf0 -> spine2", "leaf0 -> spine3"}));
}

TEST(LinkFaults, AnAdapterWithoutLinksLeavesItsGpusToTheNearest) {
  const Platform before = load_platform("dgx-h100");
  const Platform after = with("dgx-h100", {{"node1/nic0", "down"}});
  std::set<std::string> others;
  for (size_t device = 0; device < before.devices.size(); ++device) {
    if (before.nic_of_device[device] == after.nic_of_device[device]) continue;
    const auto name_of_nic = [&](const Platform& platform) {
      return platform.devices[static_cast<size_t>(platform.nic_of_device[device])].name;
    };
    EXPECT_EQ(name_of_nic(before), "node1/nic0");
    EXPECT_NE(name_of_nic(after), "node1/nic0");
    EXPECT_THAT(name_of_nic(after), HasSubstr("node1/"));
    others.insert(before.devices[device].name);
  }
  EXPECT_THAT(others, Contains("node1/gpu0"));
}

TEST(LinkFaults, LostLinksStayOnTheWay) {
  const Platform before = load_platform(kTree);
  const Platform after = with(kTree, {{"leaf0--spine0", "lost"}});
  EXPECT_EQ(after.lost_links.size(), 1U);
  for (int to = 4; to < 8; ++to)
    EXPECT_EQ(link_names(after,
                         after.route(after.endpoints[0], after.endpoints[static_cast<size_t>(to)])),
              link_names(before, before.route(before.endpoints[0],
                                              before.endpoints[static_cast<size_t>(to)])));
}

TEST(LinkFaults, WhatCannotBeIsRefused) {
  EXPECT_THAT(refused(kTree, {{"leaf9", "0.5"}}), HasSubstr("--link = leaf9: device is unknown"));
  EXPECT_THAT(refused(kTree, {{"leaf0--leaf1", "0.5"}}),
              HasSubstr("must be linked: leaf1 is unknown"));
  EXPECT_THAT(refused(kTree, {{"node99", "0.5"}}), HasSubstr("must be below node16"));
  EXPECT_THAT(refused(kTree, {{"host3", "down"}}), HasSubstr("--link = node3: must keep a link"));
  EXPECT_THAT(refused(kTree, {{"leaf0--spine0", "down"}, {"leaf0--spine1", "down"}}),
              HasSubstr("must be joined to node0"));
  EXPECT_THAT(refused("dgx-h100", {{"node0/gpu0", "down"}}), HasSubstr("is inside a node"));
  for (const char* share : {"0", "-1", "1.5", "nan", "slow", ""})
    EXPECT_THAT(refusal([&] { parse_link_fault(share, "--link"); }),
                HasSubstr("above 0 and at most 1"))
        << share;
}

}  // namespace
}  // namespace forescale
