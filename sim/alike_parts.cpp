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

// Elsewhere than on links and caps.
bool parts_meet_elsewhere(const ResolvedCall& resolved) {
  const Lanes& lanes = *resolved.lanes;
  const Stack& stack = lanes.stack();
  return stack.channels_of == ChannelsOf::kRank || stack.eager_limit.value > 0 ||
         stack.shared_cores > 0 || !resolved.at_once.empty() || resolved.through_host ||
         lanes.platform().has_bursts() || !lanes.platform().lost_links.empty() ||
         lanes.reduction(resolved.place).place != ReductionPlace::kFree;
}

// What a part can have more than another, relative; 0: nothing.
double most_uneven(const ResolvedCall& resolved, int parts) {
  const std::int64_t bytes = resolved.call.bytes;
  const std::int64_t elements = resolved.call.element_bytes * parts;
  if (bytes > 0 && bytes % elements == 0) return 0;
  return static_cast<double>(elements) / static_cast<double>(bytes);
}

// Of the first `simulated` parts, each standing for those that come so many after each other.
class Finder {
 public:
  Finder(const ResolvedCall& resolved, const std::vector<std::vector<int>>& parts, int simulated)
      : resolved_(resolved),
        lanes_(*resolved.lanes),
        passing_(lanes_),
        parts_(parts),
        simulated_(simulated),
        sizes_(sizes()) {}

  std::optional<AlikeParts> found() {
    for (int part = 0; part < simulated_; ++part)
      for (size_t role = 0; role < parts_.front().size(); ++role) {
        turn_rank(part, role);
        for (const int to : receivers(resolved_, static_cast<int>(role)))
          for (const std::int64_t bytes : sizes_)
            if (!turn(part, role, static_cast<size_t>(to), bytes)) return std::nullopt;
      }
    return standing();
  }

 private:
  // For which one stands.
  int count() const { return static_cast<int>(parts_.size()) / simulated_; }

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

  void turn_rank(int part, size_t role) {
    std::vector<int> turned;
    for (int i = 0; i < count(); ++i)
      turned.push_back(orbits_.number_of(of_rank(slot(part + i * simulated_, role))));
    for (const int each : turned) orbits_.join(turned.front(), each);
    of_parts_.push_back(std::move(turned));
  }

  // The way between two roles, of all parts for which one stands; false: they are not alike.
  bool turn(int part, size_t from, size_t to, std::int64_t bytes) {
    const auto lane_of = [&](int i) -> const Lane& {
      const int turned = part + i * simulated_;
      return passing_.lane(slot(turned, from), slot(turned, to), resolved_.kind(), bytes);
    };
    if (!lane_of(0).stages.empty()) return false;
    // Its lane may be let go of before the last one's is made.
    const PathRule* const rule = lane_of(0).rule;
    const double latency_s = lane_of(0).route_latency_s;
    const std::vector<Resource> first(lane_of(0).resources);
    std::vector<std::vector<int>> turned(first.size());
    for (int i = 0; i < count(); ++i) {
      const Lane& lane = lane_of(i);
      if (lane.rule->o_proxy.value > 0) has_proxies_ = true;
      if (lane.rule != rule || lane.resources.size() != first.size() ||
          !are_equal(lane.route_latency_s, latency_s))
        return false;
      for (size_t at = 0; at < turned.size(); ++at) {
        const Resource& resource = lane.resources[at];
        if (resource.kind != first[at].kind ||
            !are_equal(lanes_.bandwidth(resource), lanes_.bandwidth(first[at])))
          return false;
        if (is_of_a_part(resource)) continue;
        turned[at].push_back(orbits_.number_of(resource));
        orbits_.join(turned[at].front(), turned[at].back());
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

  // Whether those parts use all that are turned into each other as often.
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
    AlikeParts alike{.count = count()};
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
  const std::vector<std::vector<int>>& parts_;  // members by role
  int simulated_;
  std::vector<std::int64_t> sizes_;
  Orbits orbits_;
  std::vector<std::vector<int>> of_parts_;  // what each uses in place of one that stands for it
  std::vector<std::vector<int>> ways_;      // of those that stand for others
  bool has_proxies_ = false;
};

}  // namespace

std::optional<AlikeParts> alike_parts(const ResolvedCall& resolved) {
  const std::vector<std::vector<int>> parts = resolved.parts();
  const auto count = static_cast<int>(parts.size());
  if (count < 2 || parts_meet_elsewhere(resolved) || has_root(resolved.collective->op))
    return std::nullopt;
  const double uneven = most_uneven(resolved, count);
  if (uneven > kMostUneven) return std::nullopt;
  for (int simulated = 1; simulated <= count / 2; ++simulated) {
    if (count % simulated != 0) continue;
    std::optional<AlikeParts> found = Finder(resolved, parts, simulated).found();
    if (!found) continue;
    found->is_even = uneven == 0;
    return found;
  }
  return std::nullopt;
}

}  // namespace forescale
