// Names of the kinds of actions, as files have them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "traces/program/action.hpp"

namespace forescale {

const char* name_of(Action::Kind kind);
const std::vector<Action::Kind>& all_action_kinds();
bool makes_request(Action::Kind kind);   // has an id
bool takes_requests(Action::Kind kind);  // is about requests made before

}  // namespace forescale
