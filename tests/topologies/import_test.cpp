// Platforms from others' files: each format by small texts, what is wrong with them, and garbage.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/scratch_folder.hpp"
#include "topologies/import/new_platform.hpp"
#include "topologies/import/platform_format.hpp"

namespace forescale {
namespace {

using nlohmann::json;

class Inputs {
 public:
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.file(name), std::ios::binary) << text;
    return folder_.file(name);
  }
  json imported(const std::string& text, const PlatformChoices& choices = {}) const {
    return parse_json(import_platform({file("input", text)}, choices));
  }

 private:
  ScratchFolder folder_{"import"};
};

void expect_refusal(const std::string& text, const std::vector<std::string>& parts,
                    const PlatformChoices& choices = {}) {
  const Inputs inputs;
  try {
    inputs.imported(text, choices);
    ADD_FAILURE() << "not refused:\n" << text;
  } catch (const InputError& error) {
    for (const std::string& part : parts)
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << error.what() << " does not say " << part;
  }
}

std::string data_file(const std::string& name) {
  return std::string(FORESCALE_SOURCE_DIR) + "/tests/topologies/data/" + name;
}
std::string text_of_file(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(data_file(name), std::ios::binary).rdbuf();
  return text.str();
}

// "gpu0 - switch0": "pcie5-x16".
std::map<std::string, std::string> links_of(const json& platform) {
  std::map<std::string, std::string> links;
  for (const json& link : platform["node"]["links"])
    links[link["from"].get<std::string>() + " - " + link["to"].get<std::string>()] =
        link["class"].get<std::string>();
  return links;
}
int count_of(const json& platform, const std::string& kind) {
  int count = 0;
  for (const json& device : platform["node"]["devices"]) count += device["kind"] == kind ? 1 : 0;
  return count;
}
bool assumes(const json& platform, const std::string& part) {
  for (const json& each : platform["assumptions"])
    if (each.get<std::string>().find(part) != std::string::npos) return true;
  return false;
}

// Two GPUs and an adapter below a bridge.
std::string nccl_xml(const std::string& nvlinks_of_0, const std::string& nvlinks_of_1) {
  return R"(<system version="1">
<cpu numaid="0" vendor="GenuineIntel" familyid="6" modelid="143">
<pci busid="0000:10:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="8">
<pci busid="0000:11:00.0" class="0x030200" device="0x1db5" link_speed="8 GT/s" link_width="16">
<gpu dev="0" sm="70">)" +
         nvlinks_of_0 + R"(</gpu></pci>
<pci busid="0000:12:00.0" class="0x030200" device="0x1db5" link_speed="8 GT/s" link_width="16">
<gpu dev="1" sm="70">)" +
         nvlinks_of_1 + R"(</gpu></pci>
<pci busid="0000:13:00.0" class="0x020700" vendor="0x15b3" link_speed="8 GT/s" link_width="">
<nic><net name="mlx5_0" dev="0" speed="100000"/></nic></pci>
</pci></cpu></system>)";
}
std::string nvlink(const std::string& target, int count) {
  return "<nvlink target=\"" + target + "\" count=\"" + std::to_string(count) +
         "\" tclass=\"0x030200\"/>";
}
const std::string kBus0 = "0000:11:00.0";
const std::string kBus1 = "0000:12:00.0";

TEST(NcclTopology, EachLinkIsWhatItsLineSays) {
  const Inputs inputs;
  const json platform = inputs.imported(nccl_xml(nvlink(kBus1, 2), nvlink(kBus0, 2)));
  EXPECT_EQ(platform["node"]["gpu"], "v100-sxm2");
  EXPECT_EQ(platform["node"]["cpu"], "xeon-8480c");
  const auto links = links_of(platform);
  EXPECT_EQ(links.at("cpu0 - switch0"), "pcie4-x8");
  EXPECT_EQ(links.at("switch0 - gpu1"), "pcie3-x16");
  EXPECT_EQ(links.at("switch0 - nic0"), "pcie3-x16");  // no width: 16 lanes, as NCCL takes it
  EXPECT_EQ(links.at("gpu0 - gpu1"), "nvlink2-double");
  EXPECT_EQ(links.size(), 5U);
  EXPECT_EQ(platform["fabric"], (json{{"layout", "star"}, {"link", "edr"}}));
  EXPECT_EQ(platform["node"]["links"][1]["source"], "input:4 link_speed=8 GT/s link_width=16");
}

