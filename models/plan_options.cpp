#include "models/plan_options.hpp"

#include "base/error.hpp"

namespace forescale {
namespace {

std::map<std::string, Option>& table() {
  static std::map<std::string, Option> options;
  return options;
}

}  // namespace

void add_plan_option(const Option& option) {
  const Option& known = table().emplace(option.name, option).first->second;
  FORESCALE_CHECK(known.unit == option.unit, option.name + " is declared with two units");
}

const std::map<std::string, Option>& plan_options() { return table(); }

std::vector<std::string> with_plan_options(std::vector<std::string> keys) {
  for (const auto& [name, option] : table()) keys.push_back(name);
  return keys;
}

OptionValues read_plan_options(const JsonInput& in) {
  OptionValues options;
  for (const auto& [name, option] : table())
    if (const auto value = in.find(name)) options.set(name, read_value(option, *value));
  return options;
}

}  // namespace forescale
