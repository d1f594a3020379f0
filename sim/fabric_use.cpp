#include "sim/fabric_use.hpp"

#include <algorithm>
#include <limits>
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

class Uses {
 public:
  explicit Uses(const ResolvedCall& resolved) : resolved_(resolved), passing_(*resolved.lanes) {
    found_.least_s = std::numeric_limits<double>::infinity();
  }

  // A way of a part of a group's call; its latency, where it leads to another node.
  double add(const SlotGroup& group, const std::vector<int>& part, size_t from, size_t to) {
    const auto slot = [&](size_t role) { return group.slots[static_cast<size_t>(part[role])]; };
    const Platform& platform = resolved_.lanes->platform();
    const auto node = [&](size_t role) {
      const int device = platform.endpoints[static_cast<size_t>(slot(role))];
      return platform.devices[static_cast<size_t>(device)].node;
    };
    if (node(from) == node(to)) return 0;
    const Lane& lane = passing_.lane(slot(from), slot(to), resolved_.kind(), resolved_.call.bytes);
    for (const Resource& resource : lane.resources) {
      if (place_of(platform, resource) == Place::kOfAll) found_.nodes_share_nothing = false;
      if (is_between_switches(platform, resource)) loads_[resource].add(platform, lane);
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
      if (load.at_most(*resolved_.lanes) > resolved_.lanes->bandwidth(link) * (1 + kRounding))
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

  const ResolvedCall& resolved_;
  PassingLanes passing_;
  std::map<Resource, FabricLoad> loads_;
  FabricUse found_;
};

double sum_of(const std::map<Resource, double>& paces, const Lanes& lanes) {
  double sum = 0;
  for (const auto& [link, pace] : paces) sum += std::min(pace, lanes.bandwidth(link));
  return sum;
}

}  // namespace

bool is_between_switches(const Platform& platform, const Resource& resource) {
  return place_of(platform, resource) == Place::kBetweenSwitches;
}

void FabricLoad::add(const Platform& platform, const Lane& lane) {
  std::vector<Resource> at_nodes;
  for (const Resource& resource : lane.resources)
    if (place_of(platform, resource) == Place::kAtNode) at_nodes.push_back(resource);
  by_leaving_[at_nodes.front()] += lane.bandwidth_bytes_per_s;
  by_entering_[at_nodes.back()] += lane.bandwidth_bytes_per_s;
}

double FabricLoad::at_most(const Lanes& lanes) const {
  return std::min(sum_of(by_leaving_, lanes), sum_of(by_entering_, lanes));
}

std::set<int> receivers(const ResolvedCall& resolved, int role) {
  CollectiveCall little = resolved.call;
  little.bytes = little.element_bytes * little.rank_count;
  std::set<int> found;
  OpStream stream = resolved.collective->plan(little, role);
  while (stream.next())
    if (stream.op().kind == OpKind::kSend) found.insert(stream.op().peer);
  return found;
}

FabricUse fabric_use(const ResolvedCall& resolved) {
  Uses uses(resolved);
  const bool is_ring = resolved.collective->algorithm == "ring";
  for (const SharedGroup& group : resolved.all_groups()) {
    const std::vector<std::vector<int>> parts = resolved.parts_of(*group);
    if (!is_ring) {
      for (size_t role = 0; role < parts.front().size(); ++role)
        for (const int to : receivers(resolved, static_cast<int>(role)))
          for (const std::vector<int>& part : parts)
            uses.add(*group, part, role, static_cast<size_t>(to));
      continue;
    }
    for (const std::vector<int>& part : parts) {
      std::vector<double> tour_s;
      for (size_t role = 0; role < part.size(); ++role)
        tour_s.push_back(uses.add(*group, part, role, (role + 1) % part.size()));
      uses.end_tour(tour_s);
    }
  }
  return uses.found();
}

}  // namespace forescale
