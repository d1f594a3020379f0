#include "cli/command.hpp"

namespace forescale {

void add_output_options(CLI::App& command, OutputOptions& options) {
  auto* json = command.add_flag("--json", options.json, "Print JSON for machines");
  auto* csv = command.add_flag("--csv", options.csv, "Print comma-separated values");
  json->excludes(csv);
}

}  // namespace forescale
