#include "topologies/platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "topologies/node_routes.hpp"

namespace forescale {
namespace {

// Appends a route of the node template, moved to where the node's own links begin.
void append_local(Route& route, const Route& local, Capacity first_capacity) {
  for (Capacity capacity : local.capacities) route.capacities.push_back(first_capacity + capacity);
  route.latency += local.latency;
}

}  // namespace

const char* name_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kGpu:
      return "gpu";
    case DeviceKind::kCpu:
      return "cpu";
    case DeviceKind::kPcieSwitch:
      return "pcie-switch";
    case DeviceKind::kNvSwitch:
      return "nvswitch";
    case DeviceKind::kNic:
      return "nic";
    case DeviceKind::kFabricSwitch:
      return "fabric-switch";
    case DeviceKind::kHost:
      return "host";
  }
  FORESCALE_CHECK(false, "device kind out of range");
}

const char* name_of(Locality locality) {
  switch (locality) {
    case Locality::kSame:
      return "same";
    case Locality::kPeer:
      return "peer";
    case Locality::kCrossSocket:
      return "cross-socket";
    case Locality::kInterNode:
      return "inter-node";
  }
  FORESCALE_CHECK(false, "locality out of range");
}

int Platform::host_of(int device) const { return host_of_device[static_cast<size_t>(device)]; }

int Platform::nic_of(int device) const { return nic_of_device[static_cast<size_t>(device)]; }

Locality Platform::locality(int device_a, int device_b) const {
  if (device_a == device_b) return Locality::kSame;
  const int node = devices[static_cast<size_t>(device_a)].node;
  if (node != devices[static_cast<size_t>(device_b)].node) return Locality::kInterNode;
  FORESCALE_CHECK(node >= 0, "locality of two fabric switches");
  const int first = node * node_device_count;
  return node_routes->between(device_a - first, device_b - first).crosses_socket
             ? Locality::kCrossSocket
             : Locality::kPeer;
}

int Platform::on_rail_of(int from, int to) const {
  const auto first = [&](int device) {
    return devices[static_cast<size_t>(device)].node * node_device_count;
  };
  const int rail = nic_of(to) - first(to);
  if (nic_of(from) - first(from) == rail) return from;
  const int beside = to - first(to) + first(from);
  return nic_of(beside) - first(beside) == rail ? beside : from;
}

Route Platform::route(int from, int to) const {
  Route route;
  if (from == to) return route;
  const int node_from = devices[static_cast<size_t>(from)].node;
  const int node_to = devices[static_cast<size_t>(to)].node;
  FORESCALE_CHECK(node_from >= 0 && node_to >= 0, "a route ends at a device of a node");
  const auto local = [&](int node, int a, int b) {
    const int first = node * node_device_count;
    append_local(route, node_routes->between(a - first, b - first).route,
                 2 * node * node_link_count);
  };
  if (node_from == node_to) {
    local(node_from, from, to);
    return route;
  }
  const int nic_from = nic_of(from);
  const int nic_to = nic_of(to);
  FORESCALE_CHECK(nic_from >= 0 && nic_to >= 0 && fabric_route,
                  fmt::format("no way from {} to {}", devices[static_cast<size_t>(from)].name,
                              devices[static_cast<size_t>(to)].name));
  local(node_from, from, nic_from);
  append_local(route, fabric_route(nic_from, nic_to), 0);
  local(node_to, nic_to, to);
  return route;
}

std::vector<Capacity> Platform::from_fabric(int to) const {
  if (node_count < 2 || !fabric_route) return {};
  const int elsewhere = devices[static_cast<size_t>(to)].node == 0 ? node_device_count : 0;
  const Route whole = route(elsewhere + node_routes->endpoints.front(), to);
  auto begin = whole.capacities.begin();
  for (auto at = whole.capacities.begin(); at != whole.capacities.end(); ++at) {
    const Link& link = links[static_cast<size_t>(*at / 2)];
    // Half-duplex links have one capacity, so a switch at either end counts.
    const auto is_switch = [&](int device) {
      return devices[static_cast<size_t>(device)].kind == DeviceKind::kFabricSwitch;
    };
    if (is_switch(link.from) || is_switch(link.to)) begin = at;
  }
  return {begin, whole.capacities.end()};
}

BytesPerSecond Platform::bandwidth(Capacity capacity) const {
  const Link& link = links[static_cast<size_t>(capacity / 2)];
  return link_classes[static_cast<size_t>(link.link_class)].bandwidth;
}

Bytes Platform::burst(Capacity capacity) const {
  const Link& link = links[static_cast<size_t>(capacity / 2)];
  return link_classes[static_cast<size_t>(link.link_class)].burst;
}

bool Platform::has_bursts() const {
  return std::any_of(link_classes.begin(), link_classes.end(),
                     [](const LinkClass& each) { return each.burst.value > 0; });
}

std::vector<int> node_link_classes(const Platform& platform) {
  std::set<int> classes;
  for (const Link& link : platform.links) {
    const Device& from = platform.devices[static_cast<size_t>(link.from)];
    const Device& to = platform.devices[static_cast<size_t>(link.to)];
    if (from.node != to.node) classes.insert(link.link_class);
  }
  return {classes.begin(), classes.end()};
}

std::string Platform::capacity_name(Capacity capacity) const {
  const Link& link = links[static_cast<size_t>(capacity / 2)];
  const bool forward = capacity % 2 == 0;
  const bool full_duplex = link_classes[static_cast<size_t>(link.link_class)].full_duplex;
  return fmt::format("{} {} {}", devices[static_cast<size_t>(forward ? link.from : link.to)].name,
                     full_duplex ? "->" : "--",
                     devices[static_cast<size_t>(forward ? link.to : link.from)].name);
}

}  // namespace forescale
