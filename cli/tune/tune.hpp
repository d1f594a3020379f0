// Subcommands of `forescale tune`: one file each, registered by name.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/registry.hpp"

namespace forescale {

struct TuneCommand {
  std::string name;
  // Adds the verb below `tune`; its callback does the work and throws for errors.
  void (*add)(CLI::App& tune) = nullptr;
};

}  // namespace forescale
