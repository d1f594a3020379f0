// Switches as ibnetdiscover or Slurm list them, and the fat tree that they are.
//
// Level 0 are the switches that nodes hang on, level l those with l switches between. A tree of two
// or three levels becomes XGFT(m_1, ..; w_2, ..) of fabrics/generator_fat_tree.cpp by its totals:
// m_1 = adapters over leaves, w_2 = cables up of a leaf, m_2 = leaves over pods (what hangs
// together below the top), w_3 = cables up of a pod over w_2. Where leaves differ, these are their
// means, rounded up below and down above, and said to be assumed.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace forescale {

struct SwitchGraph {
  std::vector<std::string> names;
  std::vector<std::vector<int>> nodes;  // of each switch: a node for each of its adapters
  std::map<std::pair<int, int>, int> cables = {};  // between switches, the lower number first
  bool counts_cables = true;                       // else each pair has one, however many there are

  int add(const std::string& name);
  void add_cables(int a, int b, int count);
};

struct FatTreeShape {
  std::vector<int> down;
  std::vector<int> up;

  bool is_one_switch() const { return down.size() == 1; }
};

struct FabricFound {
  FatTreeShape tree;
  bool is_by_rail = false;  // adapters of a node hang on different leaves
  std::vector<std::string> assumed = {};
};

// `adapters` of a node where the graph lists nodes, not adapters; 0: it lists adapters.
// `oversubscription` of the leaves where cables are not counted. InputError for `file` when the
// switches are no such tree or do not hang together.
FabricFound tree_of_switches(const SwitchGraph& graph, int adapters, double oversubscription,
                             const std::string& file);

// The tree that so many nodes with so many ports each, levels of switches of `radix` ports, and an
// oversubscription of the leaves ask for: as many whole nodes on a leaf as it holds with its ports
// up. Where a node has more ports than a leaf, leaves are filled port by port.
FatTreeShape tree_of_ports(int nodes, int node_ports, int levels, int radix,
                           double oversubscription);

}  // namespace forescale
