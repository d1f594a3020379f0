#include "cli/collective/collective_inputs.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "models/plan_options.hpp"

namespace forescale {

void add_spelled_options(Subcommand command, SpelledPlan& spelled) {
  for (const auto& [name, option] : plan_options())
    command.add_option(option_flag(name), spelled.options[name], option.summary);
}

void add_plan_options(Subcommand command, PlanText& text) {
  command.add_option("--plan", text.plan,
                     "Operation, algorithm and options: reduce/cb:chain_size=8,chunk_bytes=4MiB "
                     "(reduce alone: the stack's choice); or spelled out:");
  command.add_option("--algorithm", text.spelled.algorithm,
                     "Algorithm, see `forescale algorithm list` (default: the stack's choice)");
  add_spelled_options(command, text.spelled);
}

namespace {

bool is_operation_alone(const std::string& plan) { return plan.find('/') == std::string::npos; }

}  // namespace

CollectiveOp op_of(const std::string& op, const PlanText& text) {
  if (!op.empty()) return parse_collective_op(op, "--op");
  if (text.plan.empty()) return CollectiveOp::kAllReduce;
  return is_operation_alone(text.plan) ? parse_collective_op(text.plan, "--plan")
                                       : parse_plan(text.plan, "--plan").collective->op;
}

std::optional<PlanChoice> parse_choice(CollectiveOp op, const PlanText& text) {
  if (text.plan.empty()) return spelled_plan(op, text.spelled);
  const auto refuse = [&](const std::string& constraint) {
    throw InputError(
        {.source = "--plan", .path = "", .value = text.plan, .constraint = constraint});
  };
  if (!text.spelled.algorithm.empty()) refuse("is given beside --algorithm");
  for (const auto& [name, value] : text.spelled.options)
    if (!value.empty()) refuse("is given beside " + option_flag(name));
  if (is_operation_alone(text.plan)) {
    if (parse_collective_op(text.plan, "--plan") != op)
      refuse(fmt::format("is no plan for {}", name_of(op)));
    return std::nullopt;
  }
  PlanChoice plan = parse_plan(text.plan, "--plan");
  if (plan.collective->op != op) refuse(fmt::format("is no plan for {}", name_of(op)));
  return plan;
}

}  // namespace forescale
