// The preset clusters: all load and obey the schema (the loader checks it); KESCH link by link.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/data_files.hpp"
#include "tests/base/refusal.hpp"
#include "tests/topologies/route_checks.hpp"
#include "topologies/placement.hpp"

namespace forescale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Presets, AllLoadInEveryScenario) {
  for (const std::string& name : catalogue("topologies/presets"))
    for (Scenario scenario : {Scenario::kNominal, Scenario::kFast, Scenario::kSlow}) {
      const Platform platform = load_platform(name, scenario);
      EXPECT_EQ(platform.name, name);
      EXPECT_FALSE(platform.is_generated);
      EXPECT_FALSE(platform.assumptions.empty());
      EXPECT_GT(bisection_bandwidth(platform).value, 0);
      for (const NumberSource& number : platform.provenance.numbers)
        EXPECT_THAT(number.source, ::testing::Not(::testing::StartsWith("given in")))
            << number.file << number.path;
    }
}

TEST(Presets, AllPairsSound) {
  for (const char* name :
       {"kesch", "cluster-b", "taurus-smp4", "susitna", "dgx-a100", "aws-p3dn", "alps-gh200",
        "azure-nd-mi300x", "dgx-b200", "dgx-b300", "aws-p6-b200", "gb200-nvl72:nodes=2",
        "gb300-nvl72:nodes=2", "l40s-server", "rtx-pro-server", "dell-r750xa"})
    expect_all_pairs_sound(load_platform(name));
}

class Kesch : public ::testing::Test {
 protected:
  int slot(int node, int gpu) const {
    return kesch.endpoints[16 * static_cast<size_t>(node) + static_cast<size_t>(gpu)];
  }
  std::vector<std::string> names(int from, int to) const {
    return link_names(kesch, kesch.route(from, to));
  }
  Platform kesch = load_platform("kesch");
};

TEST_F(Kesch, Counts) {
  EXPECT_EQ(kesch.node_count, 12);
  EXPECT_EQ(kesch.slot_count(), 192);  // S-Caffe section 6.1
  EXPECT_EQ(kesch.gpu_models.size(), 1u);
  EXPECT_EQ(kesch.gpu_models[0].name, "k80");
  EXPECT_EQ(kesch.cpu_models[0].cores, 12);
  EXPECT_EQ(kesch.devices[kesch.devices.size() - 1].name, "hub0");
  EXPECT_EQ(kesch.devices[static_cast<size_t>(slot(3, 5))].name, "node3/gpu5");
  EXPECT_EQ(kesch.devices[static_cast<size_t>(slot(3, 5))].socket, 0);
  EXPECT_EQ(kesch.devices[static_cast<size_t>(slot(3, 8))].socket, 1);
}

TEST_F(Kesch, PeersStayBelowTheirSwitch) {
  EXPECT_THAT(names(slot(0, 0), slot(0, 1)),
              ElementsAre("node0/gpu0 -> node0/card0", "node0/card0 -> node0/gpu1"));
  EXPECT_THAT(names(slot(0, 0), slot(0, 2)),
              ElementsAre("node0/gpu0 -> node0/card0", "node0/card0 -> node0/switch0",
                          "node0/switch0 -> node0/card1", "node0/card1 -> node0/gpu2"));
  EXPECT_EQ(kesch.locality(slot(0, 0), slot(0, 2)), Locality::kPeer);
  // Two switches of one socket: over the CPU's root complex, still peers.
  EXPECT_EQ(kesch.route(slot(0, 0), slot(0, 7)).capacities.size(), 6u);
  EXPECT_EQ(kesch.locality(slot(0, 0), slot(0, 7)), Locality::kPeer);
}

TEST_F(Kesch, CrossSocketGoesOverQpi) {
  EXPECT_THAT(names(slot(2, 1), slot(2, 8)),
              ElementsAre("node2/gpu1 -> node2/card0", "node2/card0 -> node2/switch0",
                          "node2/switch0 -> node2/cpu0", "node2/cpu0 -> node2/cpu1",
                          "node2/cpu1 -> node2/switch2", "node2/switch2 -> node2/card4",
                          "node2/card4 -> node2/gpu8"));
  EXPECT_EQ(kesch.locality(slot(2, 1), slot(2, 8)), Locality::kCrossSocket);
}

