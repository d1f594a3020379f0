// Subcommands of `forescale calibrate`: one file each, registered by name.
#pragma once

#include <string>

#include "base/registry.hpp"
#include "cli/command_line.hpp"

namespace forescale {

struct CalibrateCommand {
  std::string name;
  // Adds the verb below `calibrate`; its callback does the work and throws for errors.
  void (*add)(Subcommand calibrate) = nullptr;
};

}  // namespace forescale
