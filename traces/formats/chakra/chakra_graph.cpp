#include "traces/formats/chakra/chakra_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>
#include <unordered_map>

#include "base/error.hpp"

namespace forescale {
namespace {

using ChakraKind = ChakraNode::Kind;

// Threads of a program; thread 0 starts the others.
constexpr std::int32_t kLanesMax = (1 << 16) - 2;

// Rows of different lengths: row i is [begin[i], begin[i + 1]).
struct Rows {
  std::vector<std::size_t> begin;
  std::vector<std::int32_t> values;
};

class Ordering {
 public:
  explicit Ordering(ChakraRank& rank) : rank_(rank), count_(rank.nodes.size()) { resolve(); }

  const Rows& needs() const { return needs_; }

  std::vector<std::int32_t> order() {
    find_users();
    std::vector<std::size_t> open(count_);
    const auto comes_later = [&](std::int32_t a, std::int32_t b) {
      const ChakraNode& first = rank_.nodes[as_index(a)];
      const ChakraNode& second = rank_.nodes[as_index(b)];
      return std::pair(first.start_us, first.id) > std::pair(second.start_us, second.id);
    };
    std::priority_queue<std::int32_t, std::vector<std::int32_t>, decltype(comes_later)> ready(
        comes_later);
    for (std::size_t i = 0; i < count_; ++i) {
      open[i] = needs_.begin[i + 1] - needs_.begin[i];
      if (open[i] == 0) ready.push(static_cast<std::int32_t>(i));
    }
    std::vector<std::int32_t> found;
    found.reserve(count_);
    while (!ready.empty()) {
      const std::int32_t node = ready.top();
      ready.pop();
      found.push_back(node);
      for (std::size_t i = users_.begin[as_index(node)]; i < users_.begin[as_index(node) + 1]; ++i)
        if (--open[as_index(users_.values[i])] == 0) ready.push(users_.values[i]);
    }
    if (found.size() < count_) refuse_cycle(open);
    return found;
  }

 private:
  [[noreturn]] void fail(std::uint64_t id, const std::string& value,
                         const std::string& constraint) const {
    throw InputError({.source = rank_.file,
                      .path = fmt::format("node {}", id),
                      .value = value,
                      .constraint = constraint});
  }

  // Numbers of nodes become indices.
  void resolve() {
    std::vector<std::pair<std::uint64_t, std::int32_t>> index_of;
    index_of.reserve(count_);
    for (std::size_t i = 0; i < count_; ++i)
      index_of.emplace_back(rank_.nodes[i].id, static_cast<std::int32_t>(i));
    std::sort(index_of.begin(), index_of.end());
    for (std::size_t i = 1; i < count_; ++i)
      if (index_of[i].first == index_of[i - 1].first) fail(index_of[i].first, "", "is there twice");
    needs_.values.reserve(rank_.needs.size());
    for (std::size_t i = 0; i < count_; ++i)
      for (std::size_t k = rank_.needs_begin[i]; k < rank_.needs_begin[i + 1]; ++k) {
        const std::uint64_t id = rank_.needs[k];
        const auto found = std::lower_bound(index_of.begin(), index_of.end(), std::pair(id, 0));
        if (found == index_of.end() || found->first != id)
          fail(rank_.nodes[i].id, fmt::format("a dependency on node {}", id),
               "names a node that is not in the trace");
        needs_.values.push_back(found->second);
      }
    needs_.begin.assign(rank_.needs_begin.begin(), rank_.needs_begin.end());
    rank_.needs = {};
    rank_.needs_begin = {};
  }

  void find_users() {
    users_.begin.assign(count_ + 1, 0);
    for (const std::int32_t node : needs_.values) ++users_.begin[as_index(node) + 1];
    for (std::size_t i = 0; i < count_; ++i) users_.begin[i + 1] += users_.begin[i];
    users_.values.resize(needs_.values.size());
    std::vector<std::size_t> next(users_.begin.begin(), users_.begin.end() - 1);
    for (std::size_t i = 0; i < count_; ++i)
      for (std::size_t k = needs_.begin[i]; k < needs_.begin[i + 1]; ++k)
        users_.values[next[as_index(needs_.values[k])]++] = static_cast<std::int32_t>(i);
  }

  // Every node that is left has a dependency that is left: following them ends in a cycle.
  [[noreturn]] void refuse_cycle(const std::vector<std::size_t>& open) const {
    std::vector<bool> is_seen(count_);
    std::size_t node = 0;
    while (open[node] == 0) ++node;
    const auto next = [&](std::size_t from) {
      std::size_t k = needs_.begin[from];
      while (open[as_index(needs_.values[k])] == 0) ++k;
      return as_index(needs_.values[k]);
    };
    for (; !is_seen[node]; node = next(node)) is_seen[node] = true;
    std::string cycle = fmt::format("{}", rank_.nodes[node].id);
    std::size_t length = 1;
    for (std::size_t other = next(node); other != node; other = next(other), ++length)
      if (length < 8) cycle += fmt::format(" <- {}", rank_.nodes[other].id);
    fail(rank_.nodes[node].id, cycle + (length > 8 ? " <- ..." : ""),
         fmt::format("is a cycle of {} nodes, each of which waits for another", length));
  }

