// Reduce and broadcast over a hierarchy of groups, S-Caffe section 5 with any number of levels.
//
// "chain:8,chain:8,binomial": ranks, counted from the root, form chains of 8; the leader of each,
// its first rank, is a member of a chain of 8 leaders; the leaders of those form a binomial tree.
// A leader begins the next level when the one before is complete. So the times add up:
//   T = sum over levels of T(level, members of its fullest group)
// exactly, because the root's own group is always a fullest one and only the last group can be
// short: its leader, ready early, is the last member above, which sends there to a member that is
// not early (reduce) or ends no later than its neighbour (broadcast).
#pragma once

#include <string>
#include <vector>

#include "algorithms/collective.hpp"
#include "algorithms/pieces/call_pieces.hpp"
#include "algorithms/pieces/tree_pieces.hpp"

namespace forescale {

struct Level {
  TreeKind kind = TreeKind::kChain;
  int member_count = 0;  // of a full group; 0 for the last level: all leaders that remain
};

// Lowest first. InputError naming `source`: unknown kinds, a size below 1, a size at the last level
// or none below it.
std::vector<Level> parse_levels(const std::string& text, const std::string& source);

inline const Option kLevels{
    .name = "levels",
    .summary = "Levels of a hierarchy, lowest first: chain:8,chain:8,binomial",
    .unit = OptionUnit::kText,
    .checked = {"", "", "chain:3+flat:2+binomial", "chain:3+flat:2+binomial",
                "chain:3+flat:2+binomial"},
    .check_text = [](const std::string& text, const std::string& source) {
      parse_levels(text, source);
    }};

// What the option levels says, or "chain:K,binomial" with the chain size K when it says nothing.
std::vector<Level> levels_of_call(const CollectiveCall& call);

// Lowest level first; the root ends with the sum.
OpStream hierarchical_reduce(const std::vector<Level>& levels, const CollectiveCall& call,
                             int rank);
// Highest level first.
OpStream hierarchical_broadcast(const std::vector<Level>& levels, const CollectiveCall& call,
                                int rank);

double hierarchical_reduce_s(const std::vector<Level>& levels, const CollectiveCall& call,
                             const StepCost& cost);
double hierarchical_broadcast_s(const std::vector<Level>& levels, const CollectiveCall& call,
                                const StepCost& cost);

}  // namespace forescale
