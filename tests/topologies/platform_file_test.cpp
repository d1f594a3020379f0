// JSON platform files: every layout, and what each mistake in one is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/scratch_folder.hpp"
#include "tests/base/refusal.hpp"
#include "tests/topologies/route_checks.hpp"
#include "topologies/platform_schema.hpp"

namespace forescale {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::refusal;

// Two sockets, two GPUs and a NIC on each, so that NICs are shared out by socket.
json two_nics() {
  return parse_json(R"({
    "format": "forescale-platform-1",
    "name": "dgx",
    "link_classes": {"x": {"bandwidth_bytes_per_s": 1e10, "latency_s": "1us"}},
    "node": {"count": 4, "layout": "pcie-tree", "sockets": 2, "switches_per_socket": 1,
             "cards_per_switch": 2, "gpus_per_card": 1, "gpu": "p100", "cpu": "xeon-e5-2680v4",
             "socket_link": "qpi", "switch_link": "x", "card_link": "x",
             "nics": [{"socket": 0, "switch": 0, "class": "x"}, {"socket": 1, "class": "x"}]},
    "fabric": {"layout": "fat-tree", "radix": 4, "link": "edr"}
  })");
}

Platform load(const json& file) { return read_platform(file.dump(), "dgx.json"); }

std::string file_refusal(const json& file) {
  return refusal([&] { load(file); });
}

// The message after putting `value` at the JSON pointer `place` of a good file.
std::string message_with(const char* place, const json& value) {
  json file = two_nics();
  file[json::json_pointer(place)] = value;
  return file_refusal(file);
}

TEST(PlatformFile, AGpuModelReplacesTheDataSheetsNumbers) {
  const ScratchFolder folder("gpu");
  const std::string file = folder.file("gpu.json");
  std::ofstream(file) << R"({"format": "forescale-gpu-model-1", "name": "mine",
    "launch_s": {"value": 9e-6, "fast": 8e-6, "slow": 1e-5, "source": "measured"}})";
  json with = two_nics();
  with["node"]["gpu_model"] = file;
  const Platform platform = load(with);
  EXPECT_EQ(platform.fitted_gpu, file);
  EXPECT_THAT(describe(platform), HasSubstr("GPU p100 with what was measured in " + file));
  EXPECT_EQ(platform.gpu_models.front().kernel_launch.value, 9e-6);
  const Platform without = load(two_nics());
  EXPECT_EQ(platform.gpu_models.front().synchronize.value,
            without.gpu_models.front().synchronize.value);
  // The answer rests on the measured number in place of the assumed one.
  EXPECT_EQ(platform.provenance.numbers.size(), without.provenance.numbers.size());
  const auto rests_on = [](const Platform& of, const std::string& path) {
    return std::any_of(of.provenance.numbers.begin(), of.provenance.numbers.end(),
                       [&](const NumberSource& number) { return number.path == path; });
  };
  EXPECT_TRUE(rests_on(without, "/kernel_launch_s"));
  EXPECT_FALSE(rests_on(platform, "/kernel_launch_s"));
  EXPECT_TRUE(rests_on(platform, "/launch_s"));
  EXPECT_EQ(read_platform(with.dump(), "dgx.json", Scenario::kSlow)
                .gpu_models.front()
                .kernel_launch.value,
            1e-5);

  EXPECT_THAT(message_with("/node/gpu_model", "none-such"), HasSubstr("dgx.json:/node/gpu_model"));
  json bare = two_nics();
  bare["node"] = {{"count", 4},
                  {"layout", "explicit"},
                  {"gpu_model", file},
                  {"devices", {{{"name", "h"}, {"kind", "host"}}}},
                  {"links", json::array()}};
  EXPECT_THAT(file_refusal(bare), HasSubstr("the node has no GPU"));
}

TEST(PlatformFile, NearestNicIsOnTheSameSocket) {
  const Platform platform = load(two_nics());
  EXPECT_EQ(platform.slot_count(), 16);
  const auto nic_name = [&](int slot) {
    const int nic = platform.nic_of(platform.endpoints[static_cast<size_t>(slot)]);
    return platform.devices[static_cast<size_t>(nic)].name;
  };
  EXPECT_EQ(nic_name(0), "node0/nic0");
  EXPECT_EQ(nic_name(3), "node0/nic1");
  EXPECT_EQ(nic_name(6), "node1/nic1");
  expect_all_pairs_sound(platform);
}

TEST(PlatformFile, EqualNicsAreSharedOut) {
  json file = two_nics();
  file["node"]["nics"] =
      parse_json(R"([{"socket": 0, "class": "x"}, {"socket": 0, "class": "x"}])");
  const Platform platform = load(file);
  EXPECT_NE(platform.nic_of(platform.endpoints[0]), platform.nic_of(platform.endpoints[1]));
  expect_all_pairs_sound(platform);
}

