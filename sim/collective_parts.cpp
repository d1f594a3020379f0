#include "sim/collective_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/error.hpp"
#include "topologies/placement.hpp"

namespace forescale {
namespace {

std::vector<int> inverse(const std::vector<int>& members) {
  std::vector<int> roles(members.size());
  for (size_t role = 0; role < members.size(); ++role)
    roles[static_cast<size_t>(members[role])] = static_cast<int>(role);
  return roles;
}

}  // namespace

std::vector<int> members_by_role(const std::vector<int>& order, int member_count) {
  const int length = static_cast<int>(order.size());
  std::vector<int> members;
  for (int first = 0; first < member_count; first += length) {
    const int count = std::min(length, member_count - first);
    const auto begin = static_cast<std::ptrdiff_t>(members.size());
    for (const int place : order)
      if (place < count) members.push_back(first + place);
    const auto group = members.begin() + begin;
    std::rotate(group, std::find(group, members.end(), first + order.front() % count),
                members.end());
  }
  return members;
}

void check_orders(const std::vector<std::vector<int>>& orders, const std::vector<int>& ranks,
                  const Platform& platform, const std::string& stack) {
  if (orders.empty()) return;
  const size_t length = orders.front().size();
  std::set<int> nodes;
  for (size_t member = 0; member < ranks.size(); ++member) {
    const int node = node_of_slot(platform, ranks[member]);
    const bool begins = member % length == 0;
    if (begins ? nodes.insert(node).second : node == node_of_slot(platform, ranks[member - 1]))
      continue;
    throw InputError(
        {.source = "--stack",
         .path = "",
         .value = stack,
         .constraint = fmt::format(
             "is for ranks that fill nodes of {} GPUs one after the other, which those of this "
             "collective do not: member {} of {}, rank {}, is on node {}, {}",
             length, member, ranks.size(), ranks[member], node,
             begins ? "where earlier ones are" : "the one before it on another")});
  }
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
