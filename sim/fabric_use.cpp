#include "sim/fabric_use.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <vector>

namespace forescale {
namespace {

enum class Place { kInNode, kAtNode, kBetweenSwitches, kOfAll };

Place place_of(const Platform& platform, const Resource& resource) {
  if (resource.kind == ResourceKind::kFabricCap) return Place::kOfAll;
  if (resource.kind != ResourceKind::kLink) return Place::kInNode;
  const Link& link = platform.links[static_cast<size_t>(resource.index / 2)];
  const auto is_switch = [&](int device) {
    return platform.devices[static_cast<size_t>(device)].kind == DeviceKind::kFabricSwitch;
  };
  const int switches = (is_switch(link.from) ? 1 : 0) + (is_switch(link.to) ? 1 : 0);
  return switches == 0 ? Place::kInNode : switches == 1 ? Place::kAtNode : Place::kBetweenSwitches;
}

// What may cross a link at once, by the links with which the messages leave a node and enter one:
// together they carry no more than those do.
struct Load {
  std::map<Resource, double> by_leaving;
  std::map<Resource, double> by_entering;
};

class Uses {
 public:
  explicit Uses(const ResolvedCall& resolved) : resolved_(resolved), passing_(*resolved.lanes) {
    found_.least_s = std::numeric_limits<double>::infinity();
  }

  // A way of a part; its latency, where it leads to another node.
  double add(const std::vector<int>& part, size_t from, size_t to) {
    const auto slot = [&](size_t role) {
      return resolved_.group->slots[static_cast<size_t>(part[role])];
    };
    const Platform& platform = resolved_.lanes->platform();
    const auto node = [&](size_t role) {
      const int device = platform.endpoints[static_cast<size_t>(slot(role))];
      return platform.devices[static_cast<size_t>(device)].node;
    };
    if (node(from) == node(to)) return 0;
    const Lane& lane = passing_.lane(slot(from), slot(to), resolved_.kind(), resolved_.call.bytes);
    std::vector<Resource> at_nodes;
    for (const Resource& resource : lane.resources) {
      const Place place = place_of(platform, resource);
      if (place == Place::kOfAll) found_.nodes_share_nothing = false;
      if (place == Place::kAtNode) at_nodes.push_back(resource);
    }
    for (const Resource& resource : lane.resources)
      if (place_of(platform, resource) == Place::kBetweenSwitches) {
        Load& load = loads_[resource];
        load.by_leaving[at_nodes.front()] += lane.bandwidth_bytes_per_s;
        load.by_entering[at_nodes.back()] += lane.bandwidth_bytes_per_s;
      }
    found_.least_s = std::min(found_.least_s, lane.route_latency_s);
    found_.most_s = std::max(found_.most_s, lane.route_latency_s);
    return lane.route_latency_s;
  }

  // All ways of a part that is a ring, in order.
  void end_tour(const std::vector<double>& ways_s) {
    const size_t tours = resolved_.collective->op == CollectiveOp::kAllReduce ? 2 : 1;
    Left least;
    for (size_t first = 0; first < ways_s.size(); ++first) {
      Left left;
      for (size_t i = 0; i < tours; ++i) left.add(ways_s[(first + i) % ways_s.size()]);
      if (first == 0 || left.sum_s < least.sum_s) least = left;
    }
    Left all;
    for (const double way_s : ways_s) all.add(way_s);
    const double last_s = static_cast<double>(tours) * all.sum_s - least.sum_s;
    if (last_s <= found_.last_s) return;
    found_.last_s = last_s;
    found_.last_ways = static_cast<double>(tours) * all.ways - least.ways;
  }

  FabricUse found() {
    for (const auto& [link, load] : loads_) {
      constexpr double kRounding = 1e-9;
      if (std::min(at_most(load.by_leaving), at_most(load.by_entering)) >
          resolved_.lanes->bandwidth(link) * (1 + kRounding))
        found_.nodes_share_nothing = false;
    }
    found_.least_s = std::min(found_.least_s, found_.most_s);
    return found_;
  }

 private:
  struct Left {
    double sum_s = 0;
    double ways = 0;  // between nodes

    void add(double way_s) {
      sum_s += way_s;
      ways += way_s > 0 ? 1 : 0;
    }
  };

  double at_most(const std::map<Resource, double>& paces) const {
    double sum = 0;
    for (const auto& [link, pace] : paces) sum += std::min(pace, resolved_.lanes->bandwidth(link));
    return sum;
  }

  const ResolvedCall& resolved_;
  PassingLanes passing_;
  std::map<Resource, Load> loads_;
  FabricUse found_;
};

// Of a rank, few bytes: whom it sends to.
std::set<int> receivers(const ResolvedCall& resolved, int rank) {
  CollectiveCall little = resolved.call;
  little.bytes = little.element_bytes * little.rank_count;
  std::set<int> found;
  OpStream stream = resolved.collective->plan(little, rank);
  while (stream.next())
    if (stream.op().kind == OpKind::kSend) found.insert(stream.op().peer);
  return found;
}

}  // namespace

FabricUse fabric_use(const ResolvedCall& resolved) {
  Uses uses(resolved);
  const bool is_ring = resolved.collective->algorithm == "ring";
  for (const std::vector<int>& part : resolved.parts()) {
    std::vector<double> tour_s;
    for (size_t role = 0; role < part.size(); ++role) {
      if (is_ring) {
        tour_s.push_back(uses.add(part, role, (role + 1) % part.size()));
        continue;
      }
      for (const int to : receivers(resolved, static_cast<int>(role)))
        uses.add(part, role, static_cast<size_t>(to));
    }
    if (is_ring) uses.end_tour(tour_s);
  }
  return uses.found();
}

}  // namespace forescale
