// `forescale calibrate`: from measurements to platforms and stacks.
#include "cli/calibrate/calibrate.hpp"

#include "cli/catalogue/catalogue.hpp"

namespace forescale {
namespace {

void add_calibrate(Subcommand app) {
  Subcommand command = add_catalogue_command(
      app, {.name = "calibrate",
            .summary = "Measure a machine, read other tools' logs, fit platform and stack",
            .examples = {"calibrate import osu_latency.txt -o measurement.json",
                         "calibrate show measurement.json"}});
  for (const auto& [name, verb] : Registry<CalibrateCommand>::all()) verb.add(command);
}

const bool kCalibrateRegistered =
    Registry<Command>::add({.name = "calibrate", .add = add_calibrate});

}  // namespace
}  // namespace forescale
