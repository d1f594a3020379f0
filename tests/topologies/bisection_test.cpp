// Bisection bandwidth against the formula of each regular fabric; b = 1 GB/s.
#include <gtest/gtest.h>

#include "topologies/platform.hpp"

namespace forescale {
namespace {

constexpr double kB = 1e9;

double bisection(const std::string& text) { return bisection_bandwidth(load_platform(text)).value; }

TEST(Bisection, StarIsHalfTheHosts) {
  EXPECT_EQ(bisection("star:hosts=10,bandwidth=1GB/s,latency=0"), 10 / 2 * kB);
  EXPECT_EQ(bisection("star:hosts=4096,bandwidth=1GB/s,latency=0"), 4096 / 2 * kB);
  EXPECT_EQ(bisection("star:hosts=1,bandwidth=1GB/s,latency=0"), 0);
}

TEST(Bisection, FatTree) {
  EXPECT_EQ(bisection("fat-tree:radix=8,bandwidth=1GB/s,latency=0"), 32 / 2 * kB);
  EXPECT_EQ(bisection("fat-tree:radix=8,levels=3,bandwidth=1GB/s,latency=0"), 128 / 2 * kB);
  // 8 leaves of 4 hosts and 2 uplinks: half the leaves send 4 * 2 links' worth.
  EXPECT_EQ(bisection("fat-tree:down=4x8,up=2,bandwidth=1GB/s,latency=0"), 4 * 2 * kB);
}

TEST(Bisection, Torus) {
  EXPECT_EQ(bisection("torus:dims=8x8,bandwidth=1GB/s,latency=0"), 2 * 8 * kB);
  EXPECT_EQ(bisection("torus:dims=4x4x4,bandwidth=1GB/s,latency=0"), 2 * 4 * 4 * kB);
  EXPECT_EQ(bisection("torus:dims=8x4x2,bandwidth=1GB/s,latency=0"), 2 * 4 * 2 * kB);
  EXPECT_EQ(bisection("torus:dims=8,bandwidth=1GB/s,latency=0"), 2 * kB);
}

TEST(Bisection, DragonflyIsTheGlobalLinksBetweenHalves) {
  // 4 groups, one link a pair: 2 * 2 pairs cross.
  EXPECT_EQ(bisection("dragonfly:groups=4,routers=3,hosts=2,globals=1,bandwidth=1GB/s,latency=0"),
            2 * 2 * kB);
  // Two links a pair, each at half the bandwidth.
  EXPECT_EQ(bisection("dragonfly:groups=4,routers=3,hosts=2,globals=2,bandwidth=1GB/s,latency=0,"
                      "global_bandwidth=0.5GB/s,global_latency=0"),
            2 * 2 * 2 * 0.5 * kB);
}

TEST(Bisection, DragonflyPlusIsTheGlobalLinksBetweenHalves) {
  // 4 groups, two links a pair: 2 * 2 pairs cross.
  EXPECT_EQ(bisection("dragonfly+:groups=4,leaves=2,spines=3,hosts=4,globals=2,bandwidth=1GB/s,"
                      "latency=0"),
            2 * 2 * 2 * kB);
}

TEST(Bisection, OneNodeIsCutAtTheSocketLink) {
  // Two sockets of two GPUs below one switch each: halves are the sockets. Alternating GPUs are
  // cut at the four cards: 2 * b. The switch's uplink is the narrowest: b.
  const double pcie = load_link("pcie3-x16", "test", nullptr).bandwidth.value;
  EXPECT_EQ(bisection("pcie:gpu=k80"), pcie);
}

TEST(Bisection, KeschIsSixAdapters) {
  const double pcie = load_link("pcie3-x16", "test", nullptr).bandwidth.value;
  const double wire = load_link("connect-ib-dual-fdr", "test", nullptr).bandwidth.value;
  EXPECT_EQ(bisection("kesch"), 6 * std::min(pcie, wire));
}

TEST(Bisection, AbsurdBandwidthsDoNotOverflow) {
  EXPECT_NEAR(bisection("star:hosts=4,bandwidth=1e300B/s,latency=0"), 2e300, 1e288);
}

TEST(Bisection, NicWithTwoWiresIsLimitedByItsSlot) {
  // 4 nodes, one NIC each on a slot of 3 GB/s, wires of 2 GB/s to both of two switches.
  std::string links;
  for (int node = 0; node < 4; ++node)
    for (int rail = 0; rail < 2; ++rail)
      links += (links.empty() ? "" : ",") + std::string("{\"from\": \"node") +
               std::to_string(node) + "/nic0\", \"to\": \"s" + std::to_string(rail) +
               "\", \"class\": \"wire\"}";
  const Platform platform = read_platform(
      R"({"format": "forescale-platform-1", "name": "rails", "link_classes": {
          "slot": {"bandwidth_bytes_per_s": 3e9, "latency_s": 0},
          "wire": {"bandwidth_bytes_per_s": 2e9, "latency_s": 0}},
          "node": {"count": 4, "layout": "pcie-tree", "switches_per_socket": 0, "gpu": "k40",
                   "cpu": "xeon-e5-2680v3", "card_link": "slot",
                   "nics": [{"socket": 0, "class": "slot"}]},
          "fabric": {"layout": "explicit", "switches": ["s0", "s1"], "links": [)" +
          links + "]}}",
      "rails.json");
  EXPECT_EQ(bisection_bandwidth(platform).value, 2 * 3e9);
}

}  // namespace
}  // namespace forescale