// 8 of 16 lanes: half of pcie4-x16, at both ends too.
TEST(NcclTopology, LanesThatTheCatalogueLacksAreInProportion) {
  const Inputs inputs;
  const json platform = inputs.imported(nccl_xml("", ""));
  const json& own = platform["link_classes"]["pcie4-x8"]["bandwidth_bytes_per_s"];
  EXPECT_DOUBLE_EQ(own["value"].get<double>(), 25.5e9 / 2);
  EXPECT_TRUE(own.contains("assumed"));
  EXPECT_LE(own["slow"].get<double>(), own["value"].get<double>());
  EXPECT_TRUE(assumes(platform, "pcie4-x8: 0.5 times"));
}

TEST(NcclTopology, NvlinksThatDifferByEndAreRefused) {
  expect_refusal(nccl_xml(nvlink(kBus1, 2), nvlink(kBus0, 1)),
                 {"NVLinks of gpu0 to gpu1, but 1 back", "input"});
}

TEST(NcclTopology, AWholeDump) {
  const json platform = parse_json(import_platform({data_file("ibm-hgx-h100.xml")}, {}));
  EXPECT_EQ(count_of(platform, "gpu"), 8);
  EXPECT_EQ(count_of(platform, "nic"), 8);
  EXPECT_EQ(count_of(platform, "nvswitch"), 1);
  EXPECT_EQ(count_of(platform, "cpu"), 2);
  const auto links = links_of(platform);
  for (int i = 0; i < 8; ++i)  // 5 + 5 + 4 + 4
    EXPECT_EQ(links.at("gpu" + std::to_string(i) + " - nvswitch"), "nvlink4-x18");
  EXPECT_EQ(platform["fabric"]["link"], "roce-200g");
  EXPECT_TRUE(assumes(platform, "8 PCIe bridges"));
  EXPECT_EQ(links.at("cpu0 - switch0"), "pcie5-x16");
}

TEST(NcclTopology, WhatIsWrongIsNamed) {
  const std::string good = nccl_xml("", "");
  expect_refusal(good.substr(0, good.size() / 2), {"input:", "is no XML"});
  expect_refusal("<system version=\"1\"></system>", {"must have cpu elements"});
  expect_refusal(
      "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:00:16.0\"/></cpu></system>",
      {"shows no GPU"});
  std::string bad = good;
  bad.replace(bad.find("dev=\"1\""), 7, "dev=\"x\"");
  expect_refusal(bad, {"input:7", "dev=\"x\"", "must be a whole number"});
  bad = good;
  bad.replace(bad.find("dev=\"1\""), 7, "dev=\"0\"");
  expect_refusal(bad, {"gpu0", "must not be there twice"});
  bad = good;
  bad.replace(bad.find("0x1db5"), 6, "0x2330");
  expect_refusal(bad, {"v100-sxm2", "must be like the other GPUs", "h100"});
  bad = good;
  while (bad.find("0x1db5") != std::string::npos) bad.replace(bad.find("0x1db5"), 6, "0x9999");
  expect_refusal(bad, {"--gpu", "is needed", "input does not say"});
}

// DGX A100 has two sockets of 64 cores; four NUMA nodes do not make it four.
TEST(NcclTopology, NumaNodesAreNotMoreCores) {
  const Inputs inputs;
  const json platform = inputs.imported(text_of_file("azure-ndv4.xml"), {.gpu = "a100"});
  EXPECT_EQ(count_of(platform, "cpu"), 4);
  EXPECT_EQ(platform["node"]["cores"], 2 * 64);
}

TEST(NcclTopology, ABridgeSlowerThanWhatIsBelowItIsSaid) {
  const Inputs inputs;
  std::string slow = nccl_xml("", "");
  slow.replace(slow.find("16.0 GT/s"), 9, "5.00 GT/s");
  EXPECT_TRUE(
      assumes(inputs.imported(slow), "switch0 goes up by pcie2-x8, slower than the pcie3-x16"));
  EXPECT_FALSE(assumes(inputs.imported(nccl_xml("", "")), "goes up by"));
}