TEST_F(Kesch, InterNodeGoesThroughBothAdapters) {
  const Route route = kesch.route(slot(0, 0), slot(11, 15));
  EXPECT_THAT(link_names(kesch, route),
              ElementsAre("node0/gpu0 -> node0/card0", "node0/card0 -> node0/switch0",
                          "node0/switch0 -> node0/cpu0", "node0/cpu0 -> node0/nic0",
                          "node0/nic0 -> hub0", "hub0 -> node11/nic0", "node11/nic0 -> node11/cpu0",
                          "node11/cpu0 -> node11/cpu1", "node11/cpu1 -> node11/switch3",
                          "node11/switch3 -> node11/card7", "node11/card7 -> node11/gpu15"));
  EXPECT_EQ(kesch.locality(slot(0, 0), slot(11, 15)), Locality::kInterNode);
  // 6 PCIe hops and 2 on the cards, 1 QPI, 2 wires, each with its class's latency.
  const auto latency = [](const char* name) {
    return load_link(name, "test", nullptr).latency.value;
  };
  EXPECT_NEAR(route.latency.value,
              6 * latency("pcie3-x16") + 2 * latency("k80-card") + latency("qpi") +
                  2 * latency("connect-ib-dual-fdr"),
              1e-15);
}

TEST_F(Kesch, HostsAndNics) {
  const int cpu0 = kesch.host_of(slot(4, 0));
  const int cpu1 = kesch.host_of(slot(4, 15));
  EXPECT_EQ(kesch.devices[static_cast<size_t>(cpu0)].name, "node4/cpu0");
  EXPECT_EQ(kesch.devices[static_cast<size_t>(cpu1)].name, "node4/cpu1");
  EXPECT_EQ(kesch.nic_of(slot(4, 0)), kesch.nic_of(slot(4, 15)));
  EXPECT_EQ(kesch.host_of(cpu1), cpu1);
  EXPECT_THAT(names(slot(4, 15), cpu1),
              ElementsAre("node4/gpu15 -> node4/card7", "node4/card7 -> node4/switch3",
                          "node4/switch3 -> node4/cpu1"));
  EXPECT_THAT(names(cpu0, kesch.host_of(slot(5, 0))),
              ElementsAre("node4/cpu0 -> node4/nic0", "node4/nic0 -> hub0", "hub0 -> node5/nic0",
                          "node5/nic0 -> node5/cpu0"));
}

TEST_F(Kesch, DescriptionSaysWhatIsAssumed) {
  const std::string text = describe(kesch);
  EXPECT_THAT(text, HasSubstr("12 nodes, 192 slots, GPU k80"));
  EXPECT_THAT(text, HasSubstr("card0 (shared switch)  [pcie3-x16]"));
  EXPECT_THAT(text, HasSubstr("12 links  [connect-ib-dual-fdr]"));
  EXPECT_THAT(text, HasSubstr("assumed about the structure"));
  EXPECT_THAT(text, HasSubstr("connect-ib-dual-fdr/latency_s = 3.5e-07  assumed"));
}

TEST_F(Kesch, GraphvizHasEveryDevice) {
  const std::string dot = graphviz(kesch);
  EXPECT_THAT(dot, ::testing::StartsWith("graph"));
  for (const Device& device : kesch.devices)
    EXPECT_THAT(dot, HasSubstr("label=\"" + device.name + "\""));
}

TEST(Presets, HaveOtherNumbersOfNodes) {
  const Platform some = load_platform("dgx-h100");
  const Platform many = load_platform("dgx-h100:nodes=2048");
  EXPECT_EQ(many.name, "dgx-h100:nodes=2048");
  EXPECT_EQ(many.slot_count(), 2048 * 8);
  EXPECT_EQ(many.assumptions.size(), some.assumptions.size() + 1);
  const int first = many.endpoints.front();
  const int last = many.endpoints.back();
  EXPECT_EQ(many.route(first, last).latency.value,
            some.route(some.endpoints.front(), some.endpoints.back()).latency.value);
  using testing::refusal;
  for (const char* wrong : {"dgx-h100:nodes=0", "dgx-h100:nodes=x", "dgx-h100:nodes=99999999999"})
    EXPECT_THAT(refusal([&] { load_platform(wrong); }), ::testing::HasSubstr("--platform"))
        << wrong;
  EXPECT_THAT(refusal([&] { load_platform("no-such:nodes=2"); }), ::testing::HasSubstr("unknown"));
}

