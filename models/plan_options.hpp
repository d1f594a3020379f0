// The options of all collectives by name, so that a stack's selection rules can state them: models
// know no collective, but each adds its options here before main().
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "base/option.hpp"

namespace forescale {

// Options of one name are of one unit, whichever collective declares them.
void add_plan_option(const Option& option);
const std::map<std::string, Option>& plan_options();

// `keys` and the names of all options, for JsonInput::allow_only().
std::vector<std::string> with_plan_options(std::vector<std::string> keys);
// Those that are there.
OptionValues read_plan_options(const JsonInput& in);

}  // namespace forescale