// What a file does not say of NVLinks is asked for where no preset shows it.
TEST(NcclTopology, AFileWithoutGpuElementsDoesNotSayThatThereAreNoNvlinks) {
  expect_refusal(text_of_file("azure-ndv2.xml"), {"--nvlink", "is needed"}, {.gpu = "v100-sxm2"});
  const Inputs inputs;
  const json platform =
      inputs.imported(text_of_file("azure-ndv2.xml"), {.gpu = "v100-sxm2", .nvlink = "none"});
  EXPECT_EQ(count_of(platform, "gpu"), 8);
}

std::string matrix(const std::string& rows) {
  return "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\n" + rows + "\nLegend:\n\n  X = Self\n";
}

TEST(NvidiaSmi, TheTreeIsThatOfTheWords) {
  const Inputs inputs;
  const json platform =
      inputs.imported(matrix("GPU0\t X \tPXB\tPIX\t0-7\t0\nGPU1\tPXB\t X \tPXB\t0-7\t0\n"
                             "NIC0\tPIX\tPXB\t X \n"),
                      {.gpu = "a100", .link = "hdr"});
  const auto links = links_of(platform);
  EXPECT_EQ(links.size(), 5U);
  EXPECT_TRUE(links.contains("cpu0 - switch0"));  // the upper one
  EXPECT_TRUE(links.contains("switch0 - switch1"));
  EXPECT_TRUE(links.contains("switch1 - gpu0"));
  EXPECT_TRUE(links.contains("switch1 - nic0"));
  EXPECT_TRUE(links.contains("switch0 - gpu1"));
  EXPECT_EQ(count_of(platform, "nvswitch"), 0);
}

TEST(NvidiaSmi, SocketsAreNumaNodes) {
  const Inputs inputs;
  const json platform = inputs.imported(
      matrix("GPU0\t X \tSYS\tNODE\t0-7\t0\nGPU1\tSYS\t X \tSYS\t8-15\t1\n"), {.gpu = "a100"});
  const auto links = links_of(platform);
  EXPECT_EQ(links.at("cpu0 - cpu1"), "xgmi2");
  EXPECT_TRUE(links.contains("cpu0 - gpu0"));
  EXPECT_TRUE(links.contains("cpu1 - gpu1"));
  EXPECT_TRUE(links.contains("cpu0 - nic0"));
}

// Twelve links to a peer are all that an A100 has: a bridge; twelve to each of two: a switch.
TEST(NvidiaSmi, MoreNvlinksThanAGpuHasAreASwitch) {
  const Inputs inputs;
  const json bridge = inputs.imported(
      matrix("GPU0\t X \tNV12\tPIX\t0-7\t0\nGPU1\tNV12\t X \tSYS\t8-15\t1\n"), {.gpu = "a100"});
  EXPECT_EQ(links_of(bridge).at("gpu0 - gpu1"), "nvlink3-x12");
  const json three = inputs.imported(
      "\tGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\nGPU0\t X \tNV12\tNV12\tPIX\t0-7\n"
      "GPU1\tNV12\t X \tNV12\tNODE\t0-7\nGPU2\tNV12\tNV12\t X \tNODE\t0-7\n",
      {.gpu = "a100"});
  EXPECT_EQ(links_of(three).at("gpu2 - nvswitch"), "nvlink3-x12");
  EXPECT_EQ(count_of(three, "nvswitch"), 1);
}

