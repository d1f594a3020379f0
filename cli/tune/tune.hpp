// Subcommands of `forescale tune`: one file each, registered by name.
#pragma once

#include <string>

#include "base/registry.hpp"
#include "cli/command_line.hpp"

namespace forescale {

struct TuneCommand {
  std::string name;
  // Adds the verb below `tune`; its callback does the work and throws for errors.
  void (*add)(Subcommand tune) = nullptr;
};

}  // namespace forescale
