// A platform as it comes out of others' files, before what they do not say is filled in: the node
// from one, the fabric from another. complete_platform() makes a platform file of it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "topologies/import/switch_graph.hpp"
#include "topologies/platform.hpp"

namespace forescale {

// What the user says; 0 or empty: not said.
struct PlatformChoices {
  std::string name = {};
  std::string gpu = {};  // names as in a platform file
  std::string cpu = {};
  std::string link = {};    // of an adapter to its switch
  std::string pcie = {};    // of links whose speed no input says
  std::string nvlink = {};  // "nvswitch" or "none"
  int nodes = 0;
  int levels = 0;               // of switches
  double oversubscription = 0;  // of the leaves
  int radix = 0;                // ports of a switch
};

struct DraftDevice {
  std::string name;
  DeviceKind kind = DeviceKind::kGpu;
  int socket = 0;
  std::string source = {};  // "topo.xml:4, busid 0000:18:00.0"
};

struct DraftLink {
  std::string from;
  std::string to;
  std::string link_class = {};  // empty: over PCIe, how fast is not said
  std::string source = {};
};

// NVLinks between a GPU and another one, the NVSwitches or a CPU.
struct DraftNvlinks {
  std::string from;
  std::string to;
  int count = 0;
  std::string source = {};
};

struct DraftNode {
  std::string file;      // that it comes from
  std::string gpu = {};  // of the catalogue; empty: not said
  std::string cpu = {};
  std::vector<DraftDevice> devices = {};
  std::vector<DraftLink> links = {};
  std::vector<DraftNvlinks> nvlinks = {};
  bool says_nvlinks = false;      // and may say that there are none
  std::string adapter_link = {};  // class; empty: not said

  int count(DeviceKind kind) const;
};

struct DraftFabric {
  std::string file;
  int nodes = 0;
  int adapters = 0;       // of a node; 0: not said
  std::string link = {};  // class; empty: not said
  SwitchGraph switches = {};
};

struct PlatformDraft {
  std::optional<DraftNode> node = {};
  std::optional<DraftFabric> fabric = {};
  std::map<std::string, nlohmann::json> link_classes = {};  // that the catalogue lacks
  std::vector<std::string> sources = {};                    // what comes from where
  std::vector<std::string> assumed = {};                    // what no input says

  // InputError naming both files where there is one already.
  void set_node(DraftNode value);
  void set_fabric(DraftFabric value);
};

// The text of a platform file that load_platform() reads. InputError naming the option for what
// neither the draft nor the choices say and nothing can stand in for.
std::string complete_platform(PlatformDraft draft, const PlatformChoices& choices);

}  // namespace forescale
