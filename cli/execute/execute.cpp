// `forescale execute`: what was predicted, run for real.
#include "cli/execute/execute.hpp"

#include "cli/command.hpp"

namespace forescale {
namespace {

void add_execute(Subcommand app) {
  Subcommand command = app.add_subcommand(
      "execute", "Run the very same plans and schedules on real MPI, beside their prediction");
  add_testbed_experiment(command);
  for (const auto& [name, verb] : Registry<ExecuteCommand>::all()) verb.add(command);
}

const bool kExecuteRegistered = Registry<Command>::add({.name = "execute", .add = add_execute});

}  // namespace
}  // namespace forescale
