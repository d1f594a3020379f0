// `forescale stack log`: what NCCL says of itself on a machine.
#pragma once

#include "cli/command_line.hpp"

namespace forescale {

void add_stack_log(Subcommand stack);

}  // namespace forescale
