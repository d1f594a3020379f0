// What the rules of a stack say of a call. Needs no platform: the simulator (sim/resolved_call.hpp)
// and the MPI executor both ask it.
#pragma once

#include <string>

#include "algorithms/plan_choice.hpp"
#include "models/stack.hpp"

namespace forescale {

struct CallRules {
  PlanChoice plan;
  // Says how the call is made: copies through the host and what they cost. Null: nothing.
  const SelectionRule* of_call = nullptr;
  // The first that fits and has the plan's algorithm: its protocol, orders and overhead belong to
  // that, whoever chose it. Null: there is none, and the overhead is the call's.
  const SelectionRule* of_plan = nullptr;
};

// The plan is `named`, or that of the first rule that fits where it is null. InputError naming
// `where` when there is none, or when it states options that its algorithm does not declare.
struct RulesPlace {
  std::string source;  // "stack nccl-2.3"
  std::string path;    // "/selection"
};
CallRules call_rules(const SelectionRules& rules, CollectiveOp op, const GroupShape& shape,
                     std::int64_t bytes, const PlanChoice* named, const RulesPlace& where);
CallRules call_rules(const Stack& stack, CollectiveOp op, const GroupShape& shape,
                     std::int64_t bytes, const PlanChoice* named);

}  // namespace forescale