TEST(PlatformFile, EveryFabricLayout) {
  for (const char* fabric :
       {R"({"layout": "star", "link": "edr"})",
        R"({"layout": "fat-tree", "down": [4, 2], "up": [2], "link": "edr", "up_link": "fdr"})",
        R"({"layout": "dragonfly", "groups": 3, "routers": 2, "hosts": 2, "globals": 1,
            "link": "x", "global_link": "edr"})",
        R"({"layout": "dragonfly+", "groups": 2, "leaves": 2, "spines": 2, "hosts": 2,
            "globals": 1, "link": "x", "local_link": "edr"})",
        R"({"layout": "torus", "dims": [2, 2], "hosts": 2, "link": "x", "host_link": "edr"})",
        R"({"layout": "torus", "dims": 8,
            "link": {"bandwidth_bytes_per_s": {"value": 1e9, "source": "a data sheet"},
                     "latency_s": {"value": 1e-6, "assumed": "guess", "fast": 0, "slow": "5us"},
                     "duplex": "half"}})"}) {
    json file = two_nics();
    file["fabric"] = parse_json(fabric);
    expect_all_pairs_sound(load(file));
  }
}

json explicit_file() {
  return parse_json(R"({
    "format": "forescale-platform-1", "name": "hand-made",
    "node": {"count": 2, "layout": "explicit", "gpu": "v100", "cpu": "xeon-e5-2680v4",
      "devices": [{"name": "c", "kind": "cpu"}, {"name": "g0", "kind": "gpu"},
                  {"name": "g1", "kind": "gpu"}, {"name": "g2", "kind": "gpu"},
                  {"name": "n", "kind": "nic"}],
      "links": [{"from": "c", "to": "g0", "class": "pcie3-x16"},
                {"from": "c", "to": "g1", "class": "pcie3-x16"},
                {"from": "c", "to": "g2", "class": "pcie3-x16"},
                {"from": "g0", "to": "g1", "class": "pcie3-x16"},
                {"from": "g1", "to": "g2", "class": "pcie3-x16"},
                {"from": "c", "to": "n", "class": "pcie3-x16"}]},
    "fabric": {"layout": "explicit", "switches": ["s0", "s1", "s2"],
      "links": [{"from": "node0/n", "to": "s0", "class": "edr"},
                {"from": "s0", "to": "s1", "class": "edr"},
                {"from": "s1", "to": "node1/n", "class": "edr"},
                {"from": "s1", "to": "s2", "class": "edr"},
                {"from": "s0", "to": "s2", "class": "edr"}]}
  })");
}

TEST(PlatformFile, ExplicitNodeNeverRoutesThroughAGpu) {
  const Platform platform = load(explicit_file());
  expect_all_pairs_sound(platform);
  const int g0 = platform.endpoints[0];
  // Neighbours use their direct link; g0 to g2 goes over the CPU, not through g1.
  EXPECT_EQ(link_names(platform, platform.route(g0, platform.endpoints[1])),
            std::vector<std::string>{"node0/g0 -> node0/g1"});
  EXPECT_EQ(link_names(platform, platform.route(g0, platform.endpoints[2])),
            (std::vector<std::string>{"node0/g0 -> node0/c", "node0/c -> node0/g2"}));
  EXPECT_EQ(platform.route(g0, platform.endpoints[3]).capacities.size(), 2u + 3 + 2);
}

json nvswitch_file() {
  json file = explicit_file();
  file["node"]["devices"].push_back({{"name", "nvs"}, {"kind", "nvswitch"}});
  json& links = file["node"]["links"];
  links.erase(4);  // between GPUs
  links.erase(3);
  for (const char* gpu : {"g0", "g1", "g2"})
    links.push_back({{"from", "nvs"}, {"to", gpu}, {"class", "nvlink4-x18"}});
  return file;
}

// Without a link to a CPU, and no way for anything but GPUs.
TEST(PlatformFile, AnNvswitchJoinsGpusAlone) {
  const Platform platform = load(nvswitch_file());
  expect_all_pairs_sound(platform);
  const int g0 = platform.endpoints[0];
  EXPECT_EQ(link_names(platform, platform.route(g0, platform.endpoints[2])),
            (std::vector<std::string>{"node0/g0 -> node0/nvs", "node0/nvs -> node0/g2"}));
  EXPECT_EQ(platform.locality(g0, platform.endpoints[2]), Locality::kPeer);
  EXPECT_EQ(link_names(platform, platform.route(g0, platform.nic_of(g0))),
            (std::vector<std::string>{"node0/g0 -> node0/c", "node0/c -> node0/n"}));
  EXPECT_THAT(describe(platform), HasSubstr("nvs\n    = g0  [nvlink4-x18]"));
}

