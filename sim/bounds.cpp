#include "sim/bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "algorithms/common_options.hpp"
#include "algorithms/operation.hpp"
#include "base/error.hpp"
#include "topologies/node_routes.hpp"
#include "topologies/placement.hpp"

namespace forescale {
namespace {

// Some of the ranks: how many, whether the root is among them, and the bytes of their blocks.
struct Side {
  double ranks = 0;
  bool has_root = false;
  double block_bytes = 0;
};

// What an operation must move at least, in bytes, out of and into a group.
struct LeastTraffic {
  double out = 0;
  double in = 0;
};

// Of what is summed, a sum over all on one side is enough for the other.
LeastTraffic least_traffic(CollectiveOp op, const CollectiveCall& call, const Side& group) {
  const Operation& what = operation(op);
  const auto bytes = static_cast<double>(call.bytes);
  const double other_blocks = bytes - group.block_bytes;
  LeastTraffic needed{.out = other_blocks, .in = group.block_bytes};  // by those outside, inside
  if (what.after.part == Part::kWhole)
    needed = {.out = what.after.root_only && group.has_root ? 0 : bytes,
              .in = what.after.root_only && !group.has_root ? 0 : bytes};
  if (what.sums) return needed;
  if (what.after.part == Part::kPrevious) return {.out = bytes, .in = bytes};
  if (what.before.root_only)
    return group.has_root ? LeastTraffic{needed.out, 0} : LeastTraffic{0, needed.in};
  if (what.before.part == Part::kOwnBlock)
    return {.out = needed.out > 0 ? group.block_bytes : 0, .in = needed.in > 0 ? other_blocks : 0};
  return {group.ranks * other_blocks, (call.rank_count - group.ranks) * group.block_bytes};
}

// What must cross between `groups` groups altogether, to sum the vector and to have it everywhere;
// of other operations the groups' own floors say more.
double total_traffic(CollectiveOp op, const CollectiveCall& call, double groups) {
  const Operation& what = operation(op);
  const bool is_everywhere = what.after.part == Part::kWhole && !what.after.root_only;
  return ((what.sums ? 1 : 0) + (is_everywhere ? 1 : 0)) * (groups - 1) *
         static_cast<double>(call.bytes);
}

double block_bytes(const CollectiveCall& call, int rank) {
  return static_cast<double>(
      block_range(call.bytes, call.rank_count, rank, call.element_bytes).bytes);
}

// Rounds that a one-port network needs at least: those who know, or have been heard, double.
double rounds_min(CollectiveOp op, const CollectiveCall& call) {
  const Operation& what = operation(op);
  if (what.after.part == Part::kPrevious) return 1;
  int others = call.rank_count - 1;
  // Blocks between the root and the others: who has none takes no part.
  if (what.has_root() && !what.sums &&
      (what.before.part == Part::kOwnBlock || what.after.part == Part::kOwnBlock)) {
    others = 0;
    for (int rank = 0; rank < call.rank_count; ++rank)
      if (rank != call.root && block_bytes(call, rank) > 0) ++others;
  }
  return std::ceil(std::log2(others + 1));
}

// Links side by side: what they carry, and what their shapers let pass beyond that, once.
struct Width {
  double bandwidth = 0;
  double burst = 0;
};
Width& operator+=(Width& sum, const Width& other) {
  sum.bandwidth += other.bandwidth;
  sum.burst += other.burst;
  return sum;
}

struct Cuts {
  std::vector<Width> ranks_out;  // by rank of the call
  std::vector<Width> node_out;   // a node's links to the fabric, that these ranks can take
  std::vector<int> ranks_of_node;
  int root_node = 0;
};

// Sizes at which another rule of the stack begins to hold, none above `bytes`.
std::vector<std::int64_t> rule_sizes(const Stack& stack, std::int64_t bytes) {
  std::vector<std::int64_t> sizes{1};
  for (const PathRule& rule : stack.paths)
    if (rule.up_to_bytes < bytes) sizes.push_back(rule.up_to_bytes + 1);
  return sizes;
}

// Groups that are larger are taken to use all links of their nodes: pairs are looked at one by one.
constexpr std::size_t kLookedAtMax = 128;

// One message of each way in which the stack's rules lead between nodes: past which links it goes
// depends on no more.
std::vector<std::pair<MessageKind, std::int64_t>> ways_out(const Stack& stack, BufferPlace place) {
  std::map<std::tuple<bool, bool, bool>, std::pair<MessageKind, std::int64_t>> ways;
  const std::vector<std::int64_t> sizes =
      rule_sizes(stack, std::numeric_limits<std::int64_t>::max());
  for (size_t protocol = 0; protocol < stack.protocols.size(); ++protocol)
    for (const std::int64_t size : sizes) {
      const MessageKind kind(place, static_cast<int>(protocol));
      const auto rule =
          std::find_if(stack.paths.begin(), stack.paths.end(), [&](const PathRule& each) {
            return size <= each.up_to_bytes && each.is_for("inter-node", kind);
          });
      if (rule != stack.paths.end())
        ways.try_emplace({rule->by_rail, rule->staged, rule->through_nic}, kind, size);
    }
  std::vector<std::pair<MessageKind, std::int64_t>> each_once;
  for (const auto& [way, message] : ways) each_once.push_back(message);
  return each_once;
}

// The platform's capacities that messages between nodes of these ranks cross; nothing where that is
// too much to look at, or all GPUs of their nodes are there and so, as a rule, all links are.
std::optional<std::set<Capacity>> crossed_between_nodes(const Lanes& lanes, BufferPlace place,
                                                        std::span<const int> slots) {
  const Platform& platform = lanes.platform();
  std::map<int, std::size_t> members;
  for (const int slot : slots) ++members[node_of_slot(platform, slot)];
  if (slots.size() > kLookedAtMax || members.size() < 2 ||
      members.size() * platform.node_routes->endpoints.size() == slots.size())
    return std::nullopt;
  std::set<Capacity> crossed;
  PassingLanes passing(lanes);
  for (const auto& [kind, size] : ways_out(lanes.stack(), place))
    for (const int from : slots)
      for (const int to : slots) {
        if (node_of_slot(platform, from) == node_of_slot(platform, to)) continue;
        for (const Resource& resource : passing.lane(from, to, kind, size).resources)
          if (resource.kind == ResourceKind::kLink)
            crossed.insert(static_cast<Capacity>(resource.index));
      }
  return crossed;
}

Cuts find_cuts(const Lanes& lanes, BufferPlace place, std::span<const int> slots, int root) {
  const Platform& platform = lanes.platform();
  const double wire_factor = least_wire_factor(lanes.stack());
  Cuts cuts;
  cuts.node_out.resize(static_cast<size_t>(platform.node_count));
  const std::optional<std::set<Capacity>> crossed = crossed_between_nodes(lanes, place, slots);
  std::vector<Width> by_device(platform.devices.size());
  for (size_t i = 0; i < platform.links.size(); ++i) {
    const Link& link = platform.links[i];
    const auto capacity = static_cast<Capacity>(2 * i);
    const Width width{.bandwidth = platform.bandwidth(capacity).value / wire_factor,
                      .burst = static_cast<double>(platform.burst(capacity).value)};
    by_device[static_cast<size_t>(link.from)] += width;
    by_device[static_cast<size_t>(link.to)] += width;
    const int from_node = platform.devices[static_cast<size_t>(link.from)].node;
    const int to_node = platform.devices[static_cast<size_t>(link.to)].node;
    if (from_node == to_node ||
        (crossed && !crossed->contains(capacity) && !crossed->contains(capacity + 1)))
      continue;
    for (const int node : {from_node, to_node})
      if (node >= 0) cuts.node_out[static_cast<size_t>(node)] += width;
  }
  cuts.ranks_of_node.resize(static_cast<size_t>(platform.node_count));
  for (const int slot : slots) {
    const int device = platform.endpoints[static_cast<size_t>(slot)];
    cuts.ranks_out.push_back(by_device[static_cast<size_t>(device)]);
    ++cuts.ranks_of_node[static_cast<size_t>(platform.devices[static_cast<size_t>(device)].node)];
  }
  cuts.root_node = node_of_slot(platform, slots[static_cast<size_t>(root)]);
  return cuts;
}

void raise(Bound& bound, double bytes, const Width& width, const std::string& what) {
  if (width.bandwidth <= 0) return;
  const double time_s = (bytes - width.burst) / width.bandwidth;
  if (time_s <= bound.time_s) return;
  bound = {time_s, fmt::format("{} {} at {}", to_text(Bytes{static_cast<std::int64_t>(bytes)}),
                               what, to_text(BytesPerSecond{width.bandwidth}))};
}

// One message at least, of the smallest alpha that any rule and any pair with the root has; where
// one port and its latency are all that there is, as many as knowledge needs to double, each but
// the last of which costs its sender no more than the hold. Pairs are looked at until that is below
// the bound.
void raise_latency(Bound& bound, CollectiveOp op, const CollectiveCall& call, const Lanes& lanes,
                   BufferPlace place, std::span<const int> slots) {
  const Stack& stack = lanes.stack();
  const double needed = rounds_min(op, call);
  if (needed < 1) return;
  const bool one_port = stack.latency_holds_ports && stack.channels == 1 &&
                        stack.channels_of == ChannelsOf::kRank && stack.eager_limit.value == 0 &&
                        lanes.platform().uniform_pairs;
  const int root_slot = slots[static_cast<size_t>(call.root)];
  const std::vector<std::int64_t> sizes = rule_sizes(stack, call.bytes);
  double hold_s = std::numeric_limits<double>::infinity();
  double alpha_s = hold_s;
  const auto time_s = [&] { return alpha_s + (one_port ? (needed - 1) * hold_s : 0); };
  PassingLanes passing(lanes);
  for (int rank = 0; rank < call.rank_count; ++rank) {
    if (rank == call.root) continue;
    const int slot = slots[static_cast<size_t>(rank)];
    for (const std::int64_t size : sizes)
      for (const auto& [from, to] : {std::pair(slot, root_slot), std::pair(root_slot, slot)})
        for (size_t protocol = 0; protocol < stack.protocols.size(); ++protocol) {
          const MessageKind kind(place, static_cast<int>(protocol));
          const LaneCost cost = lanes.cost(passing.lane(from, to, kind, size), 1);
          hold_s = std::min(hold_s, cost.hold_s);
          alpha_s = std::min(alpha_s, cost.hold_s + cost.o_recv_s + cost.deliver_s);
        }
    if (time_s() <= bound.time_s) return;
  }
  bound = {time_s(), fmt::format("{:.0f} message latencies of {}", one_port ? needed : 1,
                                 to_text(Seconds{alpha_s}))};
}

// The smallest message that a plan for this call cuts its data into.
std::int64_t least_piece(const CollectiveCall& call) {
  std::int64_t least = std::max<std::int64_t>(1, call.bytes / call.rank_count);
  if (const std::int64_t chunk = call.options.number(kChunkBytes); chunk > 0)
    least = std::min(least, chunk);
  return least;
}

Bound bytes_bound(CollectiveOp op, const CollectiveCall& call, const Lanes& lanes,
                  BufferPlace place, std::span<const int> slots) {
  Bound bound;
  const int ranks = call.rank_count;
  if (least_piece(call) <= lanes.stack().packet_limit.value) return bound;  // they load no link
  const Platform& platform = lanes.platform();
  const Cuts cuts = find_cuts(lanes, place, slots, call.root);
  Width sum;
  std::vector<double> blocks_of_node(cuts.ranks_of_node.size());
  for (int rank = 0; rank < ranks; ++rank) {
    const Width& width = cuts.ranks_out[static_cast<size_t>(rank)];
    const double block = block_bytes(call, rank);
    const LeastTraffic t =
        least_traffic(op, call, {.ranks = 1, .has_root = rank == call.root, .block_bytes = block});
    raise(bound, t.out, width, fmt::format("out of rank {}", slots[static_cast<size_t>(rank)]));
    raise(bound, t.in, width, fmt::format("into rank {}", slots[static_cast<size_t>(rank)]));
    sum += width;
    const int node = node_of_slot(platform, slots[static_cast<size_t>(rank)]);
    blocks_of_node[static_cast<size_t>(node)] += block;
  }
  raise(bound, total_traffic(op, call, ranks), sum, "between all ranks together");
  int nodes = 0;
  Width all_nodes;
  for (size_t node = 0; node < cuts.ranks_of_node.size(); ++node) {
    const int inside = cuts.ranks_of_node[node];
    if (inside == 0) continue;
    ++nodes;
    all_nodes += cuts.node_out[node];
    if (inside == ranks) continue;
    const LeastTraffic t = least_traffic(op, call,
                                         {.ranks = static_cast<double>(inside),
                                          .has_root = static_cast<int>(node) == cuts.root_node,
                                          .block_bytes = blocks_of_node[node]});
    raise(bound, t.out, cuts.node_out[node], fmt::format("out of node {}", node));
    raise(bound, t.in, cuts.node_out[node], fmt::format("into node {}", node));
  }
  if (nodes > 1)
    raise(bound, total_traffic(op, call, nodes), all_nodes, "between all nodes together");
  return bound;
}

}  // namespace

double least_wire_factor(const Stack& stack) {
  double least = 1;
  for (const PathRule& rule : stack.paths) least = std::min(least, rule.wire_factor);
  return least;
}

Bound collective_bound(CollectiveOp op, const CollectiveCall& call, const Lanes& lanes,
                       BufferPlace place, std::span<const int> slots) {
  if (call.rank_count < 2 || call.bytes == 0) return {};
  Bound bound = bytes_bound(op, call, lanes, place, slots);
  raise_latency(bound, op, call, lanes, place, slots);
  return bound;
}

Bound collective_bound(const ResolvedCall& call) {
  return collective_bound(call.collective->op, call.call, *call.lanes, call.place,
                          call.group->slots);
}

Bound message_bound(const std::map<std::pair<int, int>, double>& bytes, const Lanes& lanes) {
  Bound bound;
  // Small messages load no link on some stacks, and sizes are not known here.
  if (bytes.empty() || lanes.stack().packet_limit.value > 0) return bound;
  const Platform& platform = lanes.platform();
  std::vector<int> slots(platform.endpoints.size());
  std::iota(slots.begin(), slots.end(), 0);
  const Cuts cuts = find_cuts(lanes, lanes.default_place(), slots, 0);
  const auto device = [&](int rank) { return platform.endpoints[static_cast<size_t>(rank)]; };
  const auto node = [&](int rank) {
    return platform.devices[static_cast<size_t>(device(rank))].node;
  };
  std::map<int, double> out_of_rank;
  std::map<int, double> into_rank;
  std::map<int, double> out_of_node;
  std::map<int, double> into_node;
  for (const auto& [pair, amount] : bytes) {
    const auto [from, to] = pair;
    if (device(from) != device(to)) {
      out_of_rank[from] += amount;
      into_rank[to] += amount;
    }
    if (node(from) == node(to)) continue;
    out_of_node[node(from)] += amount;
    into_node[node(to)] += amount;
  }
  for (const auto& [rank, amount] : out_of_rank)
    raise(bound, amount, cuts.ranks_out[static_cast<size_t>(rank)],
          fmt::format("out of rank {}", rank));
  for (const auto& [rank, amount] : into_rank)
    raise(bound, amount, cuts.ranks_out[static_cast<size_t>(rank)],
          fmt::format("into rank {}", rank));
  for (const auto& [number, amount] : out_of_node)
    raise(bound, amount, cuts.node_out[static_cast<size_t>(number)],
          fmt::format("out of node {}", number));
  for (const auto& [number, amount] : into_node)
    raise(bound, amount, cuts.node_out[static_cast<size_t>(number)],
          fmt::format("into node {}", number));
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
