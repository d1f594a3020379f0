#include "algorithms/pieces/binary_trees.hpp"

#include "algorithms/pieces/plan_pieces.hpp"

namespace forescale {
namespace {

// Member 0 is the root and has one child; another member stands as high as its lowest set bit, its
// children half that bit away on both sides.
TreeNode in_order_node(int member_count, int member) {
  TreeNode node;
  if (member == 0) {
    node.children[1] = member_count > 1 ? highest_child(member_count) : -1;
    return node;
  }
  const int bit = lowest_bit(member);
  const int parent = (member ^ bit) | (bit << 1);
  node.parent = parent < member_count ? parent : member ^ bit;
  if (bit == 1) return node;
  node.children[0] = member - bit / 2;
  for (int step = bit / 2; step > 0 && node.children[1] < 0; step /= 2)
    if (member + step < member_count) node.children[1] = member + step;
  return node;
}

// A member's name in the in-order tree (shift -1), or the member of that name (shift 1).
int renamed(int member_count, int tree, int member, int shift) {
  if (tree == 0 || member < 0) return member;
  if (member_count % 2 == 0) return member_count - 1 - member;
  const int shifted = member + shift;
  return shifted < 0 ? member_count - 1 : shifted == member_count ? 0 : shifted;
}

}  // namespace

TreeNode binary_tree_node(int member_count, int tree, int member) {
  TreeNode node = in_order_node(member_count, renamed(member_count, tree, member, -1));
  node.parent = renamed(member_count, tree, node.parent, 1);
  for (int& child : node.children) child = renamed(member_count, tree, child, 1);
  return node;
}

int binary_tree_depth(int member_count, int tree, int member) {
  int depth = 0;
  while ((member = binary_tree_node(member_count, tree, member).parent) >= 0) ++depth;
  return depth;
}

}  // namespace forescale
