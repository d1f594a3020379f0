#include "sim/run/collective_parts.hpp"

#include "base/error.hpp"

namespace forescale {
namespace {

std::vector<int> inverse(const std::vector<int>& members) {
  std::vector<int> roles(members.size());
  for (size_t role = 0; role < members.size(); ++role)
    roles[static_cast<size_t>(members[role])] = static_cast<int>(role);
  return roles;
}

}  // namespace

CollectiveParts::CollectiveParts(const CollectiveRun::Settings& settings, const Setting& setting) {
  const std::vector<std::vector<int>> parts = settings.parts();
  const auto count = static_cast<int>(parts.size());
  const std::vector<int>& slots = settings.group->slots;
  const AlikeMembers* const alike = setting.machine.alike();
  const int stands_for = alike == nullptr ? 1 : alike->parts;
  FORESCALE_CHECK(count % stands_for == 0, "each part stands for as many of the call");
  for (int index = 0; index < count / stands_for; ++index) {
    CollectiveRun::Settings part = settings;
    part.call.bytes =
        block_range(settings.call.bytes, count, index, settings.call.element_bytes).bytes;
    if (part.call.bytes == 0 && index > 0) break;
    part.channel = settings.channel + static_cast<std::uint64_t>(index);
    part.part = index;
    const std::vector<int>& members = parts[static_cast<size_t>(index)];
    std::vector<int> roles = inverse(members);
    part.ranks.clear();
    for (const int member : members) part.ranks.push_back(slots[static_cast<size_t>(member)]);
    part.call.root = roles[static_cast<size_t>(settings.call.root)];
    parts_.push_back({.run = std::make_unique<CollectiveRun>(
                          part, setting.machine, setting.transport, setting.gate, setting.timeline),
                      .role_of_member = std::move(roles)});
  }
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
