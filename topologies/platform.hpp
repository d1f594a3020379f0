// A platform: devices and links with their numbers, and the routes between devices.
//
// A platform is `node_count` nodes whose endpoints are GPUs (or bare hosts) and a fabric between
// them. Inside a node routes follow the PCIe tree; across nodes they go through the NIC nearest to
// each end and the fabric's own routing rule. Device, link and node numbers are dense from 0.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json_input.hpp"
#include "base/shared_vector.hpp"
#include "models/hardware.hpp"
#include "models/storage.hpp"

namespace forescale {

// kNvSwitch joins GPUs alone: what manages it over PCIe carries no data and is left out.
enum class DeviceKind { kGpu, kCpu, kPcieSwitch, kNvSwitch, kNic, kFabricSwitch, kHost };
const char* name_of(DeviceKind kind);

struct Device {
  DeviceKind kind = DeviceKind::kHost;
  int node = -1;     // -1 for fabric switches
  int socket = -1;   // CPU socket inside the node that a GPU, NIC or PCIe switch hangs on
  std::string name;  // unique: "node3/gpu5"
};

// Full duplex unless its class says otherwise: each direction has the class's bandwidth.
struct Link {
  int from = 0;  // devices
  int to = 0;
  int link_class = 0;  // index into Platform::link_classes
};

// A directed capacity: 2 * link + (0: from -> to, 1: to -> from). Of a half-duplex link only the
// even one is used, in both directions.
using Capacity = std::int32_t;

struct Route {
  std::vector<Capacity> capacities;  // in order of travel
  Seconds latency;                   // sum over the links
};

// How a message between two endpoints can travel.
enum class Locality { kSame, kPeer, kCrossSocket, kInterNode };
const char* name_of(Locality locality);

class Platform {
 public:
  std::string name;
  std::string description;
  std::vector<std::string> assumptions;  // about the structure, where no source says
  std::vector<LinkClass> link_classes;
  SharedVector<Device> devices;
  SharedVector<Link> links;
  std::vector<GpuModel> gpu_models;  // at most one: all GPUs of a platform are alike
  // Name or file of the GPU model fitted to measurements of it (models/compute/fitted_gpu.hpp),
  // whose numbers it has already; empty: none.
  std::string fitted_gpu;
  // Bare hosts that wait as long as a GPU would compute; what it would hold is in their memory.
  bool gpus_are_emulated = false;
  std::vector<CpuModel> cpu_models;  // at most one; empty on bare-host platforms
  int node_count = 0;
  std::vector<int> endpoints;            // device of each rank slot (placement.hpp)
  std::string placement = "linear";      // their order
  int cores_per_node = 0;                // of CPUs that are not modelled too; 0: not known
  std::optional<StorageSystem> storage;  // its numbers are noted in itself, not in `provenance`
  std::string nccl;                      // the stack of NCCL on it; empty: not known
  bool is_generated = false;             // from a generator: the stack `ideal` is its default
  bool uniform_pairs = false;  // all pairs of endpoints have equal latency and narrowest link
  // By link_faults.hpp: nodes with links that are not as those of the others; links over which
  // messages never arrive.
  std::set<int> unlike_nodes = {};
  std::set<int> lost_links = {};
  Provenance provenance;

  int slot_count() const { return static_cast<int>(endpoints.size()); }
  bool has_gpus() const { return !gpu_models.empty() && !gpus_are_emulated; }
  bool can_train() const { return !gpu_models.empty(); }
  bool has_bursts() const;

  // The CPU whose memory stages data for a device (itself for kHost and kCpu).
  int host_of(int device) const;
  // The NIC that a device uses to leave its node (itself for kHost).
  int nic_of(int device) const;
  Locality locality(int device_a, int device_b) const;
  // The device of `from`'s node whose adapter has the number, in its node, of `to`'s adapter:
  // itself, or the one in `to`'s place. Both are of nodes, and not of the same.
  int on_rail_of(int from, int to) const;

  // Where data travels from one device to another. GPU to GPU inside a node: over PCIe directly;
  // across nodes: device, its NIC, fabric, NIC, device (GPUDirect RDMA). FORESCALE_CHECK if there
  // is no way. Deterministic; cheap enough to be asked once per pair and message kind.
  Route route(int from, int to) const;

  BytesPerSecond bandwidth(Capacity capacity) const;
  Bytes burst(Capacity capacity) const;
  std::string capacity_name(Capacity capacity) const;  // "node0/nic0 -> leaf0"
  int capacity_count() const { return 2 * static_cast<int>(links.size()); }

  // What data from a switch beside a node crosses to get to one of its devices: the part of a route
  // from another node that comes after the last switch of the fabric. Empty without a fabric.
  std::vector<Capacity> from_fabric(int to) const;

  // Set by whoever builds the platform: the fabric route between two devices that hang on the
  // fabric (NICs or hosts).
  std::function<Route(int from, int to)> fabric_route;
  // Per device (same indices as `devices`), filled by finish_platform().
  SharedVector<int> host_of_device;
  SharedVector<int> nic_of_device;
  // All nodes are replicas: device d of node n is n * node_device_count + d, links alike; what
  // belongs to the fabric comes after them.
  int node_device_count = 0;
  int node_link_count = 0;
  std::shared_ptr<const struct NodeRoutes> node_routes;
  std::string fabric_summary;  // "star, one switch"; empty without a fabric
  // Balanced splits that the fabric's own structure suggests: per node its side, 0 or 1.
  std::vector<std::vector<char>> fabric_splits;
};

// The classes of links that connect devices of different nodes: indices into
// Platform::link_classes.
std::vector<int> node_link_classes(const Platform& platform);

// What --platform takes: a preset's name or a JSON file, with another number of nodes where
// ":nodes=576" follows, or a generator such as "star:hosts=64,bandwidth=12.5GB/s,latency=1us".
// InputError for anything wrong.
Platform load_platform(const std::string& text, Scenario scenario = Scenario::kNominal);

// The same from the text of a JSON platform file; `file` is what errors call it.
Platform read_platform(const std::string& json, const std::string& file,
                       Scenario scenario = Scenario::kNominal);

// The generators' names with a line of help each: "star:hosts=N,bandwidth=B,latency=T".
struct GeneratorHelp {
  std::string name;
  std::string usage;
  std::string summary;
};
std::vector<GeneratorHelp> platform_generators();

// The smallest capacity over balanced splits of the nodes that were examined (halves in node order,
// alternating nodes, and the fabric's own structure): an upper bound of the true bisection. One
// direction, bytes/s.
BytesPerSecond bisection_bandwidth(const Platform& platform);

// The tree of one node and a summary of the fabric, as text for a terminal.
std::string describe(const Platform& platform);
// Graphviz "graph { ... }" of the whole platform.
std::string graphviz(const Platform& platform);

}  // namespace forescale
