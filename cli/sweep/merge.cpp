// `forescale merge`: one database from those of a study's shards.
#include "studies/sweep/sweep_merge.hpp"

#include "cli/command.hpp"
#include "cli/sweep/sweep_output.hpp"

namespace forescale {
namespace {

struct MergeOptions {
  std::string output;
  std::vector<std::string> inputs;
  OutputOptions printed;
  std::string line;  // as typed
};

void run(const MergeOptions& options) {
  merge_sweeps(options.output, options.inputs);
  SweepDatabase database(options.output);
  print_sweep(database, options.printed, options.line);
}

void add_merge(Subcommand app) {
  auto options = std::make_shared<MergeOptions>();
  Subcommand command = app.add_subcommand("merge", "Join the results of a study's shards");
  command.footer(
      "Examples:\n"
      "  forescale merge results.sqlite results.shard-0-of-2.sqlite results.shard-1-of-2.sqlite\n"
      "Files of another study, of another version of forescale, or with another answer to the "
      "same\n"
      "point are refused, and the first file is then as it was.");
  command.add_option("output", options->output, "Database to make, or to add to").required();
  command.add_option("inputs", options->inputs, "Databases that `forescale sweep` has made")
      .required();
  add_output_options(command, options->printed);
  command.callback([options, command] {
    options->line = command.line();
    run(*options);
  });
}

const bool kMergeRegistered = Registry<Command>::add({.name = "merge", .add = add_merge});

}  // namespace
}  // namespace forescale
