#include "models/group_shape.hpp"

#include <algorithm>
#include <map>

namespace forescale {

GroupShape shape_of(std::span<const int> slots, std::span<const int> nodes) {
  GroupShape shape{.ranks = static_cast<int>(slots.size())};
  std::map<int, int> ranks_of_node;
  for (const int node : nodes) ++ranks_of_node[node];
  shape.nodes = static_cast<int>(ranks_of_node.size());
  if (slots.empty()) return shape;
  shape.ranks_per_node = ranks_of_node.begin()->second;
  for (const auto& [node, ranks] : ranks_of_node)
    if (ranks != shape.ranks_per_node) shape.ranks_per_node = 0;
  if (slots.size() < 2) return shape;
  shape.stride = slots[1] - slots[0];
  for (size_t i = 2; i < slots.size(); ++i)
    if (slots[i] - slots[i - 1] != shape.stride) shape.stride = 0;
  return shape;
}

}  // namespace forescale
