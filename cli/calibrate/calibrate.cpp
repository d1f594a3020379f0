// `forescale calibrate`: from measurements to platforms and stacks.
#include "cli/calibrate/calibrate.hpp"

#include "cli/catalogue/catalogue.hpp"

namespace forescale {
namespace {

void add(Subcommand app) {
  Subcommand command = add_catalogue_command(
      app, {.name = "calibrate",
            .summary = "Measure a machine, read other tools' logs, fit platform and stack",
            .examples = {"calibrate import osu_latency.txt -o measurement.json",
                         "calibrate show measurement.json"}});
  for (const auto& [name, verb] : Registry<CalibrateCommand>::all()) verb.add(command);
}

const bool kRegistered = Registry<Command>::add({.name = "calibrate", .add = add});

}  // namespace
}  // namespace forescale