TEST(NvidiaSmi, WhatIsWrongIsNamed) {
  const PlatformChoices a100{.gpu = "a100"};
  const std::string good = matrix("GPU0\t X \tPHB\tPIX\t0-7\t0\nGPU1\tPHB\t X \tNODE\t0-7\t0\n");
  expect_refusal(good, {"--gpu", "is needed"});
  expect_refusal(matrix("GPU0\t X \tPHB\tPIX\t0-7\t0\n"), {"GPU1", "has no row"}, a100);
  expect_refusal(matrix("GPU0\t X \tPHB\nGPU1\tPHB\t X \tNODE\t0-7\t0\n"),
                 {"input:2", "must have 3 cells"}, a100);
  expect_refusal(matrix("GPU0\t X \tFOO\tPIX\t0-7\t0\nGPU1\tPHB\t X \tNODE\t0-7\t0\n"),
                 {"input:2", "FOO", "of GPU0 and GPU1"}, a100);
  expect_refusal(matrix("GPU0\t X \tNV4\tPIX\t0-7\t0\nGPU1\tPHB\t X \tNODE\t0-7\t0\n"),
                 {"PHB", "of GPU1 and GPU0 must be what GPU0 and GPU1 have: NV4"}, a100);
  expect_refusal(matrix("GPU0\t X \tNV18\tPIX\t0-7\t0\nGPU1\tNV18\t X \tNODE\t0-7\t0\n"),
                 {"NV18", "a100 has 12 NVLinks"}, a100);
}

TEST(Ibnetdiscover, CablesMakeTheTree) {
  const json platform = parse_json(import_platform({data_file("ibsim-2-leaves.txt")}, {}));
  EXPECT_EQ(platform["node"], (json{{"count", 4}, {"layout", "host"}}));
  EXPECT_EQ(platform["fabric"]["down"], (json{2, 2}));
  EXPECT_EQ(platform["fabric"]["up"], (json{2}));
  // 4xSDR: 8 of EDR's 100 Gbit/s.
  EXPECT_DOUBLE_EQ(
      platform["link_classes"]["infiniband-8g"]["bandwidth_bytes_per_s"]["value"].get<double>(),
      12e9 * 8 / 100);
}

TEST(Ibnetdiscover, WhatIsWrongIsNamed) {
  const std::string good = text_of_file("ibsim-2-leaves.txt");
  expect_refusal(good.substr(0, 700), {"is a switch without a paragraph of its own"});
  std::string bad = good;
  const std::string cable = "[7]\t\"S-0000000000200002\"[2]\t\t# \"Spine1\" lid 0 4xSDR\n";
  ASSERT_NE(bad.find(cable), std::string::npos);
  bad.erase(bad.find(cable), cable.size());
  expect_refusal(bad, {"Spine1 - Leaf2", "has 1 cables by one end, 0 by the other"});
  expect_refusal("Switch\t8 \"S-1\"\t# \"alone\" base port 0\n", {"has no switch with an adapter"});
  expect_refusal("Switch\t8 \"S-1\"\t# \"a\"\n[1]\t\"H-1\"[1]\n", {"input:2", "is it cut off?"});
}

std::string subnet_switch(const std::string& guid, const std::string& lines) {
  return "Switch\t8 \"S-" + guid + "\"\t# \"s" + guid + "\" base port 0 lid 1 lmc 0\n" + lines +
         "\n";
}
std::string adapter_line(int port, const std::string& name) {
  return "[" + std::to_string(port) + "]\t\"H-" + std::to_string(port) + "\"[1](1)\t# \"" + name +
         "\" lid 1 4xNDR\n";
}

// Two adapters a node on two leaves that a spine joins: by rail.
TEST(Ibnetdiscover, RailsAreTakenForOneSwitchAndSaid) {
  const Inputs inputs;
  const std::string up = "[9]\t\"S-3\"[1]\t# \"s3\" lid 1 4xNDR\n";
  const std::string subnet = inputs.file(
      "subnet",
      subnet_switch("1", adapter_line(1, "n1 mlx5_0") + adapter_line(2, "n2 mlx5_0") + up) +
          subnet_switch("2", adapter_line(1, "n1 mlx5_1") + adapter_line(2, "n2 mlx5_1") + up) +
          subnet_switch("3",
                        "[1]\t\"S-1\"[9]\t# \"s1\" lid 1 4xNDR\n"
                        "[2]\t\"S-2\"[9]\t# \"s2\" lid 1 4xNDR\n"));
  const std::string node =
      inputs.file("node", "\tGPU0\tNIC0\tNIC1\tCPU Affinity\nGPU0\t X \tPIX\tPIX\t0-7\n");
  const json platform = parse_json(import_platform({node, subnet}, {.gpu = "h100"}));
  EXPECT_EQ(platform["node"]["count"], 2);
  EXPECT_EQ(platform["fabric"], (json{{"layout", "star"}, {"link", "ndr"}}));
  EXPECT_TRUE(assumes(platform, "by rail"));
  EXPECT_THROW(import_platform({subnet}, {}), InputError);  // bare hosts have one adapter
}

