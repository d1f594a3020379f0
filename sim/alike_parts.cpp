#include "sim/alike_parts.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/fabric_use.hpp"

namespace forescale {
namespace {

// An element more in some of the parts.
constexpr double kMostUneven = 1e-6;
constexpr double kAlikeRounding = 1e-12;

bool is_of_a_part(const Resource& resource) {
  return resource.kind == ResourceKind::kConnection || resource.kind == ResourceKind::kChannel;
}

bool are_equal(double one, double other) {
  return one == other || std::abs(one - other) <= kAlikeRounding * std::abs(one);
}

// Things that are turned into each other.
class Orbits {
 public:
  int number_of(const Resource& resource) {
    const auto [entry, is_new] = numbers_.try_emplace(resource, static_cast<int>(first_.size()));
    if (is_new) {
      first_.push_back(entry->second);
      size_.push_back(1);
      resources_.push_back(&entry->first);
    }
    return entry->second;
  }
  int first_of(int number) {
    while (first_[static_cast<size_t>(number)] != number)
      number = first_[static_cast<size_t>(number)] =
          first_[static_cast<size_t>(first_[static_cast<size_t>(number)])];
    return number;
  }
  void join(int one, int other) {
    int low = first_of(one);
    int high = first_of(other);
    if (low == high) return;
    if (low > high) std::swap(low, high);
    first_[static_cast<size_t>(high)] = low;
    size_[static_cast<size_t>(low)] += size_[static_cast<size_t>(high)];
  }
  int size_of(int number) { return size_[static_cast<size_t>(first_of(number))]; }
  const Resource& resource(int number) const { return *resources_[static_cast<size_t>(number)]; }

 private:
  std::map<Resource, int> numbers_;
  std::vector<int> first_;
  std::vector<int> size_;
  std::vector<const Resource*> resources_;
};

class Finder {
 public:
  explicit Finder(const ResolvedCall& resolved)
      : resolved_(resolved),
        lanes_(*resolved.lanes),
        passing_(lanes_),
        parts_(resolved.parts()),
        sizes_(sizes()) {}

  std::optional<AlikeParts> found() {
    if (parts_.size() < 2 || meet_elsewhere() || has_root(resolved_.collective->op))
      return std::nullopt;
    if (!is_even() && element_of_part() > kMostUneven) return std::nullopt;
    for (size_t role = 0; role < parts_.front().size(); ++role) {
      turn_rank(role);
      for (const int to : receivers(resolved_, static_cast<int>(role)))
        for (const std::int64_t bytes : sizes_)
          if (!turn(role, static_cast<size_t>(to), bytes)) return std::nullopt;
    }
    return standing();
  }

 private:
  int count() const { return static_cast<int>(parts_.size()); }

  // Elsewhere than on links and caps.
  bool meet_elsewhere() const {
    const Stack& stack = lanes_.stack();
    return stack.channels_of == ChannelsOf::kRank || stack.eager_limit.value > 0 ||
           stack.shared_cores > 0 || !resolved_.at_once.empty() || resolved_.through_host ||
           lanes_.platform().has_bursts() || !lanes_.platform().lost_links.empty() ||
           lanes_.reduction(resolved_.place).place != ReductionPlace::kFree;
  }

  bool is_even() const {
    const std::int64_t bytes = resolved_.call.bytes;
    return bytes > 0 && bytes % (resolved_.call.element_bytes * count()) == 0;
  }

  // Relative.
  double element_of_part() const {
    return static_cast<double>(resolved_.call.element_bytes) * count() /
           static_cast<double>(resolved_.call.bytes);
  }

  // Each path rule that messages of the call can go by.
  std::vector<std::int64_t> sizes() const {
    std::set<std::int64_t> ends;
    for (const PathRule& rule : lanes_.stack().paths)
      if (rule.protocol == resolved_.protocol || rule.protocol == 0)
        ends.insert(std::min(rule.up_to_bytes, resolved_.call.bytes));
    return {ends.begin(), ends.end()};
  }

  int slot(int part, size_t role) const {
    return resolved_.group->slots[static_cast<size_t>(parts_[static_cast<size_t>(part)][role])];
  }

