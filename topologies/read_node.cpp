// Reads the "node" of a JSON platform file.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "models/compute/fitted_gpu.hpp"
#include "topologies/node_template.hpp"

namespace forescale {
namespace {

constexpr int kPerLevelMax = 64;

int count_of(const JsonInput& in, const char* key, int min, int fallback) {
  const auto value = in.find(key);
  return value ? static_cast<int>(value->integer(min, kPerLevelMax)) : fallback;
}

PcieTree::Nic read_nic(LinkReader& classes, const PcieTree& tree, const JsonInput& in) {
  in.allow_only({"socket", "switch", "class"});
  PcieTree::Nic nic;
  nic.socket = static_cast<int>(in.at("socket").integer(0, tree.sockets - 1));
  if (const auto below = in.find("switch")) {
    if (tree.switches_per_socket == 0) below->fail("must be absent: a socket has no PCIe switches");
    nic.pcie_switch = static_cast<int>(below->integer(0, tree.switches_per_socket - 1));
  }
  nic.link_class = classes.read(in.at("class"));
  return nic;
}

NodeTemplate read_pcie_tree(Platform& platform, LinkReader& classes, const JsonInput& in) {
  in.allow_only({"count", "layout", "cores", "host_copy_bytes_per_s", "sockets",
                 "switches_per_socket", "cards_per_switch", "gpus_per_card", "gpu", "gpu_model",
                 "cpu", "socket_link", "switch_link", "card_link", "gpu_link", "nics"});
  PcieTree tree;
  tree.sockets = count_of(in, "sockets", 1, 1);
  tree.switches_per_socket = count_of(in, "switches_per_socket", 0, 1);
  tree.cards_per_switch = count_of(in, "cards_per_switch", 1, 1);
  tree.gpus_per_card = count_of(in, "gpus_per_card", 1, 1);
  read_gpu(platform, in.at("gpu"));
  read_gpu_model(platform, in);
  read_cpu(platform, in.at("cpu"));
  // A link class of a level that the tree lacks would silently mean nothing: refuse it.
  const auto level = [&](const char* key, bool exists) {
    if (exists) return classes.read(in.at(key));
    if (const auto unused = in.find(key))
      unused->fail("must be absent: the tree has no such level");
    return -1;
  };
  tree.socket_link = level("socket_link", tree.sockets > 1);
  tree.switch_link = level("switch_link", tree.switches_per_socket > 0);
  tree.card_link = level("card_link", true);
  tree.gpu_link = level("gpu_link", tree.gpus_per_card > 1);
  if (const auto nics = in.find("nics"))
    for (const JsonInput& nic : nics->elements()) tree.nics.push_back(read_nic(classes, tree, nic));
  return pcie_tree(tree, in);
}

DeviceKind read_kind(const JsonInput& in) {
  const std::string kind = in.one_of({"gpu", "cpu", "pcie-switch", "nvswitch", "nic", "host"});
  for (DeviceKind candidate : {DeviceKind::kGpu, DeviceKind::kCpu, DeviceKind::kPcieSwitch,
                               DeviceKind::kNvSwitch, DeviceKind::kNic, DeviceKind::kHost})
    if (kind == name_of(candidate)) return candidate;
  in.fail("must be a kind of device");
}

int number_of(const JsonInput& in, const std::map<std::string, int>& numbers) {
  const std::string name = in.string();
  if (const auto known = numbers.find(name); known != numbers.end()) return known->second;
  std::vector<std::string> names;
  for (const auto& [each, number] : numbers) names.push_back(each);
  in.fail("is " + unknown_name(name, names));
}

// Its other links manage it: routes over them would be none.
void check_nvswitch(const NodeTemplate& node, const Link& link, const JsonInput& in) {
  const auto kind = [&](int device) { return node.devices[static_cast<size_t>(device)].kind; };
  for (const auto& [end, other] : {std::pair(link.from, link.to), std::pair(link.to, link.from)})
    if (kind(end) == DeviceKind::kNvSwitch && kind(other) != DeviceKind::kGpu &&
        kind(other) != DeviceKind::kNvSwitch)
      in.fail(
          fmt::format("must not join the nvswitch {} to {}, a {}: it joins GPUs, and needs no "
                      "PCIe link",
                      node.devices[static_cast<size_t>(end)].name,
                      node.devices[static_cast<size_t>(other)].name, name_of(kind(other))));
}

NodeTemplate read_explicit(Platform& platform, LinkReader& classes, const JsonInput& in) {
  in.allow_only({"count", "layout", "cores", "host_copy_bytes_per_s", "gpu", "gpu_model", "cpu",
                 "devices", "links"});
  NodeTemplate node;
  std::map<std::string, int> numbers;
  std::set<DeviceKind> kinds;
  for (const JsonInput& each : in.at("devices").elements()) {
    each.allow_only({"name", "kind", "socket"});
    const auto socket = each.find("socket");
    Device device{.kind = read_kind(each.at("kind")),
                  .node = -1,
                  .socket = socket ? static_cast<int>(socket->integer(0, kPerLevelMax)) : 0,
                  .name = each.at("name").string()};
    if (!numbers.emplace(device.name, static_cast<int>(node.devices.size())).second)
      each.at("name").fail("must be unique inside the node");
    kinds.insert(device.kind);
    node.devices.push_back(std::move(device));
  }
  for (const JsonInput& each : in.at("links").elements()) {
    each.allow_only({"from", "to", "class"});
    const Link link{.from = number_of(each.at("from"), numbers),
                    .to = number_of(each.at("to"), numbers),
                    .link_class = classes.read(each.at("class"))};
    if (link.from == link.to) each.at("to").fail("must not be the device the link comes from");
    check_nvswitch(node, link, each);
    node.links.push_back(link);
  }
  constexpr std::int64_t kMax = kNodeDevicesMax;
  if (static_cast<std::int64_t>(std::max(node.devices.size(), node.links.size() / 8)) > kMax)
    in.fail(fmt::format("must not have more than {} devices, {} links", kMax, 8 * kMax));
  if (kinds.count(DeviceKind::kGpu) != 0 || in.has("gpu")) read_gpu(platform, in.at("gpu"));
  read_gpu_model(platform, in);
  if (kinds.count(DeviceKind::kCpu) != 0 || in.has("cpu")) read_cpu(platform, in.at("cpu"));
  node.summary = fmt::format("{} devices, {} links", node.devices.size(), node.links.size());
  return node;
}

NodeTemplate read_host(Platform& platform, const JsonInput& in) {
  in.allow_only({"count", "layout", "cores", "cpu", "emulated_gpu"});
  if (const auto cpu = in.find("cpu")) read_cpu(platform, *cpu);
  if (const auto gpu = in.find("emulated_gpu")) {
    read_gpu(platform, *gpu);
    platform.gpus_are_emulated = true;
  }
  return bare_host();
}

// "cores" counts those of sockets that are left out of the model too.
int cores_of(const Platform& platform, const NodeTemplate& node, const JsonInput& in) {
  constexpr int kCoresMax = 1 << 16;
  if (const auto cores = in.find("cores")) return static_cast<int>(cores->integer(1, kCoresMax));
  if (platform.cpu_models.empty()) return 0;
  const auto sockets =
      std::count_if(node.devices.begin(), node.devices.end(), [](const Device& device) {
        return device.kind == DeviceKind::kCpu || device.kind == DeviceKind::kHost;
      });
  return static_cast<int>(sockets) * platform.cpu_models.front().cores;
}

// The same GPU copies faster where NVLink leads to its CPU: the node's number replaces the GPU's.
void read_host_copy(Platform& platform, const JsonInput& in) {
  const auto host_copy = in.find("host_copy_bytes_per_s");
  if (!host_copy) return;
  if (!platform.has_gpus()) host_copy->fail("must be absent: the node has no GPU");
  GpuModel& gpu = platform.gpu_models.front();
  forget(&platform.provenance, gpu, "host_copy_bytes_per_s");
  gpu.host_copy = host_copy->bandwidth();
}

NodeTemplate read_preset_node(Platform& platform, LinkReader& classes, const JsonInput& in) {
  in.allow_only({"count", "layout", "preset"});
  const JsonInput name = in.at("preset");
  const std::string option = name.file() + ":" + name.path();
  const JsonInput preset = JsonInput::from_file(
      find_data_file("topologies/presets", name.string(), option), &platform.provenance);
  if (const auto own = preset.find("link_classes")) classes.define(*own);
  const JsonInput node = preset.at("node");
  if (required(node, "layout").string() == "preset")
    name.fail("must be a preset that describes its node itself");
  return read_node(platform, classes, node);
}

}  // namespace

void read_gpu(Platform& platform, const JsonInput& name) {
  const std::string option = name.file() + ":" + name.path();
  platform.gpu_models.push_back(load_gpu(name.string(), option, name.provenance()));
}

void read_gpu_model(Platform& platform, const JsonInput& in) {
  const auto name = in.find("gpu_model");
  if (!name) return;
  if (!platform.has_gpus()) name->fail("must be absent: the node has no GPU");
  platform.fitted_gpu = name->string();
  const FittedGpu fitted =
      load_fitted_gpu(platform.fitted_gpu, name->file() + ":" + name->path(), name->provenance());
  GpuModel& gpu = platform.gpu_models.front();
  gpu = with_measured(gpu, fitted, name->provenance());
}

void read_cpu(Platform& platform, const JsonInput& name) {
  const std::string option = name.file() + ":" + name.path();
  platform.cpu_models.push_back(load_cpu(name.string(), option, name.provenance()));
}

NodeTemplate read_node(Platform& platform, LinkReader& classes, const JsonInput& in) {
  const std::string layout =
      required(in, "layout").one_of({"pcie-tree", "explicit", "host", "preset"});
  if (layout == "preset") return read_preset_node(platform, classes, in);
  NodeTemplate node = layout == "pcie-tree"  ? read_pcie_tree(platform, classes, in)
                      : layout == "explicit" ? read_explicit(platform, classes, in)
                                             : read_host(platform, in);
  platform.cores_per_node = cores_of(platform, node, in);
  read_host_copy(platform, in);
  return node;
}

}  // namespace forescale
