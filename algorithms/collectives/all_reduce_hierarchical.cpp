// Hierarchical all-reduce: a chain reduces each group of k = chain_size ranks to its first one, the
// leaders run a ring all-reduce, chains broadcast inside the groups. Chains are chunked.
// T = chain reduce(k) + ring(ceil(P/k)) + chain broadcast(k). A shorter last group leaves that
// exact while the ring's blocks are equal; otherwise there is no closed form.
#include "algorithms/pieces/call_pieces.hpp"
#include "algorithms/pieces/ring_pieces.hpp"
#include "algorithms/pieces/tree_pieces.hpp"

namespace forescale {
namespace {

struct NodeLayout {
  int group_size = 1;  // of a full group
  int leaders = 1;
};

NodeLayout layout_of(const CollectiveCall& call) {
  const int size = std::min(chain_size(call), call.rank_count);
  return {.group_size = size, .leaders = (call.rank_count + size - 1) / size};
}

Blocks leader_blocks(const CollectiveCall& call) {
  return Blocks({.offset = 0, .bytes = call.bytes}, layout_of(call).leaders, call.element_bytes);
}

OpStream plan_all_reduce_hierarchical(CollectiveCall call, int rank) {
  const NodeLayout layout = layout_of(call);
  const int member = rank % layout.group_size;
  const int first = rank - member;
  const Group inside = {.rank_count = call.rank_count,
                        .root = 0,
                        .first = first,
                        .stride = 1,
                        .count = std::min(layout.group_size, call.rank_count - first)};
  const Group leaders = {.rank_count = call.rank_count,
                         .root = 0,
                         .first = 0,
                         .stride = layout.group_size,
                         .count = layout.leaders};
  const Chunks chunks = chunks_of_call(call);
  OpStream among_leaders;
  if (member == 0)
    among_leaders = ring_all_reduce(leaders, rank / layout.group_size, leader_blocks(call));
  return in_sequence(
      in_sequence(tree_reduce(TreeKind::kChain, inside, member, chunks), std::move(among_leaders)),
      tree_broadcast(TreeKind::kChain, inside, member, chunks));
}

std::optional<double> all_reduce_hierarchical_s(const CollectiveCall& call, const StepCost& cost) {
  const NodeLayout layout = layout_of(call);
  const Blocks blocks = leader_blocks(call);
  const bool short_group = call.rank_count % layout.group_size != 0;
  if (short_group && !blocks.even()) return std::nullopt;
  const Chunks chunks = chunks_of_call(call);
  return tree_reduce_s(TreeKind::kChain, layout.group_size, chunks, cost) +
         ring_reduce_scatter_s(blocks, cost) + ring_allgather_s(blocks, cost) +
         tree_broadcast_s(TreeKind::kChain, layout.group_size, chunks, cost);
}

const bool kAllReduceHierarchicalRegistered = register_collective(
    {.op = CollectiveOp::kAllReduce,
     .algorithm = "hierarchical",
     .summary = "chains inside groups, a ring among their leaders",
     .source = "Horovod (2018), hierarchical all-reduce; S-Caffe section 5 chains",
     .options = {kChunkBytes, kChainSize},
     .plan = plan_all_reduce_hierarchical,
     .closed_form = all_reduce_hierarchical_s});

}  // namespace
}  // namespace forescale