  ChakraRank& rank_;
  std::size_t count_;
  Rows needs_;
  Rows users_;
};

class Lanes {
 public:
  Lanes(const ChakraRank& rank, const Rows& needs, ChakraGraph& graph)
      : rank_(rank), needs_(needs), graph_(graph) {
    graph_.lane.assign(rank.nodes.size(), -1);
    graph_.is_awaited.assign(rank.nodes.size(), false);
  }

  void assign() {
    position_.resize(rank_.nodes.size());
    graph_.waits_begin.reserve(graph_.order.size() + 1);
    graph_.waits_begin.push_back(0);
    for (std::size_t i = 0; i < graph_.order.size(); ++i) {
      const std::int32_t node = graph_.order[i];
      position_[as_index(node)] = static_cast<std::int32_t>(i);
      place(node);
      if (graph_.lane[as_index(node)] >= 0) find_waits(node);
      graph_.waits_begin.push_back(graph_.waits.size());
    }
  }

 private:
  bool is_nothing(std::int32_t node) const {
    if (rank_.nodes[as_index(node)].kind != ChakraKind::kNothing) return false;
    for (std::size_t k = needs_.begin[as_index(node)]; k < needs_.begin[as_index(node) + 1]; ++k)
      if (graph_.lane[as_index(needs_.values[k])] >= 0) return false;
    return true;
  }

  void place(std::int32_t node) {
    if (is_nothing(node)) return;
    const ChakraNode& what = rank_.nodes[as_index(node)];
    std::int32_t& lane = graph_.lane[as_index(node)];
    if (what.kind == ChakraKind::kCollective) {
      lane = lane_of({true, what.group});
    } else if (what.place >= 0) {
      lane = lane_of({false, what.place});
    } else {
      lane = chain_of(node);
      last_of_chain_[lane] = node;
    }
  }

  std::int32_t new_lane() {
    if (graph_.lane_count == kLanesMax)
      throw InputError({.source = rank_.file,
                        .path = "",
                        .value = "",
                        .constraint = fmt::format("has more than {} nodes that may run at the same "
                                                  "time",
                                                  kLanesMax)});
    return graph_.lane_count++;
  }

  std::int32_t lane_of(std::pair<bool, std::int32_t> key) {
    const auto known = lanes_.find(key);
    return known != lanes_.end() ? known->second : lanes_[key] = new_lane();
  }

  std::int32_t chain_of(std::int32_t node) {
    std::int32_t best = -1;
    for (std::size_t k = needs_.begin[as_index(node)]; k < needs_.begin[as_index(node) + 1]; ++k) {
      const std::int32_t other = needs_.values[k];
      const auto last = last_of_chain_.find(graph_.lane[as_index(other)]);
      if (last == last_of_chain_.end() || last->second != other) continue;
      if (best < 0 || position_[as_index(other)] > position_[as_index(best)]) best = other;
    }
    return best < 0 ? new_lane() : graph_.lane[as_index(best)];
  }

  // Of each other lane the last node that it needs, as those before it are done by then; none that
  // its own lane has waited for.
  void find_waits(std::int32_t node) {
    const std::int32_t lane = graph_.lane[as_index(node)];
    waited_.resize(as_index(graph_.lane_count));
    std::unordered_map<std::int32_t, std::int32_t>& waited = waited_[as_index(lane)];
    last_.clear();
    for (std::size_t k = needs_.begin[as_index(node)]; k < needs_.begin[as_index(node) + 1]; ++k) {
      const std::int32_t other = needs_.values[k];
      const std::int32_t its_lane = graph_.lane[as_index(other)];
      if (its_lane < 0 || its_lane == lane) continue;
      const auto known = waited.find(its_lane);
      if (known != waited.end() && known->second >= position_[as_index(other)]) continue;
      std::int32_t& last = last_.try_emplace(its_lane, other).first->second;
      if (position_[as_index(other)] > position_[as_index(last)]) last = other;
    }
    for (const auto& [its_lane, last] : last_) {
      waited[its_lane] = position_[as_index(last)];
      graph_.waits.push_back(last);
      graph_.is_awaited[as_index(last)] = true;
    }
  }

  const ChakraRank& rank_;
  const Rows& needs_;
  ChakraGraph& graph_;
  std::map<std::pair<bool, std::int32_t>, std::int32_t> lanes_;
  std::unordered_map<std::int32_t, std::int32_t> last_of_chain_;  // by lane
  std::vector<std::int32_t> position_;                            // in the order, by node
  // By lane: of other lanes, up to which position it has waited.
  std::vector<std::unordered_map<std::int32_t, std::int32_t>> waited_;
  std::map<std::int32_t, std::int32_t> last_;  // of one node, by lane
};

}  // namespace

ChakraGraph graph_of(ChakraRank& rank) {
  ChakraGraph graph;
  Ordering ordering(rank);
  graph.order = ordering.order();
  Lanes(rank, ordering.needs(), graph).assign();
  return graph;
}

}  // namespace forescale
