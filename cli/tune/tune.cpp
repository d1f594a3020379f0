// `forescale tune`: best settings, as files that the real libraries load.
#include "cli/tune/tune.hpp"

#include "cli/catalogue/catalogue.hpp"

namespace forescale {
namespace {

void add_tune(Subcommand app) {
  Subcommand command = add_catalogue_command(
      app, {.name = "tune",
            .summary = "Find the best algorithm, chain and chunk size by message size and ranks",
            .examples = {"tune collective --platform kesch --op reduce --ranks 160"}});
  for (const auto& [name, verb] : Registry<TuneCommand>::all()) verb.add(command);
}

const bool kTuneRegistered = Registry<Command>::add({.name = "tune", .add = add_tune});

}  // namespace
}  // namespace forescale