// As far over a PCIe switch whose links are quicker: NVLink comes first all the same, and between
// switches of two levels too.
TEST(PlatformFile, GpusUseTheirOwnLinksHoweverShortPcieIs) {
  json file = nvswitch_file();
  for (const char* name : {"top", "nvs2"})
    file["node"]["devices"].push_back({{"name", name}, {"kind", "nvswitch"}});
  file["node"]["devices"].push_back({{"name", "p"}, {"kind", "pcie-switch"}, {"socket", 0}});
  json& links = file["node"]["links"];
  for (json& link : links)
    if (link["from"] == "nvs" && link["to"] == "g2") link["from"] = "nvs2";
  const json quick = {{"bandwidth_bytes_per_s", "1GB/s"}, {"latency_s", "1ns"}};
  for (const char* end : {"g0", "g1", "g2", "c"})
    links.push_back({{"from", "p"}, {"to", end}, {"class", quick}});
  for (const char* end : {"nvs", "nvs2"})
    links.push_back({{"from", "top"}, {"to", end}, {"class", "nvlink4-x18"}});
  const Platform platform = load(file);
  const int g0 = platform.endpoints[0];
  EXPECT_EQ(link_names(platform, platform.route(g0, platform.endpoints[1])),
            (std::vector<std::string>{"node0/g0 -> node0/nvs", "node0/nvs -> node0/g1"}));
  EXPECT_EQ(link_names(platform, platform.route(g0, platform.endpoints[2])),
            (std::vector<std::string>{"node0/g0 -> node0/nvs", "node0/nvs -> node0/top",
                                      "node0/top -> node0/nvs2", "node0/nvs2 -> node0/g2"}));
}

TEST(BadPlatformFile, AnNvswitchOnPcie) {
  json file = nvswitch_file();
  file["node"]["links"].push_back({{"from", "c"}, {"to", "nvs"}, {"class", "pcie3-x8"}});
  EXPECT_THAT(file_refusal(file),
              HasSubstr("dgx.json:/node/links/7: must not join the nvswitch nvs to c, a cpu"));
}

TEST(PlatformFile, BareHostsWithACpu) {
  const Platform platform = load(parse_json(R"({
    "format": "forescale-platform-1", "name": "hosts",
    "node": {"count": 3, "layout": "host", "cpu": "xeon-e5-2680v4"},
    "fabric": {"layout": "star", "link": "ethernet-10g"}})"));
  EXPECT_EQ(platform.cpu_models.size(), 1u);
  EXPECT_EQ(platform.slot_count(), 3);
  expect_all_pairs_sound(platform);
}

TEST(PlatformFile, BareHostsMayEmulateAGpu) {
  const Platform platform = load(parse_json(R"({
    "format": "forescale-platform-1", "name": "hosts",
    "node": {"count": 3, "layout": "host", "emulated_gpu": "k80"},
    "fabric": {"layout": "star", "link": "ethernet-10g"}})"));
  EXPECT_TRUE(platform.can_train());
  EXPECT_FALSE(platform.has_gpus());
  for (const int endpoint : platform.endpoints)
    EXPECT_EQ(platform.devices[static_cast<size_t>(endpoint)].kind, DeviceKind::kHost);
  expect_all_pairs_sound(platform);
}

TEST(PlatformFile, StoragePlacementAndCores) {
  json file = two_nics();
  file["placement"] = "random:seed=4,per_node=2";
  file["node"]["cores"] = 36;
  file["storage"] = parse_json(R"({"description": "a disk", "bandwidth_bytes_per_s": "1GB/s",
    "client_bandwidth_bytes_per_s": "500MB/s", "opens_per_s": 100, "open_latency_s": "1ms",
    "network": "fabric"})");
  const Platform platform = load(file);
  EXPECT_EQ(platform.slot_count(), 4 * 2);
  EXPECT_EQ(platform.cores_per_node, 36);
  ASSERT_TRUE(platform.storage.has_value());
  EXPECT_EQ(platform.storage->opens_per_s, 100);
  EXPECT_EQ(load(two_nics()).cores_per_node, 2 * 14);  // two sockets of 14
  EXPECT_FALSE(load(two_nics()).storage.has_value());
}

TEST(BadPlatformFile, StorageAndPlacement) {
  EXPECT_THAT(message_with("/storage", "lustr"),
              HasSubstr("dgx.json:/storage = lustr: unknown; did you mean \"lustre\"?"));
  EXPECT_THAT(message_with("/placement", "rando:seed=1"),
              HasSubstr("dgx.json:/placement = rando: unknown; did you mean \"random\"?"));
  EXPECT_THAT(message_with("/placement", "random"), HasSubstr("dgx.json:/placement random:seed"));
}

