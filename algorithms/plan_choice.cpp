#include "algorithms/plan_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/options_text.hpp"
#include "models/plan_options.hpp"

namespace forescale {
namespace {

// The option of that name, which the collective must declare.
const Option& option_of(const Collective& collective, const std::string& name,
                        const std::string& value, const std::string& source) {
  if (const Option* option = find_option(collective, name)) return *option;
  if (plan_options().count(name) != 0)
    refuse(source, value, "is not an option of " + collective.name);
  std::vector<std::string> names;
  for (const Option& option : collective.options) names.push_back(option.name);
  refuse(source, value,
         names.empty() ? "is not an option of " + collective.name
                       : "key is " + unknown_name(name, names));
}

}  // namespace

PlanChoice parse_plan(const std::string& text, const std::string& source) {
  const OptionsText parts = OptionsText::parse(text, source);
  const size_t slash = parts.name().find('/');
  if (slash == std::string::npos)
    refuse(source, text,
           "must be OPERATION/ALGORITHM, such as reduce/binomial (see `forescale algorithm list`)");
  PlanChoice plan;
  plan.collective = &find_collective(parse_collective_op(parts.name().substr(0, slash), source),
                                     parts.name().substr(slash + 1), source);
  for (const auto& [name, value] : parts.values()) {
    const std::string where = parts.where(name);
    plan.options.set(name,
                     parse_value(option_of(*plan.collective, name, value, where), value, where));
  }
  return plan;
}

std::string plan_text(const PlanChoice& plan) {
  std::vector<std::string> parts;
  for (const Option& option : plan.collective->options) {
    if (!option.replaced_by.empty() && plan.options.gives(option.replaced_by)) continue;
    const bool is_text = option.unit == OptionUnit::kText;
    const std::string text = is_text ? plan.options.text(option) : "";
    const std::int64_t number = is_text ? 0 : plan.options.number(option);
    if (text.empty() && number == 0) continue;
    const OptionValue value = is_text ? OptionValue(text) : OptionValue(number);
    parts.push_back(option.name + "=" + value_text(option, value));
  }
  std::sort(parts.begin(), parts.end());
  return plan.collective->name + (parts.empty() ? "" : ":") +
         fmt::format("{}", fmt::join(parts, ","));
}

std::optional<PlanChoice> spelled_plan(CollectiveOp op, const SpelledPlan& spelled) {
  if (spelled.algorithm.empty()) {
    for (const auto& [name, value] : spelled.options)
      if (!value.empty())
        refuse(option_flag(name), value, "needs --algorithm: without it the stack chooses");
    return std::nullopt;
  }
  PlanChoice plan{.collective = &find_collective(op, spelled.algorithm, "--algorithm")};
  for (const auto& [name, value] : spelled.options) {
    if (value.empty()) continue;
    const std::string flag = option_flag(name);
    plan.options.set(name,
                     parse_value(option_of(*plan.collective, name, value, flag), value, flag));
  }
  return plan;
}

PlanChoice read_plan(const JsonInput& in, CollectiveOp op) {
  in.allow_only(with_plan_options({"algorithm"}));
  const JsonInput algorithm = in.at("algorithm");
  PlanChoice plan;
  try {
    plan.collective = &find_collective(op, algorithm.string(), algorithm.file());
  } catch (const InputError& error) {
    algorithm.fail(error.parts().constraint);
  }
  plan.options = read_plan_options(in);
  for (const auto& [name, value] : plan.options.given())
    if (find_option(*plan.collective, name) == nullptr)
      in.at(name).fail("is not an option of " + plan.collective->name);
  return plan;
}

OptionValues checked_options(const Collective& collective, size_t turn) {
  OptionValues options;
  for (const Option& option : collective.options) {
    if (option.checked.empty()) continue;
    const std::string& text = option.checked[turn % option.checked.size()];
    if (!text.empty()) options.set(option.name, parse_value(option, text, option.name));
  }
  return options;
}

nlohmann::json options_json(const OptionValues& options) {
  nlohmann::json values = nlohmann::json::object();
  for (const auto& [name, option] : plan_options())
    if (option.unit == OptionUnit::kText)
      values[name] = options.text(option);
    else
      values[name] = options.number(option);
  return values;
}

PlanChoice make_plan(CollectiveOp op, const std::string& algorithm, const OptionValues& options,
                     const std::string& source) {
  PlanChoice plan{.collective = &find_collective(op, algorithm, source), .options = options};
  for (const auto& [name, value] : options.given())
    if (find_option(*plan.collective, name) == nullptr)
      refuse(source, name, "is not an option of " + plan.collective->name);
  return plan;
}

}  // namespace forescale
