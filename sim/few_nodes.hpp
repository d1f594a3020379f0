// A call on a few of its nodes, which stand for all: nodes with links that are not as those of the
// others (Platform::unlike_nodes) are among them, in places with as many peers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "algorithms/plan_choice.hpp"
#include "sim/resolved_call.hpp"

namespace forescale {

// More unlike nodes would be most of a few.
inline constexpr std::size_t kUnlikeNodesMax = 2;

// Of the group's nodes (SlotGroup::members_of_node), those that are not as the others.
std::vector<std::size_t> unlike_nodes(const ResolvedCall& resolved);

// So many of the group's nodes, in the order in which their members call. In each part an unlike
// one sends to as many other nodes as it does among all. Nothing where no places are so.
std::optional<std::vector<std::size_t>> few_nodes(const ResolvedCall& resolved, int count);

// The same call, by the same rules, on some of its nodes; so of groups that call at once.
ResolvedCall on_nodes(const ResolvedCall& resolved, const std::vector<std::size_t>& nodes,
                      std::int64_t bytes, const PlanChoice& plan);

}  // namespace forescale
