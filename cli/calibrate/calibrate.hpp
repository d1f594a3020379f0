// Subcommands of `forescale calibrate`: one file each, registered by name.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/registry.hpp"

namespace forescale {

struct CalibrateCommand {
  std::string name;
  // Adds the verb below `calibrate`; its callback does the work and throws for errors.
  void (*add)(CLI::App& calibrate) = nullptr;
};

}  // namespace forescale