  // Ranks are told from resources by a rule that no stack has.
  static Resource of_rank(int slot) { return {.index = slot, .rule = -2}; }

  void turn_rank(size_t role) {
    std::vector<int> turned;
    for (int part = 0; part < count(); ++part)
      turned.push_back(orbits_.number_of(of_rank(slot(part, role))));
    for (const int each : turned) orbits_.join(turned.front(), each);
    of_parts_.push_back(std::move(turned));
  }

  // The way between two roles, of all parts; false: they are not alike.
  bool turn(size_t from, size_t to, std::int64_t bytes) {
    const auto lane_of = [&](int part) -> const Lane& {
      return passing_.lane(slot(part, from), slot(part, to), resolved_.kind(), bytes);
    };
    if (!lane_of(0).stages.empty()) return false;
    // Its lane may be let go of before the last one's is made.
    const PathRule* const rule = lane_of(0).rule;
    const double latency_s = lane_of(0).route_latency_s;
    const std::vector<Resource> first(lane_of(0).resources);
    std::vector<std::vector<int>> turned(first.size());
    for (int part = 0; part < count(); ++part) {
      const Lane& lane = lane_of(part);
      if (lane.rule->o_proxy.value > 0) has_proxies_ = true;
      if (lane.rule != rule || lane.resources.size() != first.size() ||
          !are_equal(lane.route_latency_s, latency_s))
        return false;
      for (size_t i = 0; i < turned.size(); ++i) {
        const Resource& resource = lane.resources[i];
        if (resource.kind != first[i].kind ||
            !are_equal(lanes_.bandwidth(resource), lanes_.bandwidth(first[i])))
          return false;
        if (is_of_a_part(resource)) continue;
        turned[i].push_back(orbits_.number_of(resource));
        orbits_.join(turned[i].front(), turned[i].back());
      }
    }
    std::vector<int> way;
    for (std::vector<int>& each : turned) {
      if (each.empty()) continue;
      way.push_back(each.front());
      of_parts_.push_back(std::move(each));
    }
    ways_.push_back(std::move(way));
    return true;
  }

  // Whether the parts use all that are turned into each other as often.
  bool uses_all_alike(const std::vector<int>& of_parts) {
    std::map<int, int> times;
    for (const int each : of_parts) ++times[each];
    const int size = orbits_.size_of(of_parts.front());
    return static_cast<int>(times.size()) == size &&
           std::all_of(times.begin(), times.end(),
                       [&](const auto& each) { return each.second * size == count(); });
  }

  std::optional<AlikeParts> standing() {
    for (const std::vector<int>& each : of_parts_)
      if (!uses_all_alike(each)) return std::nullopt;
    for (const std::vector<int>& way : ways_) {  // a flow crosses each once
      std::set<int> crossed;
      for (const int each : way)
        if (!crossed.insert(orbits_.first_of(each)).second) return std::nullopt;
    }
    AlikeParts alike{.count = count(), .is_even = is_even()};
    for (const std::vector<int>& each : of_parts_) {
      const int number = each.front();
      const Resource& own = orbits_.resource(number);
      const Resource& first = orbits_.resource(orbits_.first_of(number));
      const double share = static_cast<double>(orbits_.size_of(number)) / count();
      if (own.rule != of_rank(0).rule) {
        alike.standing[own] = {.resource = first, .share = share};
        continue;
      }
      if (has_proxies_ && share < 1) return std::nullopt;
      const auto rank = static_cast<size_t>(own.index);
      if (alike.ranks.size() <= rank) alike.ranks.resize(rank + 1, -1);
      alike.ranks[rank] = first.index;
    }
    return alike;
  }

  const ResolvedCall& resolved_;
  const Lanes& lanes_;
  PassingLanes passing_;
  std::vector<std::vector<int>> parts_;  // members by role
  std::vector<std::int64_t> sizes_;
  Orbits orbits_;
  std::vector<std::vector<int>> of_parts_;  // what each part uses in place of the first one's
  std::vector<std::vector<int>> ways_;      // of the first part
  bool has_proxies_ = false;
};

}  // namespace

std::optional<AlikeParts> alike_parts(const ResolvedCall& resolved) {
  return Finder(resolved).found();
}

}  // namespace forescale
