#include "sim/simulated_call.hpp"

#include <utility>

namespace forescale {

using nlohmann::json;

namespace {

// Of parts of which some have an element more, where one stands for all.
constexpr double kUnevenError = 0.001;

}  // namespace

json to_text(const CollectiveOutcome& outcome) {
  return {{"time_s", outcome.time_s},         {"first_done_s", outcome.first_done_s},
          {"messages", outcome.messages},     {"least_bytes", outcome.sizes.least},
          {"most_bytes", outcome.sizes.most}, {"bytes_sent", outcome.bytes_sent},
          {"busiest", outcome.busiest.name},  {"busy_s", outcome.busiest.busy_s},
          {"root_s", outcome.root_s},         {"has_shared", outcome.has_shared}};
}

CollectiveOutcome collective_outcome(const json& text) {
  CollectiveOutcome outcome{.time_s = text.at("time_s").get<double>(),
                            .first_done_s = text.at("first_done_s").get<double>(),
                            .messages = text.at("messages").get<std::uint64_t>(),
                            .bytes_sent = text.at("bytes_sent").get<double>(),
                            .sizes = {.least = text.at("least_bytes").get<std::int64_t>(),
                                      .most = text.at("most_bytes").get<std::int64_t>()},
                            .busiest = {.name = text.at("busiest").get<std::string>(),
                                        .busy_s = text.at("busy_s").get<double>(),
                                        .bytes = 0},
                            .root_s = {},
                            .has_shared = text.at("has_shared").get<bool>()};
  text.at("root_s").get_to(outcome.root_s);
  return outcome;
}

PlanChoice plan_of(const ResolvedCall& resolved) {
  return {.collective = resolved.collective, .options = resolved.call.options};
}

RulesOf rules_of(const ResolvedCall& resolved) {
  return {.shape = resolved.group->shape,
          .bytes = resolved.call.bytes,
          .of_call = resolved.of_call,
          .of_plan = resolved.of_plan};
}

ResolvedCall with_bytes(const ResolvedCall& resolved, const PlanChoice& plan, std::int64_t bytes) {
  return resolve(*resolved.lanes, resolved.group,
                 {.op = resolved.collective->op,
                  .bytes = bytes,
                  .root = resolved.call.root,
                  .plan = &plan,
                  .place = resolved.place,
                  .element_bytes = resolved.call.element_bytes,
                  .rules_of = rules_of(resolved),
                  .at_once = resolved.at_once});
}

json simulated_text(const ResolvedCall& resolved, const PlanChoice& plan, const RulesOf& rules,
                    FoundAlike& found, std::vector<int> few_steps) {
  SessionOptions options;
  options.rules_of = rules;
  options.choices[resolved.collective->op] = plan;
  options.few_steps = std::move(few_steps);
  const std::optional<AlikeMembers>& alike = found.get();
  if (alike) options.alike = &*alike;
  json text = to_text(simulate_collective(resolved, std::move(options)));
  text["error"] = alike && !alike->is_even ? kUnevenError : 0.0;
  return text;
}

}  // namespace forescale