TEST(Ibnetdiscover, AdaptersWithoutAHostsNameAreNodesOfTheirOwn) {
  const Inputs inputs;
  const json platform = inputs.imported(
      subnet_switch("1", adapter_line(1, "MT4129 ConnectX7   Mellanox Technologies") +
                             adapter_line(2, "MT4129 ConnectX7   Mellanox Technologies") +
                             adapter_line(3, "n3 mlx5_0") +
                             adapter_line(4, "Mellanox Technologies Aggregation Node")));
  EXPECT_EQ(platform["node"]["count"], 3);
  EXPECT_TRUE(assumes(platform, "2 adapters of input do not tell their host's name"));
  EXPECT_TRUE(assumes(platform, "1 ends of input that are switches' own"));
}

TEST(Slurm, ListsOfNamesAndLevels) {
  const Inputs inputs;
  const PlatformChoices ndr{.link = "ndr", .oversubscription = 2};
  const json two = inputs.imported(
      "# comment\nSwitchName=s0 Nodes=a[1-2]b[08-09]\nswitchname=s1 nodes=c[1-2,7],d\n"
      "SwitchName=top Switches=s[0-1] LinkSpeed=5\n",
      ndr);
  EXPECT_EQ(two["node"]["count"], 8);
  EXPECT_EQ(two["fabric"]["down"], (json{4, 2}));
  EXPECT_EQ(two["fabric"]["up"], (json{4 / 2}));
  const json three = inputs.imported(
      "SwitchName=l1 Nodes=n[01-08]\nSwitchName=l2 Nodes=n[09-16]\nSwitchName=l3 Nodes=n[17-24]\n"
      "SwitchName=l4 Nodes=n[25-32]\nSwitchName=p1 Switches=l[1-2]\nSwitchName=p2 Switches=l[3-4]\n"
      "SwitchName=core Switches=p[1-2]\n",
      ndr);
  EXPECT_EQ(three["fabric"]["down"], (json{8, 2, 2}));
  EXPECT_EQ(three["fabric"]["up"], (json{8 / 2, 2}));
  const json blocks = inputs.imported(
      "BlockName=b0 BlockIndex=0 Nodes=w0-[0-17] BlockSize=16\nBlockName=b1 Nodes=w1-[0-17]\n",
      {.link = "ndr"});
  EXPECT_EQ(blocks["node"]["count"], 36);
  EXPECT_EQ(blocks["fabric"]["down"], (json{18, 2}));
  EXPECT_TRUE(assumes(blocks, "does not count cables"));
}

TEST(Slurm, WhatIsWrongIsNamed) {
  const PlatformChoices ndr{.link = "ndr"};
  expect_refusal("SwitchName=s0 Nodes=n[1-2\n", {"input:1", "bracket that is not closed"}, ndr);
  expect_refusal("SwitchName=s0 Nodes=n[2-1]\n", {"must go upwards"}, ndr);
  expect_refusal("SwitchName=s0 Nodes=n[1-99999999]\n", {"must not name more than"}, ndr);
  expect_refusal("SwitchName=s0 Nodes=n1\nSwitchName=t Switches=s[0-1]\n",
                 {"input:2", "s1", "without a line of its own"}, ndr);
  expect_refusal("SwitchName=s0 Nodes=n1\nSwitchName=s1 Nodes=n1\n",
                 {"n1", "is on two switches, s0 and s1"}, ndr);
  expect_refusal("SwitchName=s0 Nodes=n1\n", {"--oversubscription"},
                 {.link = "ndr", .oversubscription = 2});
  expect_refusal("SwitchName=s0 Nodes=n1\nSwitchName=s1 Nodes=n2\n",
                 {"2 leaf switches that nothing joins"}, ndr);
  expect_refusal("SwitchName=s0\n", {"must have Nodes= or Switches="}, ndr);
  expect_refusal("SwitchName=s0 Nodes=n[1-2]\n", {"--link", "is needed"});
}

