// The slots of the ranks that call a collective together, in the order of its members.
#pragma once

#include <span>
#include <vector>

#include "models/group_shape.hpp"
#include "topologies/platform.hpp"

namespace forescale {

struct SlotGroup {
  std::vector<int> slots;  // by member
  GroupShape shape;
  // Members by node, nodes in the order of their first member.
  std::vector<std::vector<int>> members_of_node;
};

SlotGroup group_of(const Platform& platform, std::span<const int> slots);
// Of slots 0 to `count` - 1.
SlotGroup first_slots(const Platform& platform, int count);

}  // namespace forescale
