#include "cli/command.hpp"

namespace forescale {

void add_output_options(Subcommand command, OutputOptions& options) {
  CommandOption json = command.add_flag("--json", options.json, "Print JSON for machines");
  CommandOption csv = command.add_flag("--csv", options.csv, "Print comma-separated values");
  json.excludes(csv);
}

}  // namespace forescale