TEST(Presets, PizDaintIsADragonflyInRandomOrder) {
  const Platform daint = load_platform("piz-daint");
  EXPECT_EQ(daint.slot_count(), 5704);
  EXPECT_EQ(daint.placement, "random:seed=1");
  // 128 of 5704 nodes: neighbours of a rank are hardly ever neighbours in the machine.
  int in_one_group = 0;
  for (size_t slot = 0; slot + 1 < 128; ++slot) {
    const int here = daint.devices[static_cast<size_t>(daint.endpoints[slot])].node;
    const int next = daint.devices[static_cast<size_t>(daint.endpoints[slot + 1])].node;
    in_one_group += here / 384 == next / 384 ? 1 : 0;
    expect_sound(daint, daint.endpoints[slot], daint.endpoints[slot + 1]);
    // GPU, NIC, router; at most two hops to the gateway, one between groups, two from it.
    EXPECT_LE(daint.route(daint.endpoints[slot], daint.endpoints[slot + 1]).capacities.size(),
              3U + 2 + 1 + 2 + 3);
  }
  EXPECT_LT(in_one_group, 127 / 4);
}

// The names of the links between two GPUs, by slot.
std::vector<std::string> links_between(const Platform& platform, int from, int to) {
  const auto device = [&](int slot) { return platform.endpoints[static_cast<size_t>(slot)]; };
  return link_names(platform, platform.route(device(from), device(to)));
}

TEST(Presets, NvswitchJoinsAllGpusOfANode) {
  for (const char* name : {"dgx-a100", "dgx-h100", "dgx-h200", "aws-p4de", "aws-p5"}) {
    const Platform platform = load_platform(name);
    for (int to = 1; to < 8; ++to) {
      EXPECT_THAT(links_between(platform, 0, to),
                  ElementsAre("node0/gpu0 -> node0/nvswitch",
                              fmt::format("node0/nvswitch -> node0/gpu{}", to)))
          << name;
      EXPECT_EQ(
          platform.locality(platform.endpoints[0], platform.endpoints[static_cast<size_t>(to)]),
          Locality::kPeer);
    }
  }
}

TEST(Presets, EveryGpuLeavesThroughTheAdapterOfItsRail) {
  const auto adapters = [](const char* name) {
    const Platform platform = load_platform(name);
    std::vector<std::string> names;
    for (int gpu = 0; gpu < 8; ++gpu)
      names.push_back(platform
                          .devices[static_cast<size_t>(
                              platform.nic_of(platform.endpoints[static_cast<size_t>(gpu)]))]
                          .name.substr(6));
    return names;
  };
  const std::vector<std::string> own{"nic0", "nic1", "nic2", "nic3",
                                     "nic4", "nic5", "nic6", "nic7"};
  EXPECT_EQ(adapters("dgx-a100"), own);
  EXPECT_EQ(adapters("dgx-h100"), own);
  const std::vector<std::string> pairs{"nic0", "nic0", "nic1", "nic1",
                                       "nic2", "nic2", "nic3", "nic3"};
  EXPECT_EQ(adapters("dgx-1-v100"), pairs);
  EXPECT_EQ(adapters("aws-p4de"), pairs);
}

// White paper WP-08437-002: six NVLinks a GPU, one or two to each of four neighbours.
TEST(Presets, TheCubeMeshOfDgx1HasSixNvlinksAGpu) {
  const Platform platform = load_platform("dgx-1-v100");
  for (int gpu = 0; gpu < 8; ++gpu) {
    int nvlinks = 0;
    for (const Link& link : platform.links) {
      const int device = platform.endpoints[static_cast<size_t>(gpu)];
      if (link.from != device && link.to != device) continue;
      const std::string& name = platform.link_classes[static_cast<size_t>(link.link_class)].name;
      nvlinks += name == "nvlink2" ? 1 : name == "nvlink2-double" ? 2 : 0;
    }
    EXPECT_EQ(nvlinks, 6) << gpu;
  }
  EXPECT_THAT(links_between(platform, 0, 4), ElementsAre("node0/gpu0 -> node0/gpu4"));
}

