// PCIe: one node as a PCIe tree (see node_template.hpp), without NICs and fabric.
//
// Defaults: 2 sockets of xeon-e5-2690v3 joined by qpi, 1 switch a socket, 2 cards a switch, 1 GPU a
// card, every PCIe link pcie3-x16.
#include "topologies/fabrics/fabric.hpp"
#include "topologies/node_template.hpp"

namespace forescale {
namespace {

void generate(Platform& platform, const JsonInput& in) {
  in.allow_only({"sockets", "switches", "cards", "gpus", "gpu", "gpu_model", "cpu", "link",
                 "socket_link", "switch_link", "card_link", "gpu_link"});
  constexpr std::int64_t kPerLevelMax = 64;
  const auto count = [&](const char* key, std::int64_t min, int fallback) {
    const auto value = in.find(key);
    return value ? static_cast<int>(value->integer(min, kPerLevelMax)) : fallback;
  };
  PcieTree tree{.sockets = count("sockets", 1, 2),
                .switches_per_socket = count("switches", 0, 1),
                .cards_per_switch = count("cards", 1, 2),
                .gpus_per_card = count("gpus", 1, 1),
                .nics = {}};
  read_gpu(platform, in.at("gpu"));
  read_gpu_model(platform, in);
  if (const auto cpu = in.find("cpu"))
    read_cpu(platform, *cpu);
  else
    platform.cpu_models.push_back(load_cpu("xeon-e5-2690v3", in.file() + ":/cpu", in.provenance()));
  platform.cores_per_node = tree.sockets * platform.cpu_models.front().cores;
  LinkReader classes(platform);
  const auto level = [&](const char* key, bool exists, const std::string& fallback) {
    const auto link = in.find(key);
    if (!exists) {
      if (link) link->fail("must be absent: the tree has no such level");
      return -1;
    }
    return link ? classes.read(*link) : classes.read_name(fallback, in);
  };
  const auto common = in.find("link");
  const std::string pcie = common ? common->string() : "pcie3-x16";
  if (common) classes.read(*common);
  tree.socket_link = level("socket_link", tree.sockets > 1, "qpi");
  tree.switch_link = level("switch_link", tree.switches_per_socket > 0, pcie);
  tree.card_link = level("card_link", true, pcie);
  tree.gpu_link = level("gpu_link", tree.gpus_per_card > 1, pcie);
  place_nodes(platform, pcie_tree(tree, in), 1, in);
}

const bool kPcieRegistered = Registry<Generator>::add(
    {.name = "pcie",
     .usage =
         "pcie:gpu=k80[,gpu_model=NAME,sockets=2,switches=1,cards=2,gpus=1,cpu=CPU,link=CLASS,...]",
     .summary = "one node: sockets, switches a socket, cards a switch, GPUs a card",
     .generate = generate});

}  // namespace
}  // namespace forescale
