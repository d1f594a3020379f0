#include "topologies/node_routes.hpp"

#include <fmt/format.h>

#include <tuple>

#include "topologies/shortest_path.hpp"

namespace forescale {
namespace {

bool may_be_on_the_way(DeviceKind kind) {
  return kind == DeviceKind::kCpu || kind == DeviceKind::kPcieSwitch ||
         kind == DeviceKind::kNvSwitch || kind == DeviceKind::kFabricSwitch;
}

std::vector<int> devices_of_kind(const NodeTemplate& node, DeviceKind kind) {
  std::vector<int> found;
  for (size_t i = 0; i < node.devices.size(); ++i)
    if (node.devices[i].kind == kind) found.push_back(static_cast<int>(i));
  return found;
}

const Device& device(const NodeTemplate& node, int number) {
  return node.devices[static_cast<size_t>(number)];
}

void fill_table(const NodeTemplate& node, const std::vector<LinkClass>& classes,
                const JsonInput& in, NodeRoutes& routes) {
  PathProblem all{.vertex_count = routes.device_count,
                  .arcs = arcs_of(node.links, classes, 0),
                  .may_transit = {}};
  PathProblem of_gpus = all;  // links and switches that are theirs alone
  for (const Device& each : node.devices) {
    all.may_transit.push_back(may_be_on_the_way(each.kind) ? 1 : 0);
    of_gpus.may_transit.push_back(each.kind == DeviceKind::kNvSwitch ? 1 : 0);
  }
  for (int from = 0; from < routes.device_count; ++from) {
    const std::vector<int> any_arrivals = arrivals_from(all, from);
    const std::vector<int> gpu_arrivals = device(node, from).kind == DeviceKind::kGpu
                                              ? arrivals_from(of_gpus, from)
                                              : std::vector<int>();
    for (int to = 0; to < routes.device_count; ++to) {
      NodeRoutes::Local local;
      const bool is_nvswitch = device(node, from).kind == DeviceKind::kNvSwitch ||
                               device(node, to).kind == DeviceKind::kNvSwitch;
      if (from != to && !is_nvswitch) {  // nothing begins or ends in one
        const bool are_joined = !gpu_arrivals.empty() &&
                                device(node, to).kind == DeviceKind::kGpu &&
                                gpu_arrivals[static_cast<size_t>(to)] >= 0;
        const std::vector<int>& arrivals = are_joined ? gpu_arrivals : any_arrivals;
        if (arrivals[static_cast<size_t>(to)] < 0)
          in.fail(fmt::format("must connect all its devices: there is no way from {} to {}",
                              device(node, from).name, device(node, to).name));
        local.route = walk_back(are_joined ? of_gpus : all, arrivals, to);
      }
      for (Capacity capacity : local.route.capacities) {
        const Link& link = node.links[static_cast<size_t>(capacity / 2)];
        local.crosses_socket |= device(node, link.from).kind == DeviceKind::kCpu &&
                                device(node, link.to).kind == DeviceKind::kCpu;
      }
      routes.table.push_back(std::move(local));
    }
  }
}

// The candidates that are nearest to `from`: same socket first, then fewest hops.
std::vector<int> nearest_of(const NodeTemplate& node, const NodeRoutes& routes, int from,
                            const std::vector<int>& candidates) {
  std::vector<int> best;
  std::tuple<bool, size_t> best_distance;
  for (int candidate : candidates) {
    const std::tuple<bool, size_t> distance{
        device(node, candidate).socket != device(node, from).socket,
        routes.between(from, candidate).route.capacities.size()};
    if (best.empty() || distance < best_distance) best.clear();
    if (best.empty() || distance == best_distance) {
      best_distance = distance;
      best.push_back(candidate);
    }
  }
  return best;
}

int nearest_one(const NodeTemplate& node, const NodeRoutes& routes, int from, int turn,
                const std::vector<int>& candidates) {
  const std::vector<int> best = nearest_of(node, routes, from, candidates);
  return best.empty() ? -1 : best[static_cast<size_t>(turn) % best.size()];
}

}  // namespace

NodeRoutes node_routes_of(const NodeTemplate& node, const std::vector<LinkClass>& classes,
                          const JsonInput& in) {
  NodeRoutes routes;
  routes.summary = node.summary;
  routes.device_count = static_cast<int>(node.devices.size());
  const std::vector<int> gpus = devices_of_kind(node, DeviceKind::kGpu);
  const std::vector<int> cpus = devices_of_kind(node, DeviceKind::kCpu);
  const std::vector<int> hosts = devices_of_kind(node, DeviceKind::kHost);
  const std::vector<int> nics = devices_of_kind(node, DeviceKind::kNic);
  routes.endpoints = gpus.empty() ? hosts : gpus;
  routes.ports = nics.empty() ? hosts : nics;
  if (routes.endpoints.empty()) in.fail("must have a GPU, or a host where there is no GPU");
  if (!gpus.empty() && cpus.empty()) in.fail("must have a CPU beside its GPUs");
  if (!gpus.empty() && !hosts.empty()) in.fail("must not have both GPUs and bare hosts");
  fill_table(node, classes, in, routes);

  std::vector<int> turn(node.devices.size(), 0);
  for (size_t i = 0; i < routes.endpoints.size(); ++i)
    turn[static_cast<size_t>(routes.endpoints[i])] = static_cast<int>(i);
  for (int i = 0; i < routes.device_count; ++i) {
    const DeviceKind kind = device(node, i).kind;
    const bool is_memory = kind == DeviceKind::kCpu || kind == DeviceKind::kHost;
    const bool is_port = kind == DeviceKind::kNic || (kind == DeviceKind::kHost && nics.empty());
    routes.host_of.push_back(
        is_memory ? i : nearest_one(node, routes, i, 0, cpus.empty() ? hosts : cpus));
    routes.nic_of.push_back(
        is_port ? i : nearest_one(node, routes, i, turn[static_cast<size_t>(i)], routes.ports));
  }
  return routes;
}

}  // namespace forescale