TEST(Presets, MinskyHasNvlinkToTheCpuAndInPairs) {
  const Platform minsky = load_platform("minsky");
  EXPECT_EQ(minsky.slot_count(), 64 * 4);
  const auto names = [&](size_t from, size_t to) {
    return link_names(minsky, minsky.route(minsky.endpoints[from], minsky.endpoints[to]));
  };
  EXPECT_THAT(names(0, 1), ElementsAre("node0/gpu0 -> node0/gpu1"));
  EXPECT_THAT(names(1, 2), ElementsAre("node0/gpu1 -> node0/cpu0", "node0/cpu0 -> node0/cpu1",
                                       "node0/cpu1 -> node0/gpu2"));
  EXPECT_EQ(minsky.locality(minsky.endpoints[0], minsky.endpoints[1]), Locality::kPeer);
  EXPECT_EQ(minsky.locality(minsky.endpoints[1], minsky.endpoints[2]), Locality::kCrossSocket);
  const Route up = minsky.route(minsky.endpoints[0], minsky.host_of(minsky.endpoints[0]));
  EXPECT_GT(minsky.bandwidth(up.capacities.front()).value, 2 * 12e9);  // not PCIe
  EXPECT_EQ(minsky.gpu_models[0].host_copy.value, 32e9);
  const auto& numbers = minsky.provenance.numbers;
  EXPECT_EQ(std::count_if(numbers.begin(), numbers.end(),
                          [](const NumberSource& number) {
                            return number.path.ends_with("/host_copy_bytes_per_s");
                          }),
            1);
}

TEST(Presets, Dgx1IsTwoQuadsJoinedOneToOne) {
  const Platform dgx = load_platform("dgx-1-p100");
  EXPECT_EQ(dgx.slot_count(), 8);
  int direct = 0;
  for (size_t a = 0; a < 8; ++a)
    for (size_t b = a + 1; b < 8; ++b)
      direct += dgx.route(dgx.endpoints[a], dgx.endpoints[b]).capacities.size() == 1 ? 1 : 0;
  EXPECT_EQ(direct, 8 * 4 / 2);  // four NVLinks a GPU
  EXPECT_EQ(dgx.locality(dgx.endpoints[0], dgx.endpoints[4]), Locality::kPeer);
  EXPECT_EQ(dgx.locality(dgx.endpoints[0], dgx.endpoints[5]), Locality::kCrossSocket);
}

TEST(Presets, CloudInstances) {
  EXPECT_EQ(load_platform("aws-p2.8xlarge").slot_count(), 8 * 8);
  EXPECT_EQ(load_platform("aws-p2.16xlarge").slot_count(), 16 * 16);
  EXPECT_EQ(load_platform("aws-p2.xlarge").slot_count(), 128);
  EXPECT_EQ(load_platform("gce-k80x8").slot_count(), 8);
  EXPECT_EQ(load_platform("aws-p2.8xlarge").cores_per_node, 32 / 2);  // vCPUs are threads
}

TEST(Presets, StorageKeepsItsNumbers) {
  const Platform susitna = load_platform("susitna");
  ASSERT_TRUE(susitna.storage.has_value());
  EXPECT_EQ(susitna.storage->network, StorageNetwork::kFabric);
  EXPECT_EQ(susitna.storage->provenance.numbers.size(), 4U);
  for (const NumberSource& number : susitna.provenance.numbers)
    EXPECT_THAT(number.file, ::testing::Not(HasSubstr("models/storage")));
  EXPECT_THAT(link_names(susitna, {susitna.from_fabric(susitna.host_of(susitna.endpoints[3])), {}}),
              ElementsAre("hub0 -> node3/nic0", "node3/nic0 -> node3/cpu0"));
}

TEST(Presets, Ri2HasTwoDevicesANodeOfWhichOneIsUsed) {
  Platform ri2 = load_platform("ri2");
  EXPECT_EQ(ri2.node_count, 20);
  EXPECT_EQ(ri2.slot_count(), 20);
  EXPECT_EQ(ri2.locality(ri2.endpoints[0], ri2.endpoints[1]), Locality::kInterNode);
  place_ranks(ri2, "linear", "test");
  EXPECT_EQ(ri2.slot_count(), 40);
  EXPECT_EQ(ri2.locality(ri2.endpoints[0], ri2.endpoints[1]), Locality::kPeer);
  EXPECT_EQ(ri2.locality(ri2.endpoints[1], ri2.endpoints[2]), Locality::kInterNode);
}

}  // namespace
}  // namespace forescale