// A branch of two GPUs and four adapters of OpenFabrics; the one that it does not know is left out.
TEST(Hwloc, TheTreeOfBothVersionsOfTheXml) {
  const Inputs inputs;
  for (const char* name : {"lstopo-p5en.xml", "lstopo-p5en-v1.xml"}) {
    const json platform = inputs.imported(text_of_file(name), {.link = "efa-400g"});
    EXPECT_EQ(platform["node"]["gpu"], "h200");
    EXPECT_EQ(platform["node"]["cpu"], "xeon-8480c");
    const auto links = links_of(platform);
    EXPECT_EQ(links.at("cpu0 - switch0"), "pcie5-x16");
    EXPECT_EQ(links.at("switch0 - gpu1"), "pcie5-x16");
    EXPECT_EQ(links.at("switch0 - nic3"), "pcie4-x16");  // 31.5 GB/s
    EXPECT_EQ(count_of(platform, "nic"), 4);
    EXPECT_EQ(count_of(platform, "pcie-switch"), 1);
    EXPECT_TRUE(assumes(platform, "1 network adapters of input left out"));
  }
}

TEST(Hwloc, WhatIsWrongIsNamed) {
  const std::string good = text_of_file("lstopo-p5en.xml");
  expect_refusal(good, {"--link", "Elastic Fabric Adapters"});
  expect_refusal(good.substr(0, good.size() / 2), {"is no XML that libhwloc reads"});
  expect_refusal("<topology version=\"2.0\"><object type=\"Nonsense\"/></topology>", {"input"});
  // libhwloc 2.9 ends with a signal on this.
  std::string damaged = good;
  const size_t last = damaged.rfind("complete_nodeset", damaged.rfind("NUMANode") + 200);
  damaged.erase(last, 9);
  expect_refusal(damaged, {"is no XML that libhwloc reads"});
  std::string mixed = good;
  mixed.replace(mixed.find("10de:2335"), 9, "10de:2330");
  expect_refusal(mixed, {"is a h200, but other GPUs are h100"}, {.link = "efa-400g"});
}

TEST(PlatformImport, NodeAndFabricComeTogether) {
  const json platform = parse_json(import_platform(
      {data_file("ibm-hgx-h100.xml"), data_file("slurm-tree.conf")}, {.oversubscription = 2}));
  EXPECT_EQ(platform["node"]["count"], 32);
  EXPECT_EQ(platform["fabric"]["down"], (json{16 * 8, 2}));
  EXPECT_EQ(platform["fabric"]["up"], (json{16 * 8 / 2}));
}

