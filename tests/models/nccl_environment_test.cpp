// NCCL's environment variables on the stacks that ship: what they leave, and what is taken of it.
#include "models/nccl_environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/data_files.hpp"
#include "base/units.hpp"
#include "models/nccl_release.hpp"
#include "tests/base/refusal.hpp"

namespace forescale {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::refusal;

constexpr const char* kH100 = "nccl-2.23-h100";
constexpr GroupShape kNode{.ranks = 8, .nodes = 1, .ranks_per_node = 8};
constexpr GroupShape kFourNodes{.ranks = 32, .nodes = 4, .ranks_per_node = 8};

Stack with(const std::string& variables) {
  return load_stack(std::string(kH100) + ":" + variables);
}

std::int64_t chunk_of(const SelectionRule* rule) {
  return std::get<std::int64_t>(rule->options.given().at("chunk_bytes"));
}

std::string protocol_of(const Stack& stack, const std::string& op, const GroupShape& shape,
                        std::int64_t bytes) {
  const SelectionRule* rule = stack.rule_for(op, shape, bytes);
  return rule == nullptr ? "none" : stack.protocols[static_cast<size_t>(rule->protocol)];
}

TEST(NcclEnvironment, LeavesWhatItNames) {
  EXPECT_THAT(with("NCCL_ALGO=ring").allowed.at("all-reduce"),
              ElementsAre("ring/ll", "ring/ll128", "ring/simple"));
  EXPECT_THAT(with("NCCL_ALGO=Ring,Tree,NCCL_PROTO=^LL,LL128").allowed.at("all-reduce"),
              ElementsAre("ring/simple", "tree/simple"));
  EXPECT_THAT(with("NCCL_ALGO=^Ring,Tree").allowed.at("all-reduce"),
              ElementsAre("nvls/simple", "nvls_tree/simple"));
  EXPECT_THAT(with("NCCL_NVLS_ENABLE=0,NCCL_PROTO=Simple").allowed.at("all-reduce"),
              ElementsAre("ring/simple", "tree/simple"));
  EXPECT_THAT(with("NCCL_ALGO=Tree").allowed.at("allgather"),
              ElementsAre("ring/ll", "ring/ll128", "ring/simple"))
      << "others than all-reduces keep rings";
  EXPECT_FALSE(with("NCCL_PROTO=LL").allowed.contains("broadcast"))
      << "of which the stack knows no other protocol";
  EXPECT_TRUE(with("NCCL_BUFFSIZE=8MiB").allowed.empty());
}

// Of four nodes with one GPU of each NCCL reckons with one adapter a ring: LL128 at 0.7 of it,
// where a ring of whole nodes has 0.92, so the simple protocol comes sooner; and reductions by the
// switches take more than two GPUs of a node.
TEST(NcclEnvironment, PartsOfNodesHaveChoicesOfTheirOwn) {
  const Stack plain = load_stack(kH100);
  const auto of = [&](int gpus, int nodes, std::int64_t bytes) {
    return protocol_of(plain, "all-reduce", {gpus * nodes, nodes, gpus, 8 / gpus}, bytes);
  };
  EXPECT_EQ(of(1, 4, 64 * kMiB), "");
  EXPECT_EQ(of(8, 4, 64 * kMiB), "nvls");
  EXPECT_EQ(of(4, 4, 2 * kMiB), "nvls-four");
  for (const std::int64_t bytes : {kMiB, 64 * kMiB, 1024 * kMiB})
    for (const int gpus : {1, 2}) EXPECT_THAT(of(gpus, 4, bytes), Not(HasSubstr("nvls")));
  const SelectionRule* rule = plain.rule_for("all-reduce", {8, 4, 2, 4}, 64 * kMiB);
  EXPECT_EQ(rule->orders, (RankOrders{{0, 1}, {1, 0}, {0, 1}, {1, 0}}))
      << "a ring from each, and each twice";
  // What its environment leaves is taken in the order for as many GPUs of a node.
  EXPECT_EQ(protocol_of(with("NCCL_NVLS_ENABLE=0"), "all-reduce", {4, 4, 1, 8}, 64 * kMiB), "");
  EXPECT_EQ(protocol_of(with("NCCL_PROTO=^Simple"), "all-reduce", {4, 4, 1, 8}, 64 * kMiB),
            "ring-ll128");
}

double channel_cap_of(const Stack& stack, const std::string& protocol) {
  for (const PathRule& path : stack.paths)
    if (stack.protocols[static_cast<size_t>(path.protocol)] == protocol)
      return path.channel_cap.value;
  ADD_FAILURE() << "no path of " << protocol;
  return 0;
}

// 24.8 GB/s a channel. All four GH200 of a node have twelve orders, so 24 queues of trees on eight
// channels; two have as many queues as channels.
TEST(NcclEnvironment, APartsQueuesCarryAsMuchAsTheChannelsThatTheyStandFor) {
  const Stack stack = load_stack("nccl-2.23-gh200");
  const std::string of_two = protocol_of(stack, "all-reduce", {4, 2, 2, 2}, 64 * kMiB);
  EXPECT_EQ(of_two, "tree-simple-2");
  EXPECT_NEAR(channel_cap_of(stack, of_two), 24.8e9, 1e7);
  EXPECT_NEAR(channel_cap_of(stack, "tree-simple"), 24.8e9 * 8 / 24, 1e7);
  EXPECT_EQ(protocol_of(stack, "all-reduce", {8, 2, 4, 1}, 64 * kMiB), "tree-simple");
}

// What NVIDIA/nccl, src/graph/tuning.cc, comes to at the releases' commits, by its own formulas: on
// 16 nodes of eight H100 releases up to 2.18 count a step of NVLSTree for every node, and trees by
// the simple protocol cost 28 us a step in 2.20 to 2.22; from 2.28 on NVLSTree is wider.
TEST(NcclReleases, ChooseByEstimatesOfTheirOwn) {
  const auto of = [](const std::string& release, int nodes, std::int64_t bytes, int gpus = 8,
                     const std::string& op = "all-reduce") {
    const Stack stack = load_stack("nccl-" + release + "-h100");
    return stack.own_choice(op, {gpus * nodes, nodes, gpus, 8 / gpus}, bytes);
  };
  EXPECT_EQ(of("2.18", 16, 256 * kMiB), "tree/simple");
  for (const char* release : {"2.20", "2.21", "2.23", "2.28"})
    EXPECT_EQ(of(release, 16, 256 * kMiB), "nvls_tree/simple") << release;
  EXPECT_EQ(of("2.23", 4, 1024 * kMiB), "ring/simple");
  EXPECT_EQ(of("2.28", 4, 1024 * kMiB), "nvls_tree/simple");
  EXPECT_EQ(of("2.23", 2, kMiB), "nvls_tree/simple");
  EXPECT_EQ(of("2.28", 2, kMiB), "tree/ll128");
  EXPECT_EQ(of("2.20", 2, 256 << 10, 1), "ring/ll128") << "a quarter of the link's rate is LL's";
  EXPECT_EQ(of("2.21", 2, 256 << 10, 1), "ring/ll") << "half of it";
  EXPECT_EQ(of("2.21", 16, 512 << 10, 1), "ring/ll");
  EXPECT_EQ(of("2.23", 16, 512 << 10, 1), "tree/ll128") << "nothing hides a lone GPU's steps";
  EXPECT_EQ(of("2.20", 16, kMiB, 1, "allgather"), "ring/ll128");
  EXPECT_EQ(of("2.21", 16, kMiB, 1, "allgather"), "ring/ll");
  EXPECT_EQ(of("2.23", 16, kMiB, 1, "allgather"), "pat/simple");
}

// Every kind of NCCL's stacks has each release once.
TEST(NcclReleases, FollowEachOther) {
  std::map<std::string, std::vector<NcclReleases>> of_kind;
  for (const std::string& name : catalogue("models/stacks")) {
    const Stack stack = load_stack(name);
    if (!stack.releases) continue;
    EXPECT_TRUE(name.starts_with("nccl-" + stack.releases->first.text() + "-")) << name;
    EXPECT_THAT(stack.description, HasSubstr("NCCL " + stack.releases->text())) << name;
    of_kind[name.substr(name.find('-', 5))].push_back(*stack.releases);
  }
  EXPECT_GE(of_kind.size(), 9u);
  for (const auto& [kind, releases] : of_kind) {
    EXPECT_EQ(releases.back().last.text(), "2.30") << kind;
    for (size_t i = 1; i < releases.size(); ++i)
      EXPECT_LT(releases[i - 1].last, releases[i].first) << kind;
  }
}

TEST(NcclReleases, AreFoundByTheirNumber) {
  const auto stack = [](const std::string& own, const std::string& asked) {
    return nccl_stack_of_release(own, asked, "--stack");
  };
  EXPECT_EQ(stack("nccl-2.23-h100", "nccl-2.18"), "nccl-2.18-h100");
  EXPECT_EQ(stack("nccl-2.23-h100", "nccl-2.22"), "nccl-2.21-h100");
  EXPECT_EQ(stack("nccl-2.23-h100", "nccl-2.30"), "nccl-2.29-h100");
  EXPECT_EQ(stack("nccl-2.23-a100", "nccl-2.30"), "nccl-2.23-a100") << "nothing that changed it";
  EXPECT_EQ(stack("nccl-2.29-b200-efa", "nccl-2.25"), "nccl-2.23-b200-efa");
  EXPECT_EQ(stack("nccl-2.23-h100", "gloo"), "");
  EXPECT_EQ(stack("nccl-2.23-h100", "nccl-2.18-a100"), "") << "a stack's whole name";
  EXPECT_THAT(refusal([&] { stack("nccl-2.23-h100", "nccl-2.19"); }),
              HasSubstr("nccl-2.19: must be of a release that is known: 2.18, 2.20, 2.21 to 2.22"));
  EXPECT_THAT(refusal([&] { stack("nccl-2.23-h100", "nccl-2.31"); }), HasSubstr("2.29 to 2.30"));
  for (const char* own : {"nccl-2.20-h100-tcpx", "nccl-gb200-nvl72", "rccl-2.22-mi300x"})
    EXPECT_THAT(refusal([&] { stack(own, "nccl-2.18"); }), HasSubstr("no other release")) << own;
}

// AWS's lines (models/stacks/aws_choices.csv): one rank on each of 8 p5 takes rings from the first
// byte on, eight on each of 4 trees up to 36 MiB. NCCL's estimates are for trees up to more.
TEST(NcclEnvironment, TakesTheTunersChoiceBeforeNccls) {
  const std::string p5 = "nccl-2.23-h100-efa";
  const Stack tuned = load_stack(p5);
  const Stack plain = load_stack(p5 + ":NCCL_TUNER_PLUGIN=none");
  const auto of = [](const Stack& stack, int gpus, int nodes, std::int64_t bytes) {
    return stack.own_choice("all-reduce", {gpus * nodes, nodes, gpus, 8 / gpus}, bytes);
  };
  EXPECT_EQ(of(tuned, 1, 8, kMiB), "ring/ll128");
  EXPECT_EQ(of(plain, 1, 8, kMiB), "tree/ll128");
  EXPECT_EQ(of(tuned, 8, 4, 36 * kMiB), "tree/ll128");
  EXPECT_EQ(of(tuned, 8, 4, 36 * kMiB + 1), "ring/ll128");
  EXPECT_EQ(of(tuned, 8, 3, 36 * kMiB), "tree/ll128") << "as on four nodes";
  EXPECT_EQ(of(tuned, 8, 300, 36 * kMiB), "tree/ll128") << "as on 256 nodes";
  EXPECT_EQ(of(tuned, 8, 2, 36 * kMiB), of(plain, 8, 2, 36 * kMiB)) << "two nodes are NCCL's";
  EXPECT_EQ(of(tuned, 4, 8, 36 * kMiB), of(plain, 4, 8, 36 * kMiB)) << "four GPUs of each, too";
  const GroupShape pairs{.ranks = 16, .nodes = 8, .ranks_per_node = 2};
  EXPECT_EQ(tuned.tuner.choices.count("all-reduce"), 1U);
  const auto& bands = tuned.tuner.choices.at("all-reduce");
  const auto switches = std::find_if(bands.begin(), bands.end(), [&](const Preference& band) {
    return band.ranks_per_node == 2 && band.up_to_nodes == 8 &&
           band.order == std::vector<std::string>{"nvls_tree/simple"};
  });
  ASSERT_NE(switches, bands.end());
  EXPECT_EQ(tuned.own_choice("all-reduce", pairs, switches->up_to_bytes),
            plain.own_choice("all-reduce", pairs, switches->up_to_bytes))
      << "two GPUs of a node have no NVLSTree: NCCL's";
  for (const char* variable : {":NCCL_ALGO=Ring,Tree,NVLS,NVLSTree", ":NCCL_PROTO=^LL"})
    EXPECT_EQ(of(load_stack(p5 + variable), 1, 8, kMiB), "tree/ll128") << "switches it off";
  EXPECT_EQ(of(load_stack(p5 + ":NCCL_NVLS_ENABLE=0"), 1, 8, kMiB), "ring/ll128");
  Stack told = tuned;
  told.take({.name = "ring/ll"}, "test");
  EXPECT_EQ(protocol_of(told, "all-reduce", {8, 8, 1, 8}, kMiB), "ring-ll");
  EXPECT_EQ(tuned.tuner_choice("allgather", {2, 2, 1, 8}, kMiB), "");
}

// From 2.23 on, of groups with one GPU of each node. AWS's lines for 8 p6-b200: up to 2 MiB.
TEST(NcclEnvironment, ParallelAggregatedTreesAreOfOneGpuANode) {
  const std::string p6 = "nccl-2.29-b200-efa";
  const GroupShape shape{.ranks = 8, .nodes = 8, .ranks_per_node = 1};
  const Stack tuned = load_stack(p6);
  EXPECT_EQ(tuned.tuner_choice("allgather", shape, kMiB), "pat/simple");
  EXPECT_EQ(tuned.rule_for("allgather", shape, kMiB)->algorithm, "pat");
  EXPECT_EQ(tuned.tuner_choice("allgather", shape, 16 * kMiB), "ring/ll128");
  // NCCL's own estimate has them longer: 8 + 3 (14 + 35) / 3.5 + 8 x 2.8 us and 36 GB/s.
  const Stack plain = load_stack(p6 + ":NCCL_TUNER_PLUGIN=none");
  EXPECT_EQ(plain.own_choice("allgather", shape, 32 * kMiB), "pat/simple");
  EXPECT_NE(plain.own_choice("allgather", shape, 64 * kMiB), "pat/simple");
  for (const char* without : {":NCCL_PAT_ENABLE=0,NCCL_TUNER_PLUGIN=none", ":NCCL_ALGO=Ring"})
    EXPECT_THAT(load_stack(p6 + without).own_choice("allgather", shape, kMiB), HasSubstr("ring"));
  for (const auto& [name, alternative] : tuned.alternatives)
    for (const auto& [op, rules] : alternative.rules)
      for (const SelectionRule& rule : rules) {
        if (rule.algorithm != "pat") continue;
        EXPECT_EQ(name, "pat/simple");
        EXPECT_EQ(rule.ranks_per_node, 1);
        EXPECT_GE(rule.from_nodes, 2);
      }
  for (const auto& [op, bands] : load_stack("nccl-2.21-h100").preferences)
    for (const Preference& band : bands) EXPECT_THAT(band.order, Not(Contains("pat/simple")));
}

// What NCCL 2.29.7 took of 8 to 512 B200, as its times show beside those of rings and of NVLSTree
// (open-nccl-scaling).
TEST(NcclEnvironment, ChoosesOnManyNodesAsNcclDid) {
  const Stack b200 = load_stack("nccl-2.29-b200");
  const auto taken = [&](int nodes, std::int64_t gib) {
    const std::string choice =
        b200.own_choice("all-reduce", {8 * nodes, nodes, 8, 1}, gib * 1024 * kMiB);
    return choice.substr(0, choice.find('/'));
  };
  const std::string tree = "nvls_tree";
  const std::map<int, std::vector<std::string>> measured = {
      {1, {"nvls", "nvls", "nvls"}}, {2, {tree, tree, tree}},      {4, {"ring", "ring", "ring"}},
      {8, {"ring", "ring", "ring"}}, {16, {tree, "ring", "ring"}}, {32, {tree, tree, "ring"}},
      {64, {tree, tree, tree}}};
  for (const auto& [nodes, choices] : measured)
    for (const size_t i : {0U, 1U, 2U})
      EXPECT_EQ(taken(nodes, 2 << i), choices[i]) << nodes << " nodes, " << (2 << i) << " GiB";
}

// CollNet is there where NCCL_COLLNET_ENABLE says so, and NCCL prefers its chains for many bytes:
// of 32 B200 NCCL 2.30.7 took them from 4 GiB on (its time halves there) and from 512 MiB at least.
TEST(NcclEnvironment, CollNetIsTakenWhereItIsSwitchedOn) {
  const std::string b200 = "nccl-2.29-b200";
  const std::string on = b200 + ":NCCL_COLLNET_ENABLE=1,NCCL_NVLS_ENABLE=0";
  const auto of = [](const Stack& stack, int gpus, int nodes, std::int64_t bytes) {
    return stack.own_choice("all-reduce", {gpus * nodes, nodes, gpus, 8 / gpus}, bytes);
  };
  const Stack sharp = load_stack(on);
  for (const std::int64_t mib : {512, 1024, 4096, 16384})
    for (const int nodes : {2, 3, 4, 8, 64, 500})
      EXPECT_EQ(of(sharp, 8, nodes, mib * kMiB), "collnet_chain/simple") << nodes << " " << mib;
  const Stack off = load_stack(b200 + ":NCCL_NVLS_ENABLE=0");
  for (const int gpus : {1, 2, 4, 8})
    for (const std::int64_t bytes : {std::int64_t{8}, kMiB, 512 * kMiB}) {
      const int nodes = gpus == 8 ? 1 : 4;  // neither one node nor parts of nodes
      EXPECT_EQ(of(sharp, gpus, nodes, bytes), of(off, gpus, nodes, bytes)) << gpus << " " << bytes;
    }
  EXPECT_EQ(of(sharp, 8, 4, 8), of(off, 8, 4, 8)) << "few bytes go by trees";
  EXPECT_EQ(of(load_stack(on + ",NCCL_ALGO=CollnetDirect"), 8, 4, 8), "collnet_direct/simple");
  EXPECT_EQ(of(load_stack(on + ",NCCL_ALGO=^CollnetChain"), 8, 4, 1024 * kMiB),
            "collnet_direct/simple");
  EXPECT_EQ(of(load_stack(on + ",NCCL_ALGO=Ring"), 8, 4, 1024 * kMiB), "ring/simple");
  EXPECT_EQ(sharp.own_choice("allgather", {32, 4, 8, 1}, 1024 * kMiB),
            off.own_choice("allgather", {32, 4, 8, 1}, 1024 * kMiB));
  for (const std::string& without : {b200, b200 + ":NCCL_COLLNET_ENABLE=0"}) {
    const Stack plain = load_stack(without);
    EXPECT_EQ(plain.alternatives.count("collnet_chain/simple"), 0U);
    for (const auto& [op, bands] : plain.preferences)
      for (const Preference& band : bands)
        for (const std::string& name : band.order) EXPECT_THAT(name, Not(HasSubstr("collnet")));
  }
  EXPECT_EQ(load_stack(b200 + ":take=collnet_direct/simple")
                .rule_for("all-reduce", kFourNodes, kMiB)
                ->algorithm,
            "star-tree");
  EXPECT_EQ(load_stack("nccl-2.23-a100:NCCL_COLLNET_ENABLE=1")
                .own_choice("all-reduce", kFourNodes, 1024 * kMiB),
            "collnet_direct/simple")
      << "A100 have no NVLS to switch off, and direct exchanges count as much there";
}

TEST(NcclEnvironment, CollNetsMistakesAreRefused) {
  const auto refused = [](const std::string& stack) { return refusal([&] { load_stack(stack); }); };
  EXPECT_THAT(refused("nccl-2.29-b200:NCCL_COLLNET_ENABLE=1"),
              HasSubstr("must be beside NCCL_NVLS_ENABLE=0"));
  EXPECT_THAT(refused("nccl-2.29-b200:NCCL_COLLNET_ENABLE=2"), HasSubstr("must be 0 or 1"));
  EXPECT_THAT(refused("nccl-2.29-b200:NCCL_COLLNET_ENABLE=1,NCCL_NVLS_ENABLE=0,NCCL_BUFFSIZE=8MiB"),
              HasSubstr("must not be beside NCCL_COLLNET_ENABLE=1"));
  EXPECT_THAT(refused("nccl-2.29-b200:NCCL_ALGO=CollnetChain"),
              HasSubstr("must be beside NCCL_COLLNET_ENABLE=1"));
  EXPECT_THAT(refused("nccl-2.29-b200-efa:NCCL_COLLNET_ENABLE=1,NCCL_NVLS_ENABLE=0"),
              HasSubstr("no network is known whose switches add"));
  EXPECT_EQ(refused("nccl-2.29-b200:NCCL_COLLNET_ENABLE=1,NCCL_ALGO=Ring,CollnetChain"), "accepted")
      << "NVLS is not among these";
}

// Rings grow with nodes, trees with their logarithm: NCCL's estimate of as many nodes counts.
TEST(NcclEnvironment, ThousandsOfNodesTakeTreesForMore) {
  const Stack h100 = load_stack(kH100);
  const auto of = [&](int nodes, std::int64_t bytes) {
    return h100.own_choice("all-reduce", {nodes, nodes, 1, 8}, bytes);
  };
  EXPECT_EQ(of(32, 32 * kMiB), "ring/ll128");
  EXPECT_EQ(of(512, 32 * kMiB), "tree/ll128");
  EXPECT_EQ(of(512, 256 * kMiB), "tree/simple");
  EXPECT_EQ(of(4096, 1024 * kMiB), "tree/simple") << "as on 1,024";
}

TEST(NcclEnvironment, WhatIsLeftIsTakenInNcclsOrder) {
  const Stack plain = load_stack(kH100);
  EXPECT_EQ(protocol_of(plain, "all-reduce", kNode, 64 * kMiB), "nvls");
  const Stack rings = with("NCCL_ALGO=Ring");
  EXPECT_EQ(protocol_of(rings, "all-reduce", kNode, 64 * kMiB), "") << "the simple protocol";
  EXPECT_EQ(protocol_of(rings, "all-reduce", kNode, kMiB / 4), "ring-ll") << "its own choice there";
  EXPECT_EQ(protocol_of(rings, "all-reduce", kFourNodes, 128 * kMiB), "ring-ll128");
  EXPECT_EQ(protocol_of(with("NCCL_ALGO=Tree"), "all-reduce", kFourNodes, 16 * kMiB), "tree-ll128");
  EXPECT_EQ(plain.own_choice("all-reduce", kFourNodes, 16 * kMiB), "nvls_tree/simple");
  EXPECT_EQ(with("NCCL_ALGO=Tree").own_choice("all-reduce", kFourNodes, 16 * kMiB), "tree/ll128");
  Stack told = with("NCCL_ALGO=Ring");
  told.take({.name = "ring/ll"}, "test");
  EXPECT_EQ(protocol_of(told, "all-reduce", kFourNodes, 16 * kMiB), "ring-ll");
  EXPECT_EQ(protocol_of(with("NCCL_ALGO=Tree"), "all-reduce", kNode, 16 * kMiB), "none")
      << "no tree of one node is known";
  EXPECT_EQ(protocol_of(with("NCCL_PROTO=LL128"), "allgather", kFourNodes, 1024), "ring-ll128");
}

// Of a node, in whole and in the parts that have bands of their own.
std::set<int> gpus_of(const std::vector<Preference>& bands) {
  std::set<int> gpus;
  for (const Preference& band : bands)
    if (band.ranks_per_node > 0) gpus.insert(band.ranks_per_node);
  const auto whole = std::find_if(bands.begin(), bands.end(),
                                  [](const Preference& band) { return band.ranks_per_node == 0; });
  gpus.insert(whole->up_to_ranks);
  return gpus;
}

TEST(NcclEnvironment, WhatItWouldTakeAnywayStaysAsItIs) {
  for (const std::string& name : catalogue("models/stacks")) {
    const Stack plain = load_stack(name);
    if (plain.alternatives.empty()) continue;
    const Stack untuned = load_stack(name + ":NCCL_TUNER_PLUGIN=none");
    const Stack all = load_stack(name + ":NCCL_ALGO=Tree,Ring,NVLS,NVLSTree,PAT");
    const Stack rings = load_stack(name + ":NCCL_ALGO=Ring");
    for (const int nodes : {1, 2, 3, 4, 8, 64})
      for (std::int64_t bytes = 8; bytes <= (std::int64_t{1} << 34); bytes *= 4)
        for (const auto& [op, bands] : plain.preferences)
          for (const int per_node : gpus_of(bands)) {
            const GroupShape shape{
                .ranks = per_node * nodes, .nodes = nodes, .ranks_per_node = per_node};
            const SelectionRule* own = untuned.rule_for(op, shape, bytes);
            ASSERT_NE(own, nullptr) << name << " " << op << " " << nodes << " x " << per_node;
            const SelectionRule* taken = all.rule_for(op, shape, bytes);
            ASSERT_NE(taken, nullptr) << name << " " << op << " " << nodes << " x " << per_node;
            EXPECT_EQ(taken->algorithm, own->algorithm);
            EXPECT_EQ(taken->protocol, own->protocol);
            EXPECT_EQ(rings.rule_for(op, shape, bytes)->algorithm, "ring");
          }
  }
}

TEST(NcclEnvironment, BufferSizeSetsChunks) {
  const Stack stack = with("NCCL_BUFFSIZE=8MiB");
  EXPECT_EQ(chunk_of(find_rule(stack.selection, "broadcast", kNode, kMiB)), kMiB);
  const SelectionRules& of_trees = stack.alternatives.at("tree/simple").rules;
  EXPECT_EQ(chunk_of(find_rule(of_trees, "all-reduce", kFourNodes, 64 * kMiB)), kMiB);
  const GroupShape eight{.ranks = 64, .nodes = 8, .ranks_per_node = 8};
  const Stack a3_mega = load_stack("nccl-2.23-h100-tcpxo:NCCL_BUFFSIZE=16MiB");
  const SelectionRule* tree = a3_mega.rule_for("all-reduce", eight, 64 * kMiB);
  ASSERT_EQ(tree->algorithm, "chain-tree");
  EXPECT_EQ(chunk_of(tree), 2 * kMiB) << "by its own choice, too";
  EXPECT_EQ(chunk_of(stack.rule_for("all-reduce", kFourNodes, 1024)), 32 << 10)
      << "LL has a buffer of its own";
  const GroupShape one_each{.ranks = 8, .nodes = 8, .ranks_per_node = 1};
  for (const char* choice : {"", ",NCCL_TUNER_PLUGIN=none"}) {  // AWS's, NCCL's own
    const Stack p6 = load_stack(std::string("nccl-2.29-b200-efa:NCCL_BUFFSIZE=1MiB") + choice);
    for (const char* op : {"allgather", "reduce-scatter"}) {
      const SelectionRule* pat = p6.rule_for(op, one_each, kMiB);
      ASSERT_EQ(pat->algorithm, "pat");
      EXPECT_EQ(chunk_of(pat), 128 << 10);
    }
  }
}

TEST(NcclEnvironment, MistakesAreRefused) {
  const auto refused = [](const std::string& variables) {
    return refusal([&] { with(variables); });
  };
  EXPECT_THAT(refused("NCCL_ALGO=Rng"), HasSubstr("NCCL_ALGO = Rng: must be a list of"));
  EXPECT_THAT(refused("NCCL_PROTO="), HasSubstr("must be a list of"));
  EXPECT_THAT(refused("NCCL_ALGO=PAT"), HasSubstr("leaves all-reduces nothing"));
  EXPECT_THAT(refused("NCCL_PROTO=^Simple,LL,LL128"), HasSubstr("leaves all-reduces nothing"));
  EXPECT_THAT(refused("NCCL_NVLS_ENABLE=3"), HasSubstr("must be 0, 1 or 2"));
  EXPECT_THAT(refused("NCCL_BUFFSIZE=7"), HasSubstr("must be >= 8 B"));
  EXPECT_THAT(refused("NCCL_ALGO=Ring,take=ring/simple"), HasSubstr("must not be beside"));
  EXPECT_THAT(refused("NCCL_MAX_NCHANNELS=4"), HasSubstr("key is unknown"));
  EXPECT_THAT(refusal([] { load_stack("gloo:NCCL_ALGO=Ring"); }), HasSubstr("NCCL_ALGO"));
}

}  // namespace
}  // namespace forescale
