// Subcommands of forescale: one file each, registered by name.
#pragma once

#include <functional>
#include <string>

#include "base/registry.hpp"
#include "cli/command_line.hpp"

namespace forescale {

struct Command {
  std::string name;
  // Adds the subcommand; its callback does the work and throws for errors.
  void (*add)(Subcommand app) = nullptr;
  bool knows_all = false;  // reads the options of all other commands, as completion does
};

// Runs the program on a command line; prints errors to stderr and returns the exit code.
int forescale_main(int count, char** arguments);

// How a command's result is printed.
struct OutputOptions {
  bool json = false;
  bool csv = false;
};
void add_output_options(Subcommand command, OutputOptions& options);

}  // namespace forescale
