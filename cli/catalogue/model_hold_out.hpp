// `forescale model hold-out`.
#pragma once

#include "cli/command.hpp"

namespace forescale {

// Adds the verb below `model`.
void add_hold_out(Subcommand command);

}  // namespace forescale
