// Which slot is which rank: the order of Platform::endpoints.
//
//   linear[:per_node=K]          node by node
//   random:seed=N[,per_node=K]   nodes in random order, as a batch system hands them out; the slots
//                                of a node stay together and in order
// With per_node only the first K slots of each node are used. The same seed gives the same order on
// every machine (mt19937_64 and a Fisher-Yates shuffle of our own).
#pragma once

#include <string>

#include "topologies/platform.hpp"

namespace forescale {

// Forgets any earlier order. InputError naming `option` when the text is wrong.
void place_ranks(Platform& platform, const std::string& text, const std::string& option);

// The node of a slot in the present order.
int node_of_slot(const Platform& platform, int slot);
// How many nodes `slots` stand on, from `first` on.
int nodes_of(const Platform& platform, int slots, int first = 0);

// Appends a slot for a process that works in host memory, such as a parameter server: the CPU (or
// host) of that node with the fewest slots so far. Returns the slot.
int add_host_endpoint(Platform& platform, int node);

struct ServerPlaces {
  int workers = 1;  // on the next slots that are left
  int servers = 1;  // on host slots that follow them
  bool own_nodes =
      true;      // one node each, the next ones without workers; else spread over the workers'
  int jobs = 1;  // of so many workers and servers each
};

// Afterwards ranks [0, workers) are the workers and [workers, workers + servers) the servers of the
// first job, and so on; there are no other slots. InputError naming `option` when the platform has
// too few slots or nodes.
void place_servers(Platform& platform, const ServerPlaces& places, const std::string& option);

}  // namespace forescale
