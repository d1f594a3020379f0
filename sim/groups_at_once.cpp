#include "sim/groups_at_once.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "algorithms/operation.hpp"
#include "sim/fabric_use.hpp"

namespace forescale {
namespace {

constexpr double kTooNarrow = 1 + 1e-9;

// What could cross a link or a cap at once, and of which groups.
struct Crossing {
  double bytes_per_s = 0;
  FabricLoad fabric = {};      // where the link is between switches
  std::vector<size_t> groups;  // each once
};

class Crossings {
 public:
  explicit Crossings(const ResolvedCall& resolved)
      : resolved_(resolved), passing_(*resolved.lanes) {
    for (int role = 0; role < resolved.group->shape.ranks; ++role)
      receivers_.push_back(receivers(resolved, role));
  }

  void add(size_t number, const SlotGroup& group) {
    for (const std::vector<int>& part : resolved_.parts_of(group))
      for (size_t role = 0; role < part.size(); ++role)
        for (const int to : receivers_[role]) {
          const Lane& lane =
              passing_.lane(slot(group, part, role), slot(group, part, static_cast<size_t>(to)),
                            resolved_.kind(), resolved_.call.bytes);
          for (const Resource& resource : lane.resources)
            if (is_between_switches(platform(), resource))
              crossed(number, resource).fabric.add(platform(), lane);
            else
              crossed(number, resource).bytes_per_s += lane.bandwidth_bytes_per_s;
        }
    if (!operation(resolved_.collective->op).sums ||
        resolved_.lanes->reduction(resolved_.place).place != ReductionPlace::kCpu)
      return;
    for (const int each : group.slots)
      for (const Resource& resource : resolved_.lanes->reduction_resources(each))
        crossed(number, resource).bytes_per_s += resolved_.lanes->bandwidth(resource);
  }

  // That several groups cross, and too narrow for them.
  std::vector<std::vector<size_t>> meetings() const {
    std::vector<std::vector<size_t>> found;
    for (const auto& [resource, crossing] : by_resource_)
      if (crossing.groups.size() > 1 &&
          crossing.bytes_per_s + crossing.fabric.at_most(*resolved_.lanes) >
              resolved_.lanes->bandwidth(resource) * kTooNarrow)
        found.push_back(crossing.groups);
    return found;
  }

 private:
  static int slot(const SlotGroup& group, const std::vector<int>& part, size_t role) {
    return group.slots[static_cast<size_t>(part[role])];
  }

  const Platform& platform() const { return resolved_.lanes->platform(); }

  Crossing& crossed(size_t number, const Resource& resource) {
    Crossing& crossing = by_resource_[resource];
    if (crossing.groups.empty() || crossing.groups.back() != number)
      crossing.groups.push_back(number);
    return crossing;
  }

  const ResolvedCall& resolved_;
  PassingLanes passing_;
  std::vector<std::set<int>> receivers_;  // by role
  std::map<Resource, Crossing> by_resource_;
};

}  // namespace

std::vector<SharedGroup> groups_in_the_way(const ResolvedCall& resolved,
                                           const std::vector<SharedGroup>& others) {
  if (others.empty()) return {};
  Crossings crossings(resolved);
  crossings.add(0, *resolved.group);
  for (size_t i = 0; i < others.size(); ++i) crossings.add(i + 1, *others[i]);
  const std::vector<std::vector<size_t>> meetings = crossings.meetings();
  std::vector<char> is_in_the_way(others.size() + 1, 0);
  is_in_the_way.front() = 1;
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (const std::vector<size_t>& groups : meetings) {
      const auto in_the_way = [&](size_t group) { return is_in_the_way[group] != 0; };
      if (std::none_of(groups.begin(), groups.end(), in_the_way) ||
          std::all_of(groups.begin(), groups.end(), in_the_way))
        continue;
      for (const size_t group : groups) is_in_the_way[group] = 1;
      has_grown = true;
    }
  }
  std::vector<SharedGroup> found;
  for (size_t i = 0; i < others.size(); ++i)
    if (is_in_the_way[i + 1] != 0) found.push_back(others[i]);
  return found;
}

}  // namespace forescale
