#include "algorithms/call_rules.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace forescale {

CallRules call_rules(const SelectionRules& rules, CollectiveOp op, const GroupShape& shape,
                     std::int64_t bytes, const PlanChoice* named, const RulesPlace& where) {
  const std::string name = name_of(op);
  CallRules found{.plan = {}, .of_call = find_rule(rules, name, shape, bytes)};
  if (named != nullptr) {
    found.plan = *named;
  } else if (found.of_call != nullptr) {
    found.plan = make_plan(op, found.of_call->algorithm, found.of_call->options, where.source);
  } else {
    throw InputError(
        {.source = where.source,
         .path = where.path + "/" + name,
         .value = "",
         .constraint = fmt::format("chooses no algorithm for {} ranks and {} bytes; name one with "
                                   "--algorithm",
                                   shape.ranks, bytes)});
  }
  found.of_plan = find_rule_with(rules, found.plan.collective->algorithm, name, shape, bytes);
  return found;
}

CallRules call_rules(const Stack& stack, CollectiveOp op, const GroupShape& shape,
                     std::int64_t bytes, const PlanChoice* named) {
  const RulesPlace where = {.source = "stack " + stack.name, .path = "/selection"};
  if (named != nullptr)
    return {.plan = *named,
            .of_call = stack.rule_for(name_of(op), shape, bytes),
            .of_plan = stack.rule_with(named->collective->algorithm, name_of(op), shape, bytes)};
  if (const SelectionRule* rule = stack.rule_for(name_of(op), shape, bytes))
    return {.plan = make_plan(op, rule->algorithm, rule->options, where.source),
            .of_call = rule,
            .of_plan = rule};
  if (!stack.allowed.empty())
    throw InputError({.source = where.source,
                      .path = "",
                      .value = name_of(op),
                      .constraint = fmt::format("cannot be done on {} ranks by what NCCL_ALGO and "
                                                "NCCL_PROTO leave and the stack knows",
                                                shape.ranks)});
  return call_rules(stack.selection, op, shape, bytes, nullptr, where);
}

}  // namespace forescale
