#include "algorithms/pieces/grouped_tree.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <vector>

#include "algorithms/pieces/binary_trees.hpp"
#include "algorithms/pieces/call_pieces.hpp"
#include "algorithms/pieces/plan_pieces.hpp"

namespace forescale {
namespace {

// Rounds between a rank and its parent: with one a rank would wait in each round for what takes a
// message's latency to come down again.
constexpr int kRoundsPerEdge = 2;

// The ranks of a call as two trees. Groups are of one size, a shorter last one allowed, or of
// those that are listed.
class GroupedTree {
 public:
  GroupedTree(GroupKind shape, int rank_count, int group_size)
      : shape_(shape), rank_count_(rank_count), group_size_(std::min(group_size, rank_count)) {}
  GroupedTree(GroupKind shape, const std::vector<int>& group_sizes)
      : shape_(shape), group_size_(*std::max_element(group_sizes.begin(), group_sizes.end())) {
    for (const int size : group_sizes) {
      firsts_.push_back(rank_count_);
      rank_count_ += size;
    }
  }

  int groups() const {
    return firsts_.empty() ? (rank_count_ + group_size_ - 1) / group_size_
                           : static_cast<int>(firsts_.size());
  }
  int height() const {
    return 2 * ceil_log2(groups()) + (shape_ == GroupKind::kChain ? group_size_ : 1);
  }

  int parent(int tree, int rank) const {
    if (place(rank) > 0) return shape_ == GroupKind::kChain ? rank - 1 : rank - place(rank);
    const int group = binary_tree_node(groups(), tree, group_of(rank)).parent;
    return group < 0 ? -1 : first_of(group);
  }

  std::vector<int> children(int tree, int rank) const {
    std::vector<int> found;
    const int end = first_of(group_of(rank) + 1);
    const bool is_first = place(rank) == 0;
    if (shape_ == GroupKind::kChain ? rank + 1 < end : is_first)
      for (int child = rank + 1; child < (shape_ == GroupKind::kChain ? rank + 2 : end); ++child)
        found.push_back(child);
    if (is_first)
      for (const int group : binary_tree_node(groups(), tree, group_of(rank)).children)
        if (group >= 0) found.push_back(first_of(group));
    return found;
  }

  int depth(int tree, int rank) const {
    const int inside = shape_ == GroupKind::kChain ? place(rank) : std::min(place(rank), 1);
    return binary_tree_depth(groups(), tree, group_of(rank)) + inside;
  }

 private:
  int group_of(int rank) const {
    if (firsts_.empty()) return rank / group_size_;
    const auto behind = std::upper_bound(firsts_.begin(), firsts_.end(), rank);
    return static_cast<int>(behind - firsts_.begin()) - 1;
  }
  // Of the group behind the last one: the number of ranks.
  int first_of(int group) const {
    if (firsts_.empty()) return std::min(rank_count_, group * group_size_);
    return group < groups() ? firsts_[static_cast<std::size_t>(group)] : rank_count_;
  }
  int place(int rank) const { return rank - first_of(group_of(rank)); }

  GroupKind shape_;
  int rank_count_ = 0;
  int group_size_;
  std::vector<int> firsts_;  // of groups of different sizes; empty: all are group_size_ long
};

GroupedTree tree_of(GroupKind shape, const CollectiveCall& call) {
  const std::string sizes = call.options.text(kGroupSizes);
  if (sizes.empty()) return {shape, call.rank_count, chain_size(call)};
  return {shape, parse_group_sizes(sizes, "--group-sizes")};
}

// What a rank does on one edge in one direction: an operation a chunk.
struct TreeLane {
  int lag = 0;
  int tree = 0;
  bool down = false;
  int child = 0;  // the edge's lower end
  OpKind kind = OpKind::kSend;
  int peer = -1;
};

std::vector<TreeLane> lanes_of(const GroupedTree& ranks, int rank) {
  std::vector<TreeLane> lanes;
  const int trees = ranks.groups() > 1 ? 2 : 1;
  for (int tree = 0; tree < trees; ++tree) {
    const auto up_lag = [&](int depth) { return kRoundsPerEdge * (ranks.height() - depth); };
    const auto down_lag = [&](int depth) { return kRoundsPerEdge * (ranks.height() + depth); };
    const auto add = [&](bool down, int child, int depth, OpKind kind, int peer) {
      lanes.push_back({.lag = down ? down_lag(depth) : up_lag(depth),
                       .tree = tree,
                       .down = down,
                       .child = child,
                       .kind = kind,
                       .peer = peer});
    };
    const int depth = ranks.depth(tree, rank);
    if (const int parent = ranks.parent(tree, rank); parent >= 0) {
      add(false, rank, depth, OpKind::kSend, parent);
      add(true, rank, depth, OpKind::kRecv, parent);
    }
    for (const int child : ranks.children(tree, rank)) {
      add(false, child, depth + 1, OpKind::kRecvReduce, child);
      add(true, child, depth + 1, OpKind::kSend, child);
    }
  }
  std::sort(lanes.begin(), lanes.end(), [](const TreeLane& a, const TreeLane& b) {
    return std::tuple(a.tree, a.down, a.child) < std::tuple(b.tree, b.down, b.child);
  });
  return lanes;
}

// Where in the stream a rank worked on the chunks that are on their way; positions from 1.
class Places {
 public:
  explicit Places(int chunks_kept) : kept_(chunks_kept) {
    for (std::vector<std::int64_t>& each : places_) each.resize(static_cast<std::size_t>(kept_));
  }