TEST(BadPlatformFile, NamesPathValueAndConstraint) {
  EXPECT_EQ(message_with("/link_classes/x/latency_s", -1),
            "dgx.json:/link_classes/x/latency_s = -1: must be >= 0");
  EXPECT_EQ(message_with("/link_classes/x/bandwidth_bytes_per_s", 0),
            "dgx.json:/link_classes/x/bandwidth_bytes_per_s = 0: must be > 0");
  EXPECT_EQ(message_with("/node/count", 0), "dgx.json:/node/count = 0: must be >= 1");
  EXPECT_THAT(message_with("/node/nics/0/socket", 2),
              HasSubstr("dgx.json:/node/nics/0/socket = 2: must be <= 1"));
  EXPECT_THAT(message_with("/node/nics/1/switch", 1), HasSubstr("/node/nics/1/switch = 1"));
  EXPECT_THAT(message_with("/format", "v2"), HasSubstr("dgx.json:/format = \"v2\""));
  EXPECT_THAT(message_with("/link_classes/x/latency_s", parse_json(R"({"value": 1})")),
              HasSubstr("must have either \"source\" or \"assumed\""));
  EXPECT_THAT(message_with("/node/gpu_link", "x"), HasSubstr("the tree has no such level"));
}

TEST(BadPlatformFile, SuggestsTheNearestName) {
  EXPECT_THAT(message_with("/node/socket", 2),
              HasSubstr("dgx.json:/node/socket = 2: key is unknown; did you mean \"sockets\"?"));
  EXPECT_THAT(message_with("/fabrik", 2), HasSubstr("did you mean \"fabric\"?"));
  EXPECT_THAT(message_with("/fabric/radx", 2),
              HasSubstr("dgx.json:/fabric/radx: key is unknown; did you mean \"radix\"?"));
  EXPECT_THAT(message_with("/node/gpu", "p10"),
              HasSubstr("dgx.json:/node/gpu = p10: unknown; did you mean \"p100\"?"));
  EXPECT_THAT(message_with("/node/card_link", "pcie3x16"),
              HasSubstr("dgx.json:/node/card_link = \"pcie3x16\": is unknown; did you mean "
                        "\"pcie3-x16\"?"));
  json file = two_nics();
  file["node"].erase("layout");
  file["node"]["layuot"] = "host";
  EXPECT_THAT(file_refusal(file), HasSubstr("/node/layuot = \"host\": key is unknown; did you mean "
                                            "\"layout\"?"));
  EXPECT_THAT(message_with("/fabric/layout", "fattree"), HasSubstr("did you mean \"fat-tree\"?"));
}

TEST(BadPlatformFile, CutOff) {
  const std::string text = two_nics().dump();
  try {
    read_platform(text.substr(0, text.size() / 2), "dgx.json");
    FAIL() << "no InputError";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("dgx.json: must be complete JSON"));
  }
}

TEST(BadPlatformFile, Unconnected) {
  json file = explicit_file();
  file["fabric"]["links"].erase(2);
  EXPECT_THAT(file_refusal(file), HasSubstr("dgx.json:/fabric/links: must connect all nodes: there "
                                            "is no way from node0/n to node1/n"));
  file = explicit_file();
  file["node"]["links"].erase(5);
  EXPECT_THAT(file_refusal(file), HasSubstr("must connect all its devices"));
  // Only GPUs join g2 to the rest: no way, as they are never passed through.
  file = explicit_file();
  file["node"]["links"].erase(2);
  EXPECT_THAT(file_refusal(file), HasSubstr("there is no way from c to g2"));
}

TEST(BadPlatformFile, Structure) {
  json file = two_nics();
  file.erase("fabric");
  EXPECT_THAT(file_refusal(file), HasSubstr("dgx.json:/fabric: is required and missing"));
  file = two_nics();
  file["node"].erase("nics");
  EXPECT_THAT(file_refusal(file), HasSubstr("dgx.json:/fabric: needs a NIC in the node"));
  file = two_nics();
  file["node"]["count"] = 5;  // 10 NICs
  EXPECT_THAT(file_refusal(file), HasSubstr("must have room for 10 ports"));
}

// What only the schema sees, and that it agrees with the reader on good files.
TEST(PlatformSchema, NamesPathAndValue) {
  json file = two_nics();
  EXPECT_NO_THROW(check_platform_schema(JsonInput::from_text(file.dump(), "dgx.json")));
  file["link_classes"]["x"]["latency_s"] = -1;
  try {
    check_platform_schema(JsonInput::from_text(file.dump(), "dgx.json"));
    FAIL() << "no InputError";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("dgx.json:/link_classes/x/latency_s = -1: must obey "
                                        "platform.schema.json"));
  }
}

}  // namespace
}  // namespace forescale
