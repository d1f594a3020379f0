#include "sim/few_nodes.hpp"

#include <map>
#include <numeric>

#include "sim/fabric_use.hpp"
#include "sim/simulated_call.hpp"

namespace forescale {
namespace {

bool is_unlike(const ResolvedCall& resolved, std::size_t node) {
  const Platform& platform = resolved.lanes->platform();
  const SlotGroup& group = *resolved.group;
  const auto member = static_cast<std::size_t>(group.members_of_node[node].front());
  const int device = platform.endpoints[static_cast<std::size_t>(group.slots[member])];
  return platform.unlike_nodes.contains(platform.devices[static_cast<std::size_t>(device)].node);
}

std::map<int, std::size_t> node_of_member(const SlotGroup& group) {
  std::map<int, std::size_t> nodes;
  for (std::size_t node = 0; node < group.members_of_node.size(); ++node)
    for (const int member : group.members_of_node[node]) nodes[member] = node;
  return nodes;
}

// By part, to how many roles on other nodes those of the node send.
std::vector<std::size_t> peers(const ResolvedCall& call, std::size_t node) {
  const std::map<int, std::size_t> nodes = node_of_member(*call.group);
  std::vector<std::size_t> by_part;
  for (const std::vector<int>& part : call.parts()) {
    std::size_t count = 0;
    for (std::size_t role = 0; role < part.size(); ++role) {
      if (nodes.at(part[role]) != node) continue;
      for (const int to : receivers(call, static_cast<int>(role)))
        if (nodes.at(part[static_cast<std::size_t>(to)]) != node) ++count;
    }
    by_part.push_back(count);
  }
  return by_part;
}

SharedGroup group_on(const Platform& platform, const SlotGroup& group,
                     const std::vector<std::size_t>& nodes) {
  std::vector<int> slots;
  for (const std::size_t node : nodes)
    for (const int member : group.members_of_node[node])
      slots.push_back(group.slots[static_cast<std::size_t>(member)]);
  return shared_group(platform, slots);
}

}  // namespace

std::vector<std::size_t> unlike_nodes(const ResolvedCall& resolved) {
  std::vector<std::size_t> unlike;
  for (std::size_t node = 0; node < resolved.group->members_of_node.size(); ++node)
    if (is_unlike(resolved, node)) unlike.push_back(node);
  return unlike;
}

std::optional<std::vector<std::size_t>> few_nodes(const ResolvedCall& resolved, int count) {
  std::vector<std::size_t> nodes(static_cast<std::size_t>(count));
  std::iota(nodes.begin(), nodes.end(), std::size_t{0});
  const std::vector<std::size_t> unlike = unlike_nodes(resolved);
  if (unlike.empty()) return nodes;
  const ResolvedCall few = on_nodes(resolved, nodes, resolved.call.bytes, plan_of(resolved));
  std::vector<std::vector<std::size_t>> places;
  for (const std::size_t node : nodes) places.push_back(peers(few, node));
  std::map<std::size_t, std::size_t> taken;  // place -> node
  for (const std::size_t node : unlike) {
    const std::vector<std::size_t> all = peers(resolved, node);
    std::size_t place = 0;
    while (place < places.size() && (taken.contains(place) || places[place] != all)) ++place;
    if (place == places.size()) return std::nullopt;
    taken[place] = node;
  }
  std::size_t next = 0;
  for (std::size_t place = 0; place < nodes.size(); ++place) {
    if (taken.contains(place)) {
      nodes[place] = taken[place];
      continue;
    }
    while (is_unlike(resolved, next)) ++next;
    nodes[place] = next++;
  }
  return nodes;
}

ResolvedCall on_nodes(const ResolvedCall& resolved, const std::vector<std::size_t>& nodes,
                      std::int64_t bytes, const PlanChoice& plan) {
  const Platform& platform = resolved.lanes->platform();
  std::vector<SharedGroup> at_once;
  for (const SharedGroup& group : resolved.at_once)
    at_once.push_back(group_on(platform, *group, nodes));
  return resolve(*resolved.lanes, group_on(platform, *resolved.group, nodes),
                 {.op = resolved.collective->op,
                  .bytes = bytes,
                  .plan = &plan,
                  .place = resolved.place,
                  .element_bytes = resolved.call.element_bytes,
                  .rules_of = rules_of(resolved),
                  .at_once = at_once});
}

}  // namespace forescale
