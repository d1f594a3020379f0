// Star-tree all-reduce: in groups of chain_size ranks (a node's GPUs) all send to the first rank,
// chunk by chunk, from there up one of two binary trees of the groups, and back down.
// With as many parts as a group has ranks, each with another first rank, it moves what a direct
// exchange moves; with a wire factor for what switches add and copy it stands for NCCL's NVLS (one
// group) and NVLSTree.
// Source: NCCL 2.18, src/graph/tuning.cc and src/device/all_reduce.h, as to what is sent where.
// No closed form: how up and down interleave on one port has none.
#include "algorithms/pieces/grouped_tree.hpp"

namespace forescale {
namespace {

OpStream plan_all_reduce_star_tree(CollectiveCall call, int rank) {
  return grouped_tree_all_reduce(GroupKind::kStar, call, rank);
}

std::optional<double> all_reduce_star_tree_s(const CollectiveCall& call, const StepCost&) {
  if (call.rank_count == 1 || call.bytes == 0) return 0;
  return std::nullopt;
}

const bool kAllReduceStarTreeRegistered =
    register_collective({.op = CollectiveOp::kAllReduce,
                         .algorithm = "star-tree",
                         .summary = "stars inside groups, two binary trees between them, pipelined",
                         .source = "NCCL 2.18, NVLS and NVLSTree",
                         .options = {kChunkBytes, kGroupLength, kGroupSizes},
                         .plan = plan_all_reduce_star_tree,
                         .closed_form = all_reduce_star_tree_s,
                         .refuse = refuse_groups,
                         .groups_are_nodes = true});

}  // namespace
}  // namespace forescale
