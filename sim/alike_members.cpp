#include "sim/alike_members.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/fabric_use.hpp"
#include "sim/orbits.hpp"

namespace forescale {
namespace {

// An element more in some of the parts.
constexpr double kMostUneven = 1e-6;
constexpr double kAlikeRounding = 1e-12;

bool are_equal(double one, double other) {
  return one == other || std::abs(one - other) <= kAlikeRounding * std::abs(one);
}

// Of lanes that are looked at, whatever is tried: many seconds.
constexpr std::size_t kLanesMax = 20'000'000;

// Parts that are alike have links and caps in common, and nothing else.
bool parts_meet_elsewhere(const ResolvedCall& resolved) {
  const Stack& stack = resolved.lanes->stack();
  return stack.channels_of == ChannelsOf::kRank || stack.eager_limit.value > 0 ||
         resolved.lanes->reduction(resolved.place).place != ReductionPlace::kFree;
}

// A root does what no other does, or something is shared that is not turned.
bool none_is_alike(const ResolvedCall& resolved) {
  const Platform& platform = resolved.lanes->platform();
  return resolved.lanes->stack().shared_cores > 0 || resolved.through_host ||
         platform.has_bursts() || !platform.lost_links.empty() || has_root(resolved.collective->op);
}

// What a part can have more than another, relative; 0: nothing.
double most_uneven(const ResolvedCall& resolved, int parts) {
  const std::int64_t bytes = resolved.call.bytes;
  const std::int64_t elements = resolved.call.element_bytes * parts;
  if (bytes > 0 && bytes % elements == 0) return 0;
  return static_cast<double>(elements) / static_cast<double>(bytes);
}

// The call of the first part.
CollectiveCall part_call(const ResolvedCall& resolved, int parts) {
  CollectiveCall call = resolved.call;
  call.bytes = block_range(call.bytes, parts, 0, call.element_bytes).bytes;
  return call;
}

// Of the groups that call at once.
struct GroupParts {
  SharedGroup group;
  std::vector<std::vector<int>> parts;  // members by role
};

// The first parts stand for those that come so many after each other, the first roles for all that
// they are turned into.
class Finder {
 public:
  struct Simulated {
    int parts = 1;
    RoleTurn turn;
  };
  // `lanes_left`: that may be looked at.
  Finder(const ResolvedCall& resolved, const std::vector<GroupParts>& groups,
         const Simulated& simulated, std::size_t& lanes_left)
      : resolved_(resolved),
        lanes_(*resolved.lanes),
        passing_(lanes_),
        groups_(groups),
        call_(part_call(resolved, parts_of_all())),
        simulated_(simulated),
        turn_(simulated.turn),
        lanes_left_(lanes_left),
        sizes_(sizes()) {}

  std::optional<AlikeMembers> found() {
    for (const GroupParts& group : groups_) {
      group_ = &group;
      if (!ranks_turn_too() || !turn_group()) return std::nullopt;
    }
    return standing();
  }

 private:
  struct Way {
    int to = 0;
    std::int64_t bytes = 0;
    auto operator<=>(const Way&) const = default;
  };

  int parts_of_all() const { return static_cast<int>(groups_.front().parts.size()); }
  int parts_for_one() const { return parts_of_all() / simulated_.parts; }
  int count() const { return parts_for_one() * turn_.blocks; }

  bool turn_group() {
    for (int part = 0; part < simulated_.parts; ++part)
      for (int role = 0; role < turn_.block; ++role) {
        turn_rank(part, role);
        if (!turn_reduction(part, role)) return false;
        for (const Way& way : ways(role))
          if (!turn_way(part, role, way)) return false;
      }
    return true;
  }

  // Each path rule that messages of the call can go by.
  std::vector<std::int64_t> sizes() const {
    std::set<std::int64_t> ends;
    for (const PathRule& rule : lanes_.stack().paths)
      if (rule.protocol == resolved_.protocol || rule.protocol == 0)
        ends.insert(std::min(rule.up_to_bytes, resolved_.call.bytes));
    return {ends.begin(), ends.end()};
  }

  // Where what a role sends goes: of a plan that turns, what it says; of others, whose roles are
  // many, by every rule that messages can go by.
  std::set<Way> ways(int role) const {
    std::set<Way> found;
    if (turn_.blocks == 1) {
      for (const int to : receivers(resolved_, role))
        for (const std::int64_t bytes : sizes_) found.insert({to, bytes});
      return found;
    }
    OpStream stream = message_plan(*resolved_.collective, call_, role);
    while (stream.next())
      if (const Op& op = stream.op(); op.kind == OpKind::kSend)
        found.insert({op.peer, *std::lower_bound(sizes_.begin(), sizes_.end(), op.bytes)});
    return found;
  }

  // Whether members of the group turn as roles do: a part's order is one of each node's GPUs.
  bool ranks_turn_too() const {
    for (int part = 0; part < simulated_.parts; ++part) {
      const std::vector<int>& members = group_->parts[static_cast<size_t>(part)];
      for (int role = 0; role < turn_.block; ++role) {
        const int member = members[static_cast<size_t>(role)];
        if (member >= turn_.block) return false;
        for (int by = 1; by < turn_.blocks; ++by)
          if (members[static_cast<size_t>(turn_.turned(role, by))] != turn_.turned(member, by))
            return false;
      }
    }
    return true;
  }

