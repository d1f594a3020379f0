#include "sim/resolved_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "algorithms/common_options.hpp"

namespace forescale {
namespace {

// How many members of each node stand behind each other in a role list.
std::vector<int> run_lengths(const SlotGroup& group, size_t order_length) {
  std::vector<int> lengths;
  for (const std::vector<int>& members : group.members_of_node)
    for (size_t first = 0; first < members.size(); first += order_length)
      lengths.push_back(static_cast<int>(std::min(order_length, members.size() - first)));
  return lengths;
}

// A plan whose groups of neighbours are nodes takes the GPUs that the nodes of this group have.
void fit_to_nodes(ResolvedCall& resolved) {
  const std::vector<int> lengths =
      run_lengths(*resolved.group, resolved.orders_of->orders.front().size());
  const int longest = *std::max_element(lengths.begin(), lengths.end());
  const bool all_but_last_alike = std::all_of(lengths.begin(), lengths.end() - 1,
                                              [&](int length) { return length == longest; });
  OptionValues& options = resolved.call.options;
  if (!all_but_last_alike)
    options.set(kGroupSizes.name, fmt::format("{}", fmt::join(lengths, ",")));
  else if (longest < options.number(kChainSize))
    options.set(kChainSize.name, std::int64_t{longest});
}

}  // namespace

SharedGroup shared_group(const Platform& platform, std::span<const int> slots) {
  return std::make_shared<const SlotGroup>(group_of(platform, slots));
}

SharedGroup shared_first_slots(const Platform& platform, int count) {
  return std::make_shared<const SlotGroup>(first_slots(platform, count));
}

std::vector<int> by_order(const std::vector<int>& order, const std::vector<int>& members) {
  std::vector<int> roles;
  for (size_t first = 0; first < members.size(); first += order.size()) {
    const auto count = static_cast<int>(std::min(order.size(), members.size() - first));
    std::vector<int> places;
    for (const int place : order)
      if (place < count) places.push_back(place);
    const auto begin = std::find(places.begin(), places.end(), order.front() % count);
    std::rotate(places.begin(), begin, places.end());
    for (const int place : places) roles.push_back(members[first + static_cast<size_t>(place)]);
  }
  return roles;
}

std::vector<SharedGroup> ResolvedCall::all_groups() const {
  std::vector<SharedGroup> all = {group};
  all.insert(all.end(), at_once.begin(), at_once.end());
  return all;
}

std::int64_t ResolvedCall::rank_count() const {
  std::int64_t ranks = 0;
  for (const SharedGroup& each : all_groups()) ranks += each->shape.ranks;
  return ranks;
}

std::vector<std::vector<int>> ResolvedCall::parts_of(const SlotGroup& caller) const {
  std::vector<int> all(caller.slots.size());
  std::iota(all.begin(), all.end(), 0);
  if (orders_of == nullptr) return {all};
  std::vector<std::vector<int>> parts;
  for (const std::vector<int>& order : orders_of->orders) {
    if (place != BufferPlace::kGpu) {  // hosts have no places: an order is of neighbours
      parts.push_back(by_order(order, all));
      continue;
    }
    std::vector<int>& part = parts.emplace_back();
    for (const std::vector<int>& members : caller.members_of_node) {
      const std::vector<int> of_node = by_order(order, members);
      part.insert(part.end(), of_node.begin(), of_node.end());
    }
  }
  return parts;
}

std::string ResolvedCall::why_not_priced() const {
  std::vector<std::string> reasons;
  if (lanes->stack().channels > 1) reasons.emplace_back("several channels");
  if (orders_of != nullptr) reasons.emplace_back("parts with orders of their own");
  if (through_host) reasons.emplace_back("whole-buffer copies through the host");
  if (!lanes->platform().lost_links.empty()) reasons.emplace_back("links that are lost");
  if (!at_once.empty()) reasons.emplace_back("groups in each other's way");
  if (lanes->platform().has_bursts()) reasons.emplace_back("shaped links");
  return fmt::format("{}", fmt::join(reasons, ", "));
}

ResolvedCall resolve(const Lanes& lanes, SharedGroup group, const AskedCall& asked) {
  const BufferPlace buffers = asked.place.value_or(lanes.default_place());
  const RulesOf rules_of = asked.rules_of.value_or(RulesOf{group->shape, asked.bytes});
  const bool are_known = asked.plan != nullptr && rules_of.of_plan != nullptr;
  const CallRules rules =
      are_known
          ? CallRules{.plan = *asked.plan, .of_call = rules_of.of_call, .of_plan = rules_of.of_plan}
          : call_rules(lanes.stack(), asked.op, rules_of.shape, rules_of.bytes, asked.plan);
  ResolvedCall resolved;
  resolved.lanes = &lanes;
  resolved.group = std::move(group);
  resolved.at_once = asked.at_once;
  resolved.collective = rules.plan.collective;
  resolved.of_call = rules.of_call;
  resolved.of_plan = rules.of_plan;
  resolved.call = {.rank_count = resolved.group->shape.ranks,
                   .bytes = asked.bytes,
                   .root = asked.root,
                   .element_bytes = asked.element_bytes,
                   .options = rules.plan.options};
  resolved.place = buffers;
  if (rules.of_call != nullptr) {
    resolved.through_host = rules.of_call->through_host && buffers == BufferPlace::kGpu;
    resolved.through_host_bandwidth = rules.of_call->through_host_bandwidth.value;
    resolved.default_stream = rules.of_call->default_stream && buffers == BufferPlace::kGpu;
    if (resolved.through_host) resolved.place = BufferPlace::kHost;
    // Of a rule that copies GPU buffers, the overhead is theirs too; of others it is the plan's,
    // whoever chose that.
    if (resolved.through_host)
      resolved.call_s = rules.of_call->call_overhead.value;
    else if (!rules.of_call->through_host)
      resolved.call_s = (rules.of_plan ? rules.of_plan : rules.of_call)->call_overhead.value;
  }
  if (rules.of_plan != nullptr && !resolved.through_host) {
    resolved.protocol = rules.of_plan->protocol;
    if (!rules.of_plan->orders.empty()) resolved.orders_of = rules.of_plan;
  }
  if (resolved.orders_of != nullptr && resolved.place == BufferPlace::kGpu &&
      resolved.collective->groups_are_nodes)
    fit_to_nodes(resolved);
  check_call(*resolved.collective, resolved.call);
  return resolved;
}

}  // namespace forescale
