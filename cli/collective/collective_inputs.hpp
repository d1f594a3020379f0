// Options that name a plan, shared by `collective`, `crossover` and `algorithm show`.
#pragma once

#include <optional>
#include <string>

#include "algorithms/plan_choice.hpp"
#include "cli/command_line.hpp"

namespace forescale {

// As typed: --plan, or spelled out --algorithm and one flag for each option of any collective
// (--chunk-bytes, --chain-size, ...).
struct PlanText {
  std::string plan;
  SpelledPlan spelled;
};
void add_plan_options(Subcommand command, PlanText& text);
// The flags of options alone.
void add_spelled_options(Subcommand command, SpelledPlan& spelled);

// Nothing where the stack shall choose. InputError when both forms are given, when --plan is of
// another operation than --op, and what parse_plan() and spelled_plan() refuse.
std::optional<PlanChoice> parse_choice(CollectiveOp op, const PlanText& text);
// What --op says, or --plan where that is empty, or all-reduce.
CollectiveOp op_of(const std::string& op, const PlanText& text);

}  // namespace forescale
