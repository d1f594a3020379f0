// Double binary tree all-reduce: two trees, each carrying half of the vector in chunks, reduce up
// and broadcast down at the same time. A rank is an inner node in at most one of the two trees, so
// that both directions of every port stay busy. About 2 b beta + 2 log2(P) steps for small chunks.
// Source: Sanders, Speck & Traeff 2009; the trees are those of NCCL 2.4: an in-order tree and its
// mirror image (even P) or the same one shifted by a rank (odd P).
// No closed form: how up and down interleave on one port has none.
#include <algorithm>
#include <array>
#include <tuple>

#include "algorithms/collective.hpp"
#include "algorithms/pieces/binary_trees.hpp"
#include "algorithms/pieces/call_pieces.hpp"
#include "algorithms/pieces/plan_pieces.hpp"

namespace forescale {
namespace {

// The other child of a rank's parent; -1: none.
int sibling(int rank_count, int tree, int rank) {
  const int parent = binary_tree_node(rank_count, tree, rank).parent;
  if (parent < 0) return -1;
  const std::array<int, 2> children = binary_tree_node(rank_count, tree, parent).children;
  return children[0] == rank ? children[1] : children[0];
}

struct PathEnd {
  int rank = 0;
  int steps = 0;
};

// Siblings in one tree, then in the other one, and so on, until one has none or the path closes.
PathEnd follow_siblings(int rank_count, int tree, int rank) {
  PathEnd end = {.rank = rank, .steps = 0};
  for (int next; (next = sibling(rank_count, tree, end.rank)) >= 0 && next != rank; tree = 1 - tree)
    end = {.rank = next, .steps = end.steps + 1};
  return end;
}

// The colour, 0 or 1, of the edge from a rank to its parent: siblings differ, and so do the two
// edges of a rank, so that neither port has two messages at one turn (Sanders et al., section 3).
// Paths of siblings alternate; the smaller end of a path starts with 0. O(P) steps.
int colour(int rank_count, int tree, int rank) {
  const PathEnd one = follow_siblings(rank_count, 0, rank);
  const PathEnd other = follow_siblings(rank_count, 1, rank);
  const int steps = one.rank < other.rank ? one.steps : other.steps;
  return (steps + tree) % 2;
}

// One edge of a rank in one direction: an operation a chunk. Chunk k of it has its turn at time
// kPeriod * k + offset. The turns of a message are the same at both of its ends and later than the
// turns of all that it waits for; a rank works in the order of turns, so nothing can deadlock.
constexpr int kPeriod =
    4;  // messages a chunk on the busiest port: two children, parent, other tree

constexpr int up_turn(int level) { return kPeriod * level; }        // up takes turns 0 and 1,
constexpr int down_turn(int level) { return kPeriod * level + 2; }  // down 2 and 3: no clash

struct Lane {
  int turn = 0;  // offset % kPeriod
  int lag = 0;   // offset / kPeriod
  int tree = 0;
  bool down = false;
  OpKind kind = OpKind::kSend;
  int peer = -1;
};

struct Lanes {
  std::array<Lane, 12> list;
  int count = 0;
  int lag_max = 0;

