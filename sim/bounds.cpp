#include "sim/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "models/error.hpp"

namespace forescale {
namespace {

// What an operation must move at least, in bytes: out of and into one group of `inside` ranks of
// `call.rank_count`, and altogether between `groups` equal groups.
struct Traffic {
  double out = 0;
  double in = 0;
  double total = 0;
};

Traffic traffic(CollectiveOp op, const CollectiveCall& call, double inside, bool has_root,
                double groups) {
  const auto bytes = static_cast<double>(call.bytes);
  const auto ranks = static_cast<double>(call.rank_count);
  const double outside = ranks - inside;
  switch (op) {
    case CollectiveOp::kReduce:
      return {has_root ? 0 : bytes, has_root ? bytes : 0, (groups - 1) * bytes};
    case CollectiveOp::kBroadcast:
      return {has_root ? bytes : 0, has_root ? 0 : bytes, (groups - 1) * bytes};
    case CollectiveOp::kAllReduce:
      return {bytes, bytes, 2 * (groups - 1) * bytes};
    case CollectiveOp::kReduceScatter:
      return {bytes * outside / ranks, bytes * inside / ranks, (groups - 1) * bytes};
    case CollectiveOp::kAllGather:
      return {bytes * inside / ranks, bytes * outside / ranks, (groups - 1) * bytes};
    case CollectiveOp::kGather:
      return {has_root ? 0 : bytes * inside / ranks, has_root ? bytes * outside / ranks : 0, 0};
    case CollectiveOp::kScatter:
      return {has_root ? bytes * outside / ranks : 0, has_root ? 0 : bytes * inside / ranks, 0};
    case CollectiveOp::kAllToAll:
      return {bytes * inside * outside / ranks, bytes * inside * outside / ranks, 0};
  }
  return {};
}

struct Cuts {
  std::vector<double> ranks_out;  // by slot
  double node_out = 0;            // one node's links to the fabric
  std::vector<int> ranks_of_node;
  int root_node = 0;
};

Cuts find_cuts(const Platform& platform, int rank_count, int root) {
  Cuts cuts;
  std::map<int, double> by_device;
  for (size_t i = 0; i < platform.links.size(); ++i) {
    const Link& link = platform.links[i];
    const double bandwidth = platform.bandwidth(static_cast<Capacity>(2 * i)).value;
    by_device[link.from] += bandwidth;
    by_device[link.to] += bandwidth;
    const int from_node = platform.devices[static_cast<size_t>(link.from)].node;
    const int to_node = platform.devices[static_cast<size_t>(link.to)].node;
    if ((from_node == 0) != (to_node == 0)) cuts.node_out += bandwidth;
  }
  cuts.ranks_of_node.resize(static_cast<size_t>(platform.node_count));
  for (int rank = 0; rank < rank_count; ++rank) {
    const int device = platform.endpoints[static_cast<size_t>(rank)];
    cuts.ranks_out.push_back(by_device[device]);
    ++cuts.ranks_of_node[static_cast<size_t>(platform.devices[static_cast<size_t>(device)].node)];
  }
  cuts.root_node =
      platform.devices[static_cast<size_t>(platform.endpoints[static_cast<size_t>(root)])].node;
  return cuts;
}

void raise(Bound& bound, double bytes, double bandwidth, const std::string& what) {
  if (bandwidth <= 0 || bytes / bandwidth <= bound.time_s) return;
  bound = {bytes / bandwidth,
           fmt::format("{} {} at {}", to_text(Bytes{static_cast<std::int64_t>(bytes)}), what,
                       to_text(BytesPerSecond{bandwidth}))};
}

}  // namespace

Bound collective_bound(CollectiveOp op, const CollectiveCall& call, const Lanes& lanes,
                       BufferPlace place) {
  Bound bound;
  const int ranks = call.rank_count;
  if (ranks < 2 || call.bytes == 0) return bound;
  const Platform& platform = lanes.platform();
  const Cuts cuts = find_cuts(platform, ranks, call.root);
  double sum = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const double bandwidth = cuts.ranks_out[static_cast<size_t>(rank)];
    const Traffic t = traffic(op, call, 1, rank == call.root, ranks);
    raise(bound, t.out, bandwidth, fmt::format("out of rank {}", rank));
    raise(bound, t.in, bandwidth, fmt::format("into rank {}", rank));
    sum += bandwidth;
  }
  raise(bound, traffic(op, call, 1, false, ranks).total, sum, "between all ranks together");
  int nodes = 0;
  for (size_t node = 0; node < cuts.ranks_of_node.size(); ++node) {
    const int inside = cuts.ranks_of_node[node];
    if (inside == 0) continue;
    ++nodes;
    if (inside == ranks) continue;
    const Traffic t = traffic(op, call, inside, static_cast<int>(node) == cuts.root_node, 1);
    raise(bound, t.out, cuts.node_out, fmt::format("out of node {}", node));
    raise(bound, t.in, cuts.node_out, fmt::format("into node {}", node));
  }
  if (nodes > 1)
    raise(bound, traffic(op, call, 1, false, nodes).total, nodes * cuts.node_out,
          "between all nodes together");
  // One message at least, of the smallest alpha that any pair of neighbours has.
  const Stack& stack = lanes.stack();
  double alpha_s = std::numeric_limits<double>::infinity();
  for (int rank = 0; rank < ranks; ++rank) {
    if (rank == call.root) continue;
    const LaneCost cost = lanes.cost(lanes.lane(rank, call.root, place, 1), 1);
    alpha_s = std::min(alpha_s, cost.hold_s + cost.o_recv_s + cost.deliver_s);
  }
  const bool one_port = stack.latency_holds_ports && stack.channels == 1 &&
                        stack.eager_limit.value == 0 && platform.uniform_pairs;
  const double rounds = one_port ? std::ceil(std::log2(ranks)) : 1;
  if (rounds * alpha_s > bound.time_s)
    bound = {rounds * alpha_s,
             fmt::format("{:.0f} message latencies of {}", rounds, to_text(Seconds{alpha_s}))};
  return bound;
}

void enforce(const Bound& bound, double time_s, const std::string& what) {
  constexpr double kRounding = 1e-9;
  if (time_s >= bound.time_s * (1 - kRounding)) return;
  throw CheckFailed(fmt::format("{}: {} is below its physical bound {} ({})", what,
                                to_text(Seconds{time_s}), to_text(Seconds{bound.time_s}),
                                bound.reason));
}

}  // namespace forescale
