#include "topologies/import/switch_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/error.hpp"

namespace forescale {
namespace {

int ceiling(int a, int b) { return (a + b - 1) / b; }

// The level of each switch; -1: no node is reached from it.
std::vector<int> levels_of(const SwitchGraph& graph) {
  std::vector<int> level(graph.names.size(), -1);
  for (size_t i = 0; i < level.size(); ++i)
    if (!graph.nodes[i].empty()) level[i] = 0;
  for (int reached = 0; reached <= static_cast<int>(level.size()); ++reached)
    for (const auto& [ends, count] : graph.cables)
      for (const auto& [from, to] : {ends, std::pair(ends.second, ends.first)})
        if (level[static_cast<size_t>(from)] == reached && level[static_cast<size_t>(to)] < 0)
          level[static_cast<size_t>(to)] = reached + 1;
  return level;
}

// Sets of switches below level `top` that hang together.
int pods_of(const SwitchGraph& graph, const std::vector<int>& level, int top) {
  std::vector<int> pod(level.size());
  std::iota(pod.begin(), pod.end(), 0);
  const auto root = [&](int i) {
    while (pod[static_cast<size_t>(i)] != i) i = pod[static_cast<size_t>(i)];
    return i;
  };
  for (const auto& [ends, count] : graph.cables)
    if (level[static_cast<size_t>(ends.first)] < top &&
        level[static_cast<size_t>(ends.second)] < top)
      pod[static_cast<size_t>(root(ends.first))] = root(ends.second);
  std::set<int> roots;
  for (size_t i = 0; i < level.size(); ++i)
    if (level[i] >= 0 && level[i] < top) roots.insert(root(static_cast<int>(i)));
  return static_cast<int>(roots.size());
}

// Cables from level to level + 1, of each switch of `level`.
std::vector<int> cables_up(const SwitchGraph& graph, const std::vector<int>& level, int from) {
  std::map<int, int> up;
  for (size_t i = 0; i < level.size(); ++i)
    if (level[i] == from) up[static_cast<int>(i)] = 0;
  for (const auto& [ends, count] : graph.cables) {
    if (level[static_cast<size_t>(ends.first)] + 1 == level[static_cast<size_t>(ends.second)] &&
        up.contains(ends.first))
      up[ends.first] += count;
    if (level[static_cast<size_t>(ends.second)] + 1 == level[static_cast<size_t>(ends.first)] &&
        up.contains(ends.second))
      up[ends.second] += count;
  }
  std::vector<int> counts;
  for (const auto& [number, count] : up) counts.push_back(count);
  return counts;
}

int sum(const std::vector<int>& values) { return std::accumulate(values.begin(), values.end(), 0); }

void check_levels(const SwitchGraph& graph, const std::vector<int>& level,
                  const std::string& file) {
  for (size_t i = 0; i < level.size(); ++i)
    if (level[i] > 2)
      refuse(file, graph.names[i],
             "must be at most two switches above the leaves: write deeper trees by hand");
  for (const auto& [ends, count] : graph.cables) {
    const int a = level[static_cast<size_t>(ends.first)];
    const int b = level[static_cast<size_t>(ends.second)];
    if (a >= 0 && a == b)
      refuse(file,
             graph.names[static_cast<size_t>(ends.first)] + " - " +
                 graph.names[static_cast<size_t>(ends.second)],
             "joins two switches of one level, so the fabric is no tree: say which it is (a "
             "dragonfly, a torus or an explicit fabric) in the file");
  }
}

// Adapters of a node on more than one leaf.
bool hangs_by_rail(const SwitchGraph& graph) {
  std::map<int, std::set<size_t>> leaves;
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    for (const int node : graph.nodes[i]) leaves[node].insert(i);
  return std::any_of(leaves.begin(), leaves.end(),
                     [](const auto& node) { return node.second.size() > 1; });
}

// What leaves differ in.
void note_spread(std::vector<int> counts, const char* what, std::vector<std::string>& assumed) {
  const auto [low, high] = std::minmax_element(counts.begin(), counts.end());
  if (*low != *high)
    assumed.push_back(fmt::format("{} {} to {} a switch, taken alike", what, *low, *high));
}

}  // namespace

int SwitchGraph::add(const std::string& name) {
  names.push_back(name);
  nodes.emplace_back();
  return static_cast<int>(names.size()) - 1;
}

void SwitchGraph::add_cables(int a, int b, int count) { cables[std::minmax(a, b)] += count; }

FabricFound tree_of_switches(const SwitchGraph& graph, int adapters, double oversubscription,
                             const std::string& file) {
  FabricFound found{.tree = {}, .is_by_rail = adapters == 0 && hangs_by_rail(graph)};
  const std::vector<int> level = levels_of(graph);
  check_levels(graph, level, file);
  std::vector<int> on_leaves;
  for (const std::vector<int>& nodes : graph.nodes)
    if (!nodes.empty()) on_leaves.push_back(static_cast<int>(nodes.size()) * std::max(adapters, 1));
  const int leaves = static_cast<int>(on_leaves.size());
  if (leaves == 0) refuse(file, "", "has no switch with a node on it");
  note_spread(on_leaves, "adapters on leaves:", found.assumed);
  const int below = ceiling(sum(on_leaves), leaves);
  const int top = *std::max_element(level.begin(), level.end());
  if (leaves == 1 || top == 0) {
    if (leaves > 1)
      refuse(file, "", fmt::format("has {} leaf switches that nothing joins", leaves));
    found.tree.down = {below};
    return found;
  }
  if (pods_of(graph, level, top + 1) > 1)
    refuse(file, "", "has switches that do not hang together");
  const std::vector<int> leaf_up = cables_up(graph, level, 0);
  note_spread(leaf_up, "cables up of leaves:", found.assumed);
  const int up = graph.counts_cables
                     ? std::max(1, sum(leaf_up) / leaves)
                     : std::max(1, static_cast<int>(std::ceil(below / oversubscription)));
  const int pods = top == 1 ? 1 : pods_of(graph, level, top);
  found.tree.down = {below, ceiling(leaves, pods)};
  found.tree.up = {up};
  if (top == 1) return found;
  if (leaves % pods != 0)
    found.assumed.push_back(fmt::format("{} leaves of {} pods, taken alike", leaves, pods));
  const int pod_up = sum(cables_up(graph, level, 1)) / pods;
  found.tree.down.push_back(pods);
  found.tree.up.push_back(graph.counts_cables ? std::max(1, pod_up / up) : ceiling(leaves, pods));
  return found;
}

FatTreeShape tree_of_ports(int nodes, int node_ports, int levels, int radix,
                           double oversubscription) {
  const int ports = nodes * node_ports;
  if (levels == 1) return {.down = {ports}, .up = {}};
  const auto up = [&](int below) {
    return std::max(1, static_cast<int>(std::ceil(below / oversubscription)));
  };
  const auto most = [&](int step) {
    int below = 0;
    while (below < ports && below + step + up(below + step) <= radix) below += step;
    return below;
  };
  int below = most(node_ports);
  if (below == 0) below = std::max(1, most(1));
  const int leaves = ceiling(ports, below);
  if (levels == 2) return {.down = {below, leaves}, .up = {up(below)}};
  const int pod = std::min(radix / 2, leaves);
  return {.down = {below, pod, ceiling(leaves, pod)}, .up = {up(below), pod}};
}

}  // namespace forescale