  void add(Lane lane, int offset) {
    lane.turn = offset % kPeriod;
    lane.lag = offset / kPeriod;
    lag_max = std::max(lag_max, lane.lag);
    list[static_cast<std::size_t>(count++)] = lane;
  }
};

void add_tree(Lanes& lanes, int rank_count, int tree, int rank) {
  const TreeNode node = binary_tree_node(rank_count, tree, rank);
  const int depth = binary_tree_depth(rank_count, tree, rank);
  const int height = 2 * ceil_log2(rank_count);  // at least the depth of any rank
  if (node.parent >= 0) {
    const int side = colour(rank_count, tree, rank);
    lanes.add({.tree = tree, .down = false, .kind = OpKind::kSend, .peer = node.parent},
              up_turn(height - depth) + side);
    lanes.add({.tree = tree, .down = true, .kind = OpKind::kRecv, .peer = node.parent},
              down_turn(height + depth) + side);
  }
  int side_before = -1;
  for (const int child : node.children) {
    if (child < 0) continue;
    const int side = side_before < 0 ? colour(rank_count, tree, child) : 1 - side_before;
    side_before = side;
    lanes.add({.tree = tree, .down = false, .kind = OpKind::kRecvReduce, .peer = child},
              up_turn(height - depth - 1) + side);
    lanes.add({.tree = tree, .down = true, .kind = OpKind::kSend, .peer = child},
              down_turn(height + depth + 1) + side);
  }
}

Lanes lanes_of(int rank_count, int rank) {
  Lanes lanes;
  for (int tree = 0; tree < 2; ++tree) add_tree(lanes, rank_count, tree, rank);
  std::sort(lanes.list.begin(), lanes.list.begin() + lanes.count, [](const Lane& a, const Lane& b) {
    return std::tuple(a.turn, a.tree, a.down) < std::tuple(b.turn, b.tree, b.down);
  });
  return lanes;
}

// Distances to what an operation depends on, from the positions of the operations before.
class Dependencies {
 public:
  void add_to(Op& op, const Lane& lane, std::int64_t chunk) {
    Positions& up = received_up_[static_cast<std::size_t>(lane.tree)];
    Positions& down = received_down_[static_cast<std::size_t>(lane.tree)];
    Positions& sent_up = sent_up_[static_cast<std::size_t>(lane.tree)];
    const auto slot = static_cast<std::size_t>(chunk % kRemembered);
    if (op.kind == OpKind::kSend) {  // the root turns around what came up
      const std::int64_t source = lane.down && down[slot] > 0 ? down[slot] : up[slot];
      if (source > 0) op.after = distance(source);
      if (!lane.down) sent_up[slot] = position_;
    } else {
      if (lane.down) op.after = op.write_after = distance(sent_up[slot]);
      (lane.down ? down : up)[slot] = position_;
    }
    ++position_;
  }

 private:
  // More than the chunks on their way between a rank's first and last operation on a chunk, which
  // are at most twice the height of the tree.
  static constexpr std::int64_t kRemembered = 128;
  using Positions = std::array<std::int64_t, kRemembered>;

  std::int32_t distance(std::int64_t earlier) const {
    return static_cast<std::int32_t>(std::min<std::int64_t>(position_ - earlier, kLookback));
  }

  std::array<Positions, 2> received_up_{}, received_down_{}, sent_up_{};  // [tree]; 0: never
  std::int64_t position_ = 1;
};

OpStream plan_lanes(Lanes lanes, std::array<Chunks, 2> halves) {
  Dependencies dependencies;
  const std::int64_t rounds = halves[0].count() + lanes.lag_max;
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (int index = 0; index < lanes.count; ++index) {
      const Lane& lane = lanes.list[static_cast<std::size_t>(index)];
      const Chunks& half = halves[static_cast<std::size_t>(lane.tree)];
      const std::int64_t chunk = round - lane.lag;
      if (chunk < 0 || chunk >= half.count()) continue;
      Op op = transfer_op(lane.kind, lane.peer, half.at(chunk), 0, 0);
      dependencies.add_to(op, lane, chunk);
      co_yield op;
    }
  }
}

OpStream plan_all_reduce_double_binary_tree(CollectiveCall call, int rank) {
  if (call.rank_count == 1 || call.bytes == 0) return {};
  const auto half = [&call](int tree) {
    return Chunks(block_range(call.bytes, 2, tree, call.element_bytes),
                  call.options.number(kChunkBytes), call.element_bytes);
  };
  return plan_lanes(lanes_of(call.rank_count, rank), {half(0), half(1)});
}

std::optional<double> all_reduce_double_binary_tree_s(const CollectiveCall& call, const StepCost&) {
  if (call.rank_count == 1 || call.bytes == 0) return 0;
  return std::nullopt;
}

const bool kAllReduceDoubleBinaryTreeRegistered =
    register_collective({.op = CollectiveOp::kAllReduce,
                         .algorithm = "double-binary-tree",
                         .summary = "two complementary trees, pipelined up and down",
                         .source = "Sanders, Speck & Traeff 2009; NCCL 2.4",
                         .options = {kChunkBytes},
                         .plan = plan_all_reduce_double_binary_tree,
                         .closed_form = all_reduce_double_binary_tree_s});

}  // namespace
}  // namespace forescale