  // Fills in the waits of an operation that comes next, and remembers it.
  void add_to(Op& op, const TreeLane& lane, std::int64_t chunk) {
    std::int64_t& up = at(kUp, lane.tree, chunk);
    std::int64_t& down = at(kDown, lane.tree, chunk);
    std::int64_t& sent = at(kSent, lane.tree, chunk);
    const auto upward = static_cast<std::uint8_t>(1 + 2 * lane.tree);
    const auto downward = static_cast<std::uint8_t>(upward + 1);
    op.queue = lane.down ? downward : upward;
    op.awaits = upward;
    if (op.kind == OpKind::kSend) {
      const bool turns_round = lane.down && down == 0;  // the root, what came up
      op.after = distance(lane.down && !turns_round ? down : up);
      if (lane.down && !turns_round) op.awaits = downward;
      if (!lane.down) sent = position_;
    } else if (lane.down) {
      op.after = op.write_after = distance(sent);
      down = position_;
    } else {
      up = position_;
    }
    ++position_;
  }
  // Chunk `chunk` begins: its place held another one.
  void forget(std::int64_t chunk) {
    for (const int tree : {0, 1})
      for (const Kind kind : {kUp, kDown, kSent}) at(kind, tree, chunk) = 0;
  }

 private:
  enum Kind { kUp, kDown, kSent };  // received from below, from above; sent up

  std::int64_t& at(Kind kind, int tree, std::int64_t chunk) {
    return places_[3 * static_cast<std::size_t>(tree) + kind]
                  [static_cast<std::size_t>(chunk % kept_)];
  }
  std::int32_t distance(std::int64_t place) const {
    return place == 0 ? 0 : static_cast<std::int32_t>(position_ - place);
  }

  int kept_;
  std::array<std::vector<std::int64_t>, 6> places_;
  std::int64_t position_ = 1;
};

OpStream plan_lanes(std::vector<TreeLane> lanes, std::array<Chunks, 2> halves) {
  int lag_min = lanes.front().lag;
  int lag_max = lag_min;
  for (const TreeLane& lane : lanes) {
    lag_min = std::min(lag_min, lane.lag);
    lag_max = std::max(lag_max, lane.lag);
  }
  Places places(lag_max - lag_min + 1);
  const std::int64_t rounds = std::max(halves[0].count(), halves[1].count()) + lag_max;
  for (std::int64_t round = lag_min; round < rounds; ++round) {
    places.forget(round - lag_min);
    for (const TreeLane& lane : lanes) {
      const Chunks& half = halves[static_cast<std::size_t>(lane.tree)];
      const std::int64_t chunk = round - lane.lag;
      if (chunk < 0 || chunk >= half.count()) continue;
      Op op = transfer_op(lane.kind, lane.peer, half.at(chunk), 0, 0);
      places.add_to(op, lane, chunk);
      co_yield op;
    }
  }
}

}  // namespace

std::string refuse_groups(const CollectiveCall& call) {
  const std::string sizes = call.options.text(kGroupSizes);
  if (sizes.empty()) return "";
  const std::vector<int> groups = parse_group_sizes(sizes, "--group-sizes");
  if (std::accumulate(groups.begin(), groups.end(), 0) == call.rank_count) return "";
  return "needs --group-sizes that add up to the ranks";
}

OpStream grouped_tree_all_reduce(GroupKind shape, const CollectiveCall& call, int rank) {
  if (call.rank_count == 1 || call.bytes == 0) return {};
  const GroupedTree ranks = tree_of(shape, call);
  const int trees = ranks.groups() > 1 ? 2 : 1;
  const auto chunks = [&](int tree) {
    const ByteRange part = tree < trees ? block_range(call.bytes, trees, tree, call.element_bytes)
                                        : ByteRange{call.bytes, 0};
    return Chunks(part, call.options.number(kChunkBytes), call.element_bytes);
  };
  return plan_lanes(lanes_of(ranks, rank), {chunks(0), chunks(1)});
}

}  // namespace forescale
