#include "sim/run/collective_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "topologies/placement.hpp"

namespace forescale {
namespace {

std::vector<int> inverse(const std::vector<int>& members) {
  std::vector<int> roles(members.size());
  for (size_t role = 0; role < members.size(); ++role)
    roles[static_cast<size_t>(members[role])] = static_cast<int>(role);
  return roles;
}

// Those of the first `count` places that the order names, from order[0] mod `count` on.
std::vector<int> shortened(const std::vector<int>& order, int count) {
  std::vector<int> places;
  for (const int place : order)
    if (place < count) places.push_back(place);
  const auto begin = std::find(places.begin(), places.end(), order.front() % count);
  std::rotate(places.begin(), begin, places.end());
  return places;
}

}  // namespace

std::vector<int> members_by_role(const std::vector<int>& order, int member_count) {
  const int length = static_cast<int>(order.size());
  std::vector<int> members;
  for (int first = 0; first < member_count; first += length)
    for (const int place : shortened(order, std::min(length, member_count - first)))
      members.push_back(first + place);
  return members;
}

std::vector<std::vector<int>> orders_for(const SelectionRule& rule, const std::vector<int>& ranks,
                                         const Platform& platform, const std::string& stack) {
  if (rule.orders.empty()) return {};
  const auto node_of = [&](size_t member) { return node_of_slot(platform, ranks[member]); };
  const size_t length = rule.orders.front().size();
  size_t taken = length;
  if (rule.algorithm == "ring")
    for (taken = 1; taken < std::min(length, ranks.size()) && node_of(taken) == node_of(0);)
      ++taken;
  std::set<int> nodes;
  for (size_t member = 0; member < ranks.size(); ++member) {
    const bool begins = member % taken == 0;
    if (begins ? nodes.insert(node_of(member)).second : node_of(member) == node_of(member - 1))
      continue;
    throw InputError(
        {.source = "--stack",
         .path = "",
         .value = stack,
         .constraint =
             fmt::format("is for ranks that fill nodes of {} GPUs one after the other, which those "
                         "of this collective do not: member {} of {}, rank {}, is on node {}, {}",
                         length, member, ranks.size(), ranks[member], node_of(member),
                         begins ? "where earlier ones are" : "the one before it on another")});
  }
  if (taken == length) return rule.orders;
  std::vector<std::vector<int>> orders;
  for (const std::vector<int>& order : rule.orders)
    orders.push_back(shortened(order, static_cast<int>(taken)));
  return orders;
}

CollectiveParts::CollectiveParts(const CollectiveRun::Settings& settings, const Setting& setting) {
  const auto add = [&](const CollectiveRun::Settings& of_part, std::vector<int> roles) {
    parts_.push_back(
        {.run = std::make_unique<CollectiveRun>(of_part, setting.machine, setting.transport,
                                                setting.gate, setting.timeline),
         .role_of_member = std::move(roles)});
  };
  const std::vector<std::vector<int>>& orders = settings.orders;
  const int member_count = static_cast<int>(settings.ranks.size());
  const auto part_count = static_cast<int>(orders.size());
  for (int index = 0; index < part_count; ++index) {
    CollectiveRun::Settings part = settings;
    part.call.bytes =
        block_range(settings.call.bytes, part_count, index, settings.call.element_bytes).bytes;
    if (part.call.bytes == 0 && index > 0) break;
    part.channel = settings.channel + static_cast<std::uint64_t>(index);
    const std::vector<int> members =
        members_by_role(orders[static_cast<size_t>(index)], member_count);
    const std::vector<int> roles = inverse(members);
    for (size_t role = 0; role < members.size(); ++role)
      part.ranks[role] = settings.ranks[static_cast<size_t>(members[role])];
    part.call.root = roles[static_cast<size_t>(settings.call.root)];
    add(part, roles);
  }
  if (!parts_.empty()) return;
  std::vector<int> same(settings.ranks.size());
  for (size_t member = 0; member < same.size(); ++member) same[member] = static_cast<int>(member);
  add(settings, same);
}

void CollectiveParts::join(int member, const std::function<void()>& on_done) {
  const auto role = [member](const Part& part) {
    return part.role_of_member[static_cast<size_t>(member)];
  };
  auto left = std::make_shared<size_t>(parts_.size());
  for (Part& part : parts_)
    part.run->join(role(part), [left, on_done] {
      if (--*left == 0) on_done();
    });
}

bool CollectiveParts::finished() const {
  for (const Part& part : parts_)
    if (!part.run->finished()) return false;
  return true;
}

std::string CollectiveParts::describe(int member) const {
  for (const Part& part : parts_)
    if (!part.run->finished())
      return part.run->describe(part.role_of_member[static_cast<size_t>(member)]);
  return "";
}

}  // namespace forescale
