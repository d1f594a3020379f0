// Chain-tree all-reduce: in groups of chain_size ranks (a node's GPUs) chunks go up a chain to the
// first rank, from there up one of two binary trees of the groups, and back down.
// About 2 (k - 1 + log2(P / k)) steps for one chunk; for many, what the busiest link carries: twice
// the vector inside a group, between groups twice at inner nodes, once where there are two groups.
// Source: NCCL 2.4 and later, its algorithm "Tree" (src/graph/trees.cc, src/graph/connect.cc).
// No closed form: how up and down interleave on one port has none.
#include "algorithms/pieces/grouped_tree.hpp"

namespace forescale {
namespace {

OpStream plan_all_reduce_chain_tree(CollectiveCall call, int rank) {
  return grouped_tree_all_reduce(GroupKind::kChain, call, rank);
}

std::optional<double> all_reduce_chain_tree_s(const CollectiveCall& call, const StepCost&) {
  if (call.rank_count == 1 || call.bytes == 0) return 0;
  return std::nullopt;
}

const bool kAllReduceChainTreeRegistered = register_collective(
    {.op = CollectiveOp::kAllReduce,
     .algorithm = "chain-tree",
     .summary = "chains inside groups, two binary trees between them, pipelined",
     .source = "NCCL 2.4, src/graph/trees.cc and connect.cc",
     .options = {kChunkBytes, kGroupLength, kGroupSizes},
     .plan = plan_all_reduce_chain_tree,
     .closed_form = all_reduce_chain_tree_s,
     .refuse = refuse_groups,
     .groups_are_nodes = true});

}  // namespace
}  // namespace forescale