  int slot(int part, int role) const {
    const std::vector<int>& members = group_->parts[static_cast<size_t>(part)];
    return group_->group->slots[static_cast<size_t>(members[static_cast<size_t>(role)])];
  }

  // Of all members for which one stands, itself first: their part, and by how much roles are
  // turned.
  template <class Look>
  bool all_turned(int part, const Look& look) const {
    for (int by = 0; by < turn_.blocks; ++by)
      for (int i = 0; i < parts_for_one(); ++i)
        if (!look(part + i * simulated_.parts, by)) return false;
    return true;
  }

  // Ranks are told from resources by a rule that no stack has.
  static Resource of_rank(int slot) { return {.index = slot, .rule = -2}; }

  void turn_rank(int part, int role) {
    std::vector<int> turned;
    all_turned(part, [&](int other, int by) {
      turned.push_back(orbits_.number_of(of_rank(slot(other, turn_.turned(role, by)))));
      return true;
    });
    for (const int each : turned) orbits_.join(turned.front(), each);
    of_members_.push_back(std::move(turned));
  }

  // Adding on cores.
  bool turn_reduction(int part, int role) {
    if (lanes_.reduction(resolved_.place).place != ReductionPlace::kCpu) return true;
    return turn_resources(part, [&](int other, int by) {
      return lanes_.reduction_resources(slot(other, turn_.turned(role, by)));
    });
  }

  // The way between two roles, of all members for which one stands; false: they are not alike.
  bool turn_way(int part, int role, const Way& way) {
    const int back = turn_.by(way.to);
    const int from = turn_.back(role, back);
    const int to = turn_.back(way.to, back);
    const auto lane_of = [&](int other, int by) -> const Lane& {
      return passing_.lane(slot(other, turn_.turned(from, by)), slot(other, turn_.turned(to, by)),
                           resolved_.kind(), way.bytes);
    };
    // Its lane may be let go of before the last one's is made.
    const Lane& own = lane_of(part, 0);
    const PathRule* const rule = own.rule;
    const double latency_s = own.route_latency_s;
    std::vector<double> stage_rates;
    for (const Lane::Stage& stage : own.stages) stage_rates.push_back(stage.bandwidth_bytes_per_s);
    if (rule->o_proxy.value > 0) {
      if (simulated_.parts > 1) return false;  // what its thread does first is by chance
      has_proxies_ = true;
    }
    if (lanes_left_ < static_cast<std::size_t>(count())) return false;
    lanes_left_ -= static_cast<std::size_t>(count());
    return turn_resources(part, [&](int other, int by) -> std::vector<Resource> {
      const Lane& lane = lane_of(other, by);
      bool is_alike = lane.rule == rule && are_equal(lane.route_latency_s, latency_s) &&
                      lane.stages.size() == stage_rates.size();
      for (size_t i = 0; is_alike && i < stage_rates.size(); ++i)
        is_alike = are_equal(lane.stages[i].bandwidth_bytes_per_s, stage_rates[i]);
      return is_alike ? lane.resources : std::vector<Resource>{};
    });
  }

  bool is_turned(const Resource& one, const Resource& other) const {
    return one.kind == other.kind && are_equal(lanes_.bandwidth(one), lanes_.bandwidth(other));
  }

  // What `resources_of` says of a member, turned to what it says of the others.
  template <class ResourcesOf>
  bool turn_resources(int part, const ResourcesOf& resources_of) {
    std::vector<Resource> first;
    std::vector<std::vector<int>> turned;
    const bool are_alike = all_turned(part, [&](int other, int by) {
      const std::vector<Resource> resources = resources_of(other, by);
      if (turned.empty()) {
        first = resources;
        turned.resize(first.size());
      }
      if (resources.size() != first.size()) return false;
      for (size_t i = 0; i < turned.size(); ++i) {
        if (is_of_a_member(resources[i])) {
          if (!is_turned(first[i], resources[i])) return false;
          continue;
        }
        turned[i].push_back(orbits_.number_of(resources[i]));
        if (orbits_.are_one(turned[i].front(), turned[i].back())) continue;
        if (!is_turned(first[i], resources[i])) return false;
        orbits_.join(turned[i].front(), turned[i].back());
        if (orbits_.size_of(turned[i].front()) > count()) return false;
      }
      return true;
    });
    std::vector<int> way;
    for (std::vector<int>& each : turned) {
      if (each.empty()) continue;
      way.push_back(each.front());
      of_members_.push_back(std::move(each));
    }
    ways_.push_back(std::move(way));
    return are_alike;
  }

  // Whether those members use all that are turned into each other as often.
  bool uses_all_alike(std::vector<int> of_members) {
    const int size = orbits_.size_of(of_members.front());
    if (count() % size != 0) return false;
    const int times = count() / size;
    std::sort(of_members.begin(), of_members.end());
    for (int i = 0; i < count(); i += times) {
      const auto first = of_members.begin() + i;
      if (*first != first[times - 1] || (i > 0 && *first == first[-1])) return false;
    }
    return true;
  }

