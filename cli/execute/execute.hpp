// Subcommands of `forescale execute`: one file each, registered by name.
#pragma once

#include <string>

#include "base/registry.hpp"
#include "cli/command_line.hpp"

namespace forescale {

struct ExecuteCommand {
  std::string name;
  // Adds the verb below `execute`; its callback does the work and throws for errors.
  void (*add)(Subcommand execute) = nullptr;
};

// `execute` without a verb: measure, fit, predict, execute and compare on a testbed.
void add_testbed_experiment(Subcommand execute);

}  // namespace forescale
