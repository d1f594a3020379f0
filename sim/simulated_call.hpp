// A call simulated whole, in a process of its own: what it gives, as text.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "algorithms/plan_choice.hpp"
#include "sim/alike_members.hpp"
#include "sim/resolved_call.hpp"
#include "sim/run/simulate.hpp"

namespace forescale {

nlohmann::json to_text(const CollectiveOutcome& outcome);
CollectiveOutcome collective_outcome(const nlohmann::json& text);

// The plan that a call has been resolved to.
PlanChoice plan_of(const ResolvedCall& resolved);
RulesOf rules_of(const ResolvedCall& resolved);
// The same call, by the same rules, of so many bytes.
ResolvedCall with_bytes(const ResolvedCall& resolved, const PlanChoice& plan, std::int64_t bytes);

// The outcome, and how far its time may be off, relative ("error"): members that are alike stand
// for all; `found` is of the same call. `few_steps`: of a ring (SessionOptions). Once a process.
nlohmann::json simulated_text(const ResolvedCall& resolved, const PlanChoice& plan,
                              const RulesOf& rules, FoundAlike& found,
                              std::vector<int> few_steps = {});

}  // namespace forescale
