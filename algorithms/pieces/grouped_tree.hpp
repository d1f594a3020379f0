// All-reduce over groups of neighbouring ranks (GPUs of a node): chunks go up inside each group to
// its first rank, up a binary tree of those, and back down, pipelined in both directions. With more
// than one group two trees carry half of the vector each, so that leaves of one are inner ranks of
// the other.
//
// Chunk k of a message has its turn at round k + lag; the rounds of what it waits for are earlier.
// A rank works round by round, inside one by (tree, direction, lower rank of the edge), an order
// that is the same at both ends of every message: nothing can deadlock.
#pragma once

#include <string>

#include "algorithms/collective.hpp"
#include "algorithms/common_options.hpp"

namespace forescale {

enum class GroupKind {
  kChain,  // each rank passes on what the next one sent: NCCL's tree
  kStar    // each rank sends to the group's first: what NVSwitches do in one step
};

// kChainSize of these: group_sizes stand for it.
inline const Option kGroupLength = [] {
  Option option = kChainSize;
  option.replaced_by = kGroupSizes.name;
  return option;
}();

// Operations of `rank`; groups are as long as the option chain_size says, or as group_sizes lists.
OpStream grouped_tree_all_reduce(GroupKind shape, const CollectiveCall& call, int rank);

// Sizes of groups that do not add up to the ranks.
std::string refuse_groups(const CollectiveCall& call);

}  // namespace forescale
