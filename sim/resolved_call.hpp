// What a collective call is on this platform with this stack: the one answer that the simulator,
// the cost engine, the bounds and the command line share.
//
// The plan is the one that was named, or that of the stack's first rule that fits the group and the
// size. The rule of the call says what it costs whatever the plan; protocol and orders are those of
// the plan's own rule. Buffers that go through the host are worked on there, by no rule of GPUs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/call_rules.hpp"
#include "sim/engine/lanes.hpp"
#include "topologies/slot_group.hpp"

namespace forescale {

using SharedGroup = std::shared_ptr<const SlotGroup>;
SharedGroup shared_group(const Platform& platform, std::span<const int> slots);
SharedGroup shared_first_slots(const Platform& platform, int count);

// For which group and size a stack's rules are asked, where it is not the one that calls: a few
// nodes that stand for many.
struct RulesOf {
  GroupShape shape;
  std::int64_t bytes = 0;
  // Where a plan is named that the stack chose for that group by rules of its own: its tuner's, or
  // those of what its environment leaves. Null: asked by the plan.
  const SelectionRule* of_call = nullptr;
  const SelectionRule* of_plan = nullptr;
};

struct AskedCall {
  CollectiveOp op = CollectiveOp::kAllReduce;
  std::int64_t bytes = 0;
  int root = 0;                                     // member of the group
  const PlanChoice* plan = nullptr;                 // null: the stack chooses
  std::optional<BufferPlace> place = std::nullopt;  // of the buffers; nothing: the default
  std::int64_t element_bytes = 4;                   // blocks and chunks are whole elements
  std::optional<RulesOf> rules_of = std::nullopt;   // nothing: the call's own
  // Other groups, as large, that call the same at the same moment.
  std::vector<SharedGroup> at_once = {};
};

struct ResolvedCall {
  const Lanes* lanes = nullptr;
  SharedGroup group;
  std::vector<SharedGroup> at_once = {};  // that call the same, and are in its way
  const Collective* collective = nullptr;
  CollectiveCall call;
  BufferPlace place = BufferPlace::kGpu;  // where the plan works
  int protocol = 0;                       // of its messages
  double call_s = 0;                      // of the caller's time before its part begins
  bool through_host = false;  // copy the buffer to the host, work there, copy the result back
  double through_host_bandwidth = 0;
  bool default_stream = false;  // begins when the GPU has finished what was launched before
  const SelectionRule* orders_of = nullptr;  // cuts the call into parts; null: it is one
  const SelectionRule* of_call = nullptr;    // the stack's for the call, and for its plan
  const SelectionRule* of_plan = nullptr;

  MessageKind kind() const { return {place, protocol}; }
  // Members by role: role p of a part is played by member [p]. One entry for each order of the
  // rule, or one that is as the group is.
  std::vector<std::vector<int>> parts() const { return parts_of(*group); }
  std::vector<std::vector<int>> parts_of(const SlotGroup& caller) const;
  std::vector<SharedGroup> all_groups() const;  // its own first
  std::int64_t rank_count() const;              // of all groups
  // What of it the cost engine (sim/cost_engine.hpp) does not know; empty: nothing.
  std::string why_not_priced() const;
};

// InputError: no rule of the stack fits, or the collective refuses the call.
ResolvedCall resolve(const Lanes& lanes, SharedGroup group, const AskedCall& asked);

// Of `members`, whose GPUs an order names by their places: in every run of as many as it is long
// by the order; a last shorter run of m takes the places that it has, from order[0] mod m on, so
// that parts which begin at places that it lacks spread over those that it has.
std::vector<int> by_order(const std::vector<int>& order, const std::vector<int>& members);

}  // namespace forescale
