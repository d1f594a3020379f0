// The node that all nodes of a platform replicate, and the ways to say one.
//
// "pcie-tree": sockets (CPUs, joined pairwise by "socket_link"), PCIe switches below each, cards
// below each switch, GPUs on each card:
//
//   cpu0 -switch_link- switch0 -card_link- gpu0                       gpus_per_card = 1
//                              -card_link- card0 -gpu_link- gpu0, gpu1    more: the card's switch
//
// With switches_per_socket = 0 the cards hang on the CPU. Slots are numbered socket by socket, card
// by card, so that neighbours are close. "explicit": devices and links listed; "host": a bare host;
// "preset": the node of another platform.
#pragma once

#include "topologies/link_reader.hpp"
#include "topologies/node_routes.hpp"

namespace forescale {

struct PcieTree {
  int sockets = 1;
  int switches_per_socket = 1;
  int cards_per_switch = 1;  // per socket when there are no switches
  int gpus_per_card = 1;
  // Indices of link classes; -1 where the tree has no such level.
  int socket_link = -1;
  int switch_link = -1;
  int card_link = -1;
  int gpu_link = -1;
  struct Nic {
    int socket = 0;
    int pcie_switch = -1;  // of that socket; -1: on the CPU itself
    int link_class = 0;
  };
  std::vector<Nic> nics;
};

NodeTemplate bare_host();
// InputError for `in` when it has too many devices.
NodeTemplate pcie_tree(const PcieTree& tree, const JsonInput& in);

// The "node" object of a platform file; also loads its GPU and CPU models into the platform.
NodeTemplate read_node(Platform& platform, LinkReader& classes, const JsonInput& in);

// Puts `count` replicas into an empty platform, with routes inside them.
void place_nodes(Platform& platform, const NodeTemplate& node, int count, const JsonInput& in);

// The devices that hang on the fabric, node by node.
std::vector<int> fabric_ports(const Platform& platform);

// GPU and CPU of a node: keys "gpu" and "cpu"; "gpu_model", if there is one, in the node `in`.
void read_gpu(Platform& platform, const JsonInput& name);
void read_gpu_model(Platform& platform, const JsonInput& in);
void read_cpu(Platform& platform, const JsonInput& name);

}  // namespace forescale
