// Routes inside a node: one table for the node template serves every node, as all are replicas.
//
// GPUs, NICs and hosts are ends only; PCIe switches and CPUs (their root complexes) are on the way,
// and NVSwitches between GPUs, to which alone they are joined. GPUs that are joined by links and
// NVSwitches of their own use those, however short the way over PCIe is, as CUDA's peer access and
// NCCL do (NVIDIA NCCL, src/graph/topo.h: PATH_NVL comes before PATH_PIX).
// The nearest NIC is one on the same socket if there is one, then the one with the fewest hops;
// equally near ones are shared out in turn over the node's endpoints.
#pragma once

#include <vector>

#include "topologies/platform.hpp"

namespace forescale {

struct NodeTemplate {
  std::vector<Device> devices;  // names without the node, node numbers unset
  std::vector<Link> links;      // between these devices
  std::string summary;          // "PCIe tree: 2 sockets x ..."
};

// The table of a node grows with the square of this.
constexpr std::int64_t kNodeDevicesMax = 1024;

struct NodeRoutes {
  struct Local {
    Route route;
    bool crosses_socket = false;  // goes over a link between two CPUs
  };
  int device_count = 0;
  std::vector<Local> table;  // from * device_count + to, empty routes on the diagonal
  std::vector<int> host_of;  // per device of the template, -1 if none
  std::vector<int> nic_of;
  std::vector<int> endpoints;  // GPUs, or hosts where there is no GPU
  std::vector<int> ports;      // NICs, or hosts where there is no NIC: they hang on the fabric
  std::string summary;

  const Local& between(int from, int to) const {
    return table[static_cast<size_t>(from) * static_cast<size_t>(device_count) +
                 static_cast<size_t>(to)];
  }
};

// InputError for `in` (the JSON of the node) when two devices cannot reach each other, or when
// there is no endpoint, or no CPU beside the GPUs.
NodeRoutes node_routes_of(const NodeTemplate& node, const std::vector<LinkClass>& classes,
                          const JsonInput& in);

}  // namespace forescale