TEST(PlatformImport, ContradictionsAreRefused) {
  const auto refuses = [](const std::vector<std::string>& files, const PlatformChoices& choices,
                          const std::string& part) {
    try {
      import_platform(files, choices);
      ADD_FAILURE() << part;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  const std::string dump = data_file("ibm-hgx-h100.xml");
  const std::string tree = data_file("slurm-tree.conf");
  refuses({dump, dump}, {}, "describes a node, and so does ibm-hgx-h100.xml");
  refuses({tree, data_file("ibsim-2-leaves.txt")}, {}, "describes a fabric, and so does");
  refuses({dump, tree}, {.nodes = 5}, "must be 32");
  refuses({dump, data_file("ibsim-2-leaves.txt")}, {},
          "adapters a node, but ibm-hgx-h100.xml has 8");
  refuses({"/nowhere/topo.xml"}, {}, "cannot be read");
  refuses({dump}, {.radix = 64}, "means nothing without --levels");
  refuses({dump}, {.gpu = "h10"}, "did you mean \"h100\"");
}

TEST(PlatformImport, WhatIsNoInputIsRefused) {
  expect_refusal("", {"is empty"});
  expect_refusal(" \n\t\n", {"is empty"});
  expect_refusal("hello\n", {"is nothing that a platform is imported from", "nccl-topology"});
  expect_refusal("{\"format\": \"forescale-platform-1\"}", {"is nothing that"});
}

// Cut off anywhere, or with bytes changed: a platform or an InputError, nothing else.
TEST(PlatformImport, NothingComesOfGarbageButAnError) {
  const Inputs inputs;
  const PlatformChoices choices{.gpu = "h100", .cpu = "xeon-8480c", .link = "ndr"};
  unsigned state = 1;
  const auto random = [&state](size_t below) {
    state = state * 1664525U + 1013904223U;
    return static_cast<size_t>(state >> 8) % below;
  };
  int refused = 0;
  for (const char* name : {"azure-ndv5.xml", "ibm-hgx-h100.xml", "topo-m-hgx-h100.txt",
                           "lstopo-p5en.xml", "ibsim-2-leaves.txt", "slurm-tree.conf"}) {
    const std::string good = text_of_file(name);
    ASSERT_FALSE(good.empty()) << name;
    for (int i = 0; i < 40; ++i) {
      std::string bad = i % 2 == 0 ? good.substr(0, random(good.size())) : good;
      for (size_t changes = random(4) + (i % 2 == 0 ? 0 : 1); changes > 0 && !bad.empty();
           --changes)
        bad[random(bad.size())] = static_cast<char>(random(256));
      try {
        inputs.imported(bad, choices);
      } catch (const InputError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 50);
}

TEST(NewPlatform, IsTheNodeThatWasSaid) {
  const json platform = parse_json(new_platform(
      {.choices = {.gpu = "h100", .nodes = 16, .levels = 2, .oversubscription = 3, .radix = 64},
       .gpus = 4,
       .adapters = 2}));
  EXPECT_EQ(count_of(platform, "gpu"), 4);
  EXPECT_EQ(count_of(platform, "pcie-switch"), 2);
  EXPECT_EQ(links_of(platform).at("gpu3 - nvswitch"), "nvlink4-x18");
  EXPECT_TRUE(links_of(platform).contains("switch1 - nic1"));
  // 64 ports, 3 to 1: 16 up and 48 down, but there are only 32 adapters: one leaf, 32 / 3 up.
  EXPECT_EQ(platform["fabric"]["down"], (json{32, 1}));
  EXPECT_EQ(platform["fabric"]["up"], (json{11}));
}

TEST(NewPlatform, WhatIsMissingIsNamed) {
  const auto refuses = [](const PlatformAnswers& answers, const std::string& part) {
    try {
      new_platform(answers);
      ADD_FAILURE() << part;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  refuses({}, "--gpu");
  refuses({.choices = {.gpu = "h100"}}, "--gpus");
  refuses({.choices = {.gpu = "h100"}, .gpus = 8}, "--nodes");
  refuses({.choices = {.gpu = "h100", .nodes = 4}, .gpus = 8, .adapters = 0},
          "shows no network adapter");
  refuses({.choices = {.gpu = "v100", .nodes = 4}, .gpus = 8}, "--cpu");
  refuses({.choices = {.gpu = "v100", .cpu = "xeon-8175m", .nodes = 4}, .gpus = 8}, "--pcie");
  refuses({.choices = {.gpu = "k80", .nvlink = "nvswitch", .nodes = 4}, .gpus = 8},
          "k80 has no NVLinks");
}

// A preset's data sheet, said anew.
TEST(TreeOfPorts, KeepsItsOversubscription) {
  const FatTreeShape two = tree_of_ports(1024, 1, 2, 64, 1);
  EXPECT_EQ(two.down, (std::vector<int>{32, 32}));
  EXPECT_EQ(two.up, (std::vector<int>{32}));
  const FatTreeShape three = tree_of_ports(4096, 1, 3, 64, 1);
  EXPECT_EQ(three.down, (std::vector<int>{32, 32, 4}));
  EXPECT_EQ(three.up, (std::vector<int>{32, 32}));
  // Six nodes of eight ports a leaf: a seventh would need 56 + 14 of 64 ports.
  const FatTreeShape whole_nodes = tree_of_ports(32, 8, 2, 64, 4);
  EXPECT_EQ(whole_nodes.down, (std::vector<int>{48, 6}));
  EXPECT_EQ(whole_nodes.up, (std::vector<int>{12}));
  const FatTreeShape large_nodes = tree_of_ports(4, 72, 2, 64, 1);
  EXPECT_EQ(large_nodes.down, (std::vector<int>{32, 9}));
}

}  // namespace
}  // namespace forescale
