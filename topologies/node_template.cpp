#include "topologies/node_template.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace forescale {
namespace {

class TreeBuilder {
 public:
  explicit TreeBuilder(const PcieTree& tree) : tree_(tree) {}

  NodeTemplate build() {
    for (int socket = 0; socket < tree_.sockets; ++socket)
      cpus_.push_back(add(DeviceKind::kCpu, socket, fmt::format("cpu{}", socket)));
    for (int a = 0; a < tree_.sockets; ++a)
      for (int b = a + 1; b < tree_.sockets; ++b)
        link(cpus_[static_cast<size_t>(a)], cpus_[static_cast<size_t>(b)], tree_.socket_link);
    for (int socket = 0; socket < tree_.sockets; ++socket) add_socket(socket);
    for (size_t i = 0; i < tree_.nics.size(); ++i) add_nic(static_cast<int>(i));
    return std::move(node_);
  }

 private:
  int add(DeviceKind kind, int socket, std::string name) {
    node_.devices.push_back({.kind = kind, .node = -1, .socket = socket, .name = std::move(name)});
    return static_cast<int>(node_.devices.size()) - 1;
  }

  void link(int from, int to, int link_class) {
    node_.links.push_back({.from = from, .to = to, .link_class = link_class});
  }

  void add_socket(int socket) {
    const int cpu = cpus_[static_cast<size_t>(socket)];
    if (tree_.switches_per_socket == 0) add_cards(socket, cpu);
    for (int i = 0; i < tree_.switches_per_socket; ++i) {
      const int pcie_switch = add(DeviceKind::kPcieSwitch, socket,
                                  fmt::format("switch{}", static_cast<int>(switches_.size())));
      switches_.push_back(pcie_switch);
      link(cpu, pcie_switch, tree_.switch_link);
      add_cards(socket, pcie_switch);
    }
  }

  void add_cards(int socket, int parent) {
    for (int card = 0; card < tree_.cards_per_switch; ++card) {
      int card_parent = parent;
      int gpu_link = tree_.card_link;
      if (tree_.gpus_per_card > 1) {
        card_parent = add(DeviceKind::kPcieSwitch, socket, fmt::format("card{}", cards_));
        link(parent, card_parent, tree_.card_link);
        gpu_link = tree_.gpu_link;
      }
      ++cards_;
      for (int gpu = 0; gpu < tree_.gpus_per_card; ++gpu)
        link(card_parent, add(DeviceKind::kGpu, socket, fmt::format("gpu{}", gpus_++)), gpu_link);
    }
  }

  void add_nic(int number) {
    const PcieTree::Nic& nic = tree_.nics[static_cast<size_t>(number)];
    const int parent = nic.pcie_switch < 0
                           ? cpus_[static_cast<size_t>(nic.socket)]
                           : switches_[static_cast<size_t>(nic.socket) *
                                           static_cast<size_t>(tree_.switches_per_socket) +
                                       static_cast<size_t>(nic.pcie_switch)];
    link(parent, add(DeviceKind::kNic, nic.socket, fmt::format("nic{}", number)), nic.link_class);
  }

  const PcieTree& tree_;
  NodeTemplate node_;
  std::vector<int> cpus_;
  std::vector<int> switches_;
  int cards_ = 0;
  int gpus_ = 0;
};

bool is_bare(const NodeTemplate& node) {
  return node.devices.size() == 1 && node.devices[0].kind == DeviceKind::kHost;
}

}  // namespace

NodeTemplate bare_host() {
  return {.devices = {{.kind = DeviceKind::kHost, .node = -1, .socket = -1, .name = "host"}},
          .links = {},
          .summary = "bare host"};
}

NodeTemplate pcie_tree(const PcieTree& tree, const JsonInput& in) {
  const std::int64_t cards =
      std::int64_t{tree.sockets} * std::max(tree.switches_per_socket, 1) * tree.cards_per_switch;
  if (cards * tree.gpus_per_card + cards > kNodeDevicesMax)
    in.fail(fmt::format("must not have more than {} devices in a node", kNodeDevicesMax));
  NodeTemplate node = TreeBuilder(tree).build();
  node.summary = fmt::format("PCIe tree: {} sockets x {} switches x {} cards x {} GPUs, {} NICs",
                             tree.sockets, tree.switches_per_socket, tree.cards_per_switch,
                             tree.gpus_per_card, tree.nics.size());
  return node;
}

void place_nodes(Platform& platform, const NodeTemplate& node, int count, const JsonInput& in) {
  const NodeRoutes routes = node_routes_of(node, platform.link_classes, in);
  platform.node_count = count;
  platform.node_device_count = static_cast<int>(node.devices.size());
  platform.node_link_count = static_cast<int>(node.links.size());
  const size_t device_total = node.devices.size() * static_cast<size_t>(count);
  std::vector<Device>& devices = platform.devices.edit();
  devices.reserve(device_total + 1);
  std::vector<int>& host_of_device = platform.host_of_device.edit();
  host_of_device.reserve(device_total + 1);
  std::vector<int>& nic_of_device = platform.nic_of_device.edit();
  nic_of_device.reserve(device_total + 1);
  std::vector<Link>& links = platform.links.edit();
  platform.endpoints.reserve(routes.endpoints.size() * static_cast<size_t>(count));
  for (int number = 0; number < count; ++number) {
    const int first = number * platform.node_device_count;
    const auto shifted = [&](int local) { return local < 0 ? -1 : first + local; };
    const std::string prefix =
        is_bare(node) ? fmt::format("host{}", number) : fmt::format("node{}/", number);
    for (size_t i = 0; i < node.devices.size(); ++i) {
      const Device& device = node.devices[i];
      devices.push_back({.kind = device.kind,
                         .node = number,
                         .socket = device.socket,
                         .name = is_bare(node) ? prefix : prefix + device.name});
      host_of_device.push_back(shifted(routes.host_of[i]));
      nic_of_device.push_back(shifted(routes.nic_of[i]));
    }
    for (Link link : node.links) {
      link.from += first;
      link.to += first;
      links.push_back(link);
    }
    for (int endpoint : routes.endpoints) platform.endpoints.push_back(first + endpoint);
  }
  platform.node_routes = std::make_shared<const NodeRoutes>(routes);
}

std::vector<int> fabric_ports(const Platform& platform) {
  std::vector<int> ports;
  const std::vector<int>& local = platform.node_routes->ports;
  ports.reserve(local.size() * static_cast<size_t>(platform.node_count));
  for (int node = 0; node < platform.node_count; ++node)
    for (int port : local) ports.push_back(node * platform.node_device_count + port);
  return ports;
}

}  // namespace forescale
