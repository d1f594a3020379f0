// Two binary trees over the same members, so that a member is an inner node in at most one of them:
// an in-order tree and its mirror image (even counts) or the same one shifted by a member (odd
// counts). Sanders, Speck & Traeff 2009; the trees are those of NCCL 2.4.
#pragma once

#include <array>

namespace forescale {

struct TreeNode {
  int parent = -1;  // -1: the root
  std::array<int, 2> children = {-1, -1};
};

// Of `member` among 0 .. member_count - 1 in tree 0 or 1.
TreeNode binary_tree_node(int member_count, int tree, int member);
// Edges between a member and the root.
int binary_tree_depth(int member_count, int tree, int member);

}  // namespace forescale
