// What Poseidon moves for each layer of a network, and where to: the shares of the parameter
// servers, the factors of the peers, the groups of its three levels.
//
// Poseidon (arXiv 1512.06216), sections 3.2 and 4. A tensor is a table of equal rows; row r is kept
// by communication channel r mod C of server (r / C) mod S: sailing-pmls/bosen at c72480c4,
// ps/src/petuum_ps/thread/context.hpp, GetPartitionClientID.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithms/poseidon/sufficient_factors.hpp"
#include "algorithms/schedule.hpp"

namespace forescale {

// How fully connected layers are exchanged: as Algorithm 3 chooses, or always in one way.
enum class FullyConnected { kAuto, kFactors, kFactorsToServer, kMatrices };
// Which waiting message a bandwidth manager lets out first.
enum class SendOrder {
  kLayer,     // what the next forward pass needs first
  kArrival,   // first come
  kMagnitude  // largest updates: as these do not depend on the layer, a seeded random order
};

struct PoseidonSettings {
  // DWBP: a thread a layer from its gradient on; else the main thread takes layer after layer,
  // after the backward pass.
  bool wait_free = true;
  bool at_clock = false;          // gradients leave for the servers when the worker ends its clock
  bool waits_for_factors = true;  // of all peers; else they may come until the next clock
  bool three_level = false;       // one client a node; else one a GPU
  FullyConnected fully_connected = FullyConnected::kAuto;
  int servers = 0;          // 0: one on every node
  int rows = 1;             // of a tensor's table
  int comm_channels = 1;    // of a server: threads that each keep rows of their own
  double server_flops = 0;  // of a server that multiplies factors; 0 costs nothing
  int staleness = 0;
  double budget_bytes_per_s = 0;  // of each worker and server, outgoing; 0: none
  SendOrder order = SendOrder::kArrival;
  bool join_by_layer = false;  // a forward pass waits for its own layer only
};

// One server's part of a layer.
struct ServerShare {
  int server = 0;
  std::int64_t dense_bytes = 0;   // of full gradients, each client
  std::int64_t factor_bytes = 0;  // of factors, each worker
  std::int64_t pull_bytes = 0;    // of parameters, each client
  double product_flops = 0;       // outer products of one worker's factors
  int channels = 1;               // of the server that keep rows of it
};

struct LayerPlan {
  int stage = 0;
  FactorPath path = FactorPath::kMatrices;
  std::int64_t dense_bytes = 0;     // of full gradients: all, or the bias only
  std::int64_t factor_bytes = 0;    // of one worker's factors; 0: none
  double reconstruction_flops = 0;  // on each worker
  std::int64_t pull_bytes = 0;      // of parameters, over all servers
  std::vector<ServerShare> shares;
};

// The clients that talk to the servers, each with the workers that it speaks for; the first of them
// is the one that does.
struct PoseidonTopology {
  std::vector<std::vector<int>> clients;
  int workers = 0;
  int servers = 0;
  // Index of the worker's client.
  size_t client_of(int worker) const;
};

// `nodes[rank]`, workers first, then servers.
PoseidonTopology poseidon_topology(const std::vector<int>& nodes, int workers,
                                   const PoseidonSettings& settings);

// The layers with parameters, in forward order.
std::vector<LayerPlan> plan_layers(const TrainingJob& job, const PoseidonTopology& topology,
                                   const PoseidonSettings& settings);

Traffic poseidon_traffic(const TrainingJob& job, int workers, const std::vector<int>& nodes,
                         const PoseidonSettings& settings);

// Collectives among the workers of one client: gradients to the first, parameters from it.
CollectiveStep gather_at_client(const TrainingJob& job, const LayerPlan& layer, size_t index,
                                const std::vector<int>& members);
CollectiveStep spread_from_client(const TrainingJob& job, const LayerPlan& layer, size_t index,
                                  const PoseidonTopology& topology,
                                  const std::vector<int>& members);

}  // namespace forescale