  std::optional<AlikeMembers> standing() {
    for (const std::vector<int>& each : of_members_)
      if (!uses_all_alike(each)) return std::nullopt;
    for (const std::vector<int>& way : ways_) {  // a flow crosses each once
      std::set<int> crossed;
      for (const int each : way)
        if (!crossed.insert(orbits_.first_of(each)).second) return std::nullopt;
    }
    AlikeMembers alike{.parts = parts_for_one(), .turn = turn_};
    for (const std::vector<int>& each : of_members_) {
      const int number = each.front();
      const Resource& own = orbits_.resource(number);
      const Resource& first = orbits_.resource(orbits_.first_of(number));
      const double share = static_cast<double>(orbits_.size_of(number)) / count();
      if (own.rule != of_rank(0).rule) {
        alike.standing[own] = {.resource = first, .share = share};
        continue;
      }
      if (has_proxies_ && share < 1) return std::nullopt;
      for (const int of_member : each) {
        const auto rank = static_cast<size_t>(orbits_.resource(of_member).index);
        if (alike.ranks.size() <= rank) alike.ranks.resize(rank + 1, -1);
        alike.ranks[rank] = first.index;
      }
    }
    if (turn_.blocks > 1) add_senders(alike);
    return alike;
  }

  void add_senders(AlikeMembers& alike) const {
    const std::vector<int>& devices = lanes_.platform().endpoints;
    for (const GroupParts& each : groups_) {
      const auto device = [&](int member) {
        const int slot = each.group->slots[static_cast<size_t>(member)];
        return devices[static_cast<size_t>(slot)];
      };
      for (int member = 0; member < resolved_.call.rank_count; ++member)
        alike.senders[device(member)] = device(turn_.back(member, turn_.by(member)));
    }
  }

  const ResolvedCall& resolved_;
  const Lanes& lanes_;
  PassingLanes passing_;
  const std::vector<GroupParts>& groups_;
  const GroupParts* group_ = nullptr;  // of which it is about
  CollectiveCall call_;
  Simulated simulated_;
  RoleTurn turn_;
  std::size_t& lanes_left_;
  std::vector<std::int64_t> sizes_;
  Orbits orbits_;
  std::vector<std::vector<int>> of_members_;  // what each uses in place of one that stands for it
  std::vector<std::vector<int>> ways_;        // of those that stand for others
  bool has_proxies_ = false;
};

// What could stand for all roles, and all of them.
std::vector<RoleTurn> turns(const ResolvedCall& resolved, int parts) {
  const RoleTurn none{.block = resolved.call.rank_count};
  if (parts > 1 && most_uneven(resolved, parts) > 0) return {none};
  const std::size_t unit = resolved.group->members_of_node.front().size();
  for (const SharedGroup& group : resolved.all_groups())
    for (const std::vector<int>& members : group->members_of_node)
      if (members.size() != unit) return {none};
  const auto finest = finest_turn(*resolved.collective, part_call(resolved, parts),
                                  static_cast<int>(unit), kTurnedOperationsMax);
  std::vector<RoleTurn> found;
  for (int times = 1; finest && times < finest->blocks; ++times)  // of a xor: powers of two
    if (finest->blocks % times == 0) found.push_back(finest->coarser(times));
  found.push_back(none);
  return found;
}

// How many parts could stand for all, and all of them.
std::vector<int> simulated_parts(const ResolvedCall& resolved, int parts) {
  if (parts_meet_elsewhere(resolved) || most_uneven(resolved, parts) > kMostUneven) return {parts};
  std::vector<int> found;
  for (int simulated = 1; simulated <= parts; ++simulated)
    if (parts % simulated == 0) found.push_back(simulated);
  return found;
}

}  // namespace

std::optional<AlikeMembers> alike_members(const ResolvedCall& resolved) {
  if (resolved.call.bytes == 0 || none_is_alike(resolved)) return std::nullopt;
  std::vector<GroupParts> groups;
  for (const SharedGroup& group : resolved.all_groups())
    groups.push_back({.group = group, .parts = resolved.parts_of(*group)});
  const auto count = static_cast<int>(groups.front().parts.size());
  std::vector<Finder::Simulated> tried;
  for (const RoleTurn& turn : turns(resolved, count))
    for (const int simulated : simulated_parts(resolved, count))
      if (simulated < count || turn.blocks > 1) tried.push_back({.parts = simulated, .turn = turn});
  std::stable_sort(tried.begin(), tried.end(), [](const auto& one, const auto& other) {
    return one.parts * one.turn.block < other.parts * other.turn.block;
  });
  std::size_t lanes_left = kLanesMax;
  for (const Finder::Simulated& each : tried) {
    auto found = Finder(resolved, groups, each, lanes_left).found();
    if (!found) continue;
    found->is_even = count == 1 || most_uneven(resolved, count) == 0;
    return found;
  }
  return std::nullopt;
}

}  // namespace forescale
