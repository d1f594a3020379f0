#include "topologies/slot_group.hpp"

#include <map>
#include <numeric>

#include "topologies/placement.hpp"

namespace forescale {

SlotGroup group_of(const Platform& platform, std::span<const int> slots) {
  SlotGroup group{.slots = {slots.begin(), slots.end()}, .shape = {}, .members_of_node = {}};
  std::vector<int> nodes;
  std::map<int, size_t> index_of_node;
  for (size_t member = 0; member < slots.size(); ++member) {
    nodes.push_back(node_of_slot(platform, slots[member]));
    const auto [at, is_new] = index_of_node.try_emplace(nodes.back(), index_of_node.size());
    if (is_new) group.members_of_node.emplace_back();
    group.members_of_node[at->second].push_back(static_cast<int>(member));
  }
  group.shape = shape_of(slots, nodes);
  return group;
}

SlotGroup first_slots(const Platform& platform, int count) {
  std::vector<int> slots(static_cast<size_t>(count));
  std::iota(slots.begin(), slots.end(), 0);
  return group_of(platform, slots);
}

}  // namespace forescale
