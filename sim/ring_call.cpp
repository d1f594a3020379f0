#include "sim/ring_call.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace forescale {

bool is_ring(const Collective& collective) {
  return collective.algorithm == "ring" &&
         (collective.op == CollectiveOp::kAllReduce || collective.op == CollectiveOp::kAllGather ||
          collective.op == CollectiveOp::kReduceScatter);
}

int ring_passes(CollectiveOp op) { return op == CollectiveOp::kAllReduce ? 2 : 1; }

double ring_steps(CollectiveOp op, double ranks) { return ring_passes(op) * (ranks - 1); }

double ring_messages(const ResolvedCall& resolved) {
  const auto ranks = static_cast<double>(resolved.group->slots.size());
  return ranks * ring_steps(resolved.collective->op, ranks) *
         static_cast<double>(resolved.parts().size()) *
         static_cast<double>(1 + resolved.at_once.size());
}

std::int64_t bytes_of_even_blocks(const ResolvedCall& resolved, std::int64_t ranks) {
  const auto parts = static_cast<double>(resolved.parts().size());
  const auto all = static_cast<double>(resolved.group->slots.size());
  const auto element = static_cast<double>(resolved.call.element_bytes);
  const double block =
      std::ceil(static_cast<double>(resolved.call.bytes) / parts / all / element) * element;
  return static_cast<std::int64_t>(block * parts * static_cast<double>(ranks));
}

double blocks_rounded(const ResolvedCall& resolved) {
  const auto ranks = static_cast<std::int64_t>(resolved.group->slots.size());
  return static_cast<double>(bytes_of_even_blocks(resolved, ranks)) /
             static_cast<double>(resolved.call.bytes) -
         1;
}

bool parts_share_busiest_link(const ResolvedCall& resolved) {
  const SlotGroup& group = *resolved.group;
  std::vector<bool> is_first_node(group.slots.size(), false);
  for (const int member : group.members_of_node.front())
    is_first_node[static_cast<size_t>(member)] = true;
  const std::vector<std::vector<int>> parts = resolved.parts_of(group);
  PassingLanes passing(*resolved.lanes);
  std::map<Resource, std::multiset<int>> crossed_by;
  for (size_t part = 0; part < parts.size(); ++part)
    for (size_t role = 0; role < parts[part].size(); ++role) {
      const auto from = static_cast<size_t>(parts[part][role]);
      const auto to = static_cast<size_t>(parts[part][(role + 1) % parts[part].size()]);
      if (!is_first_node[from]) continue;
      const Lane& lane =
          passing.lane(group.slots[from], group.slots[to], resolved.kind(), resolved.call.bytes);
      for (const Resource& resource : lane.resources)
        crossed_by[resource].insert(static_cast<int>(part));
    }
  const auto time_of_blocks = [&](const auto& crossed) {
    return static_cast<double>(crossed.second.size()) / resolved.lanes->bandwidth(crossed.first);
  };
  const auto busiest = std::max_element(
      crossed_by.begin(), crossed_by.end(),
      [&](const auto& a, const auto& b) { return time_of_blocks(a) < time_of_blocks(b); });
  return busiest != crossed_by.end() && *busiest->second.begin() != *busiest->second.rbegin();
}

}  // namespace forescale
