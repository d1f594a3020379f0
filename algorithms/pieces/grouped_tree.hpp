// All-reduce over groups of neighbouring ranks (GPUs of a node): chunks go up inside each group to
// its first rank, up a binary tree of those, and back down, pipelined in both directions. With more
// than one group two trees carry half of the vector each, so that leaves of one are inner ranks of
// the other.
//
// Chunk k of a message has its turn at round k + lag; the rounds of what it waits for are earlier.
// A rank works round by round, inside one by (tree, direction, lower rank of the edge), an order
// that is the same at both ends of every message: nothing can deadlock.
#pragma once

#include "algorithms/collective.hpp"

namespace forescale {

enum class GroupShape {
  kChain,  // each rank passes on what the next one sent: NCCL's tree
  kStar    // each rank sends to the group's first: what NVSwitches do in one step
};

// Operations of `rank`; groups are call.options.chain_size long.
OpStream grouped_tree_all_reduce(GroupShape shape, const CollectiveCall& call, int rank);

}  // namespace forescale
