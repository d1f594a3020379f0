// How the ranks of a communicator stand on nodes: what a library's choice depends on beside their
// number.
#pragma once

#include <span>

namespace forescale {

struct GroupShape {
  int ranks = 0;
  int nodes = 0;           // 0: not known
  int ranks_per_node = 0;  // 0: not the same on all nodes, or not known
  int stride = 0;          // from each slot to the next one; 0: not the same for all
};

// `nodes[i]` is the node of the i-th member, which has slot `slots[i]`.
GroupShape shape_of(std::span<const int> slots, std::span<const int> nodes);

}  // namespace forescale
