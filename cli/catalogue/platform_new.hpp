// `forescale platform new`: a platform file from a few answers.
#pragma once

#include "cli/command_line.hpp"

namespace forescale {

void add_platform_new(Subcommand platform);

}  // namespace forescale
