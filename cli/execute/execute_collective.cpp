// `forescale execute collective`: registered plans on real MPI with real floats, beside their
// prediction where platform and stack are given.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "base/units.hpp"
#include "cli/calibrate/calibrate_where.hpp"
#include "cli/collective/collective_experiment.hpp"
#include "cli/execute/execute.hpp"

namespace forescale {
namespace {

struct ExecuteCollectiveOptions {
  MpiPlace place;
  std::string platform;
  std::string stack;
  std::string budget = "60s";
  CollectiveExperimentText text;
};

// This process's, where a launcher has started it.
int rank_in_job() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* text = std::getenv(name)) return std::atoi(text);
  return 0;
}

// Of the questions; the place then has room for the most.
std::vector<std::int64_t> ranks_of(ExecuteCollectiveOptions& options) {
  if (options.text.ranks.empty()) return {rank_count(options.place)};
  std::vector<std::int64_t> ranks = parse_integers(options.text.ranks, "--ranks");
  const std::int64_t most = *std::max_element(ranks.begin(), ranks.end());
  constexpr std::int64_t kRanksMax = 4096;
  const std::int64_t limit = is_in_mpi() ? rank_count(options.place) : kRanksMax;
  if (most > limit)
    throw InputError({.source = "--ranks",
                      .path = "",
                      .value = std::to_string(most),
                      .constraint = fmt::format("must be at most {}{}", limit,
                                                is_in_mpi() ? ", the ranks of this job" : "")});
  options.place.ranks = static_cast<int>(most);
  return ranks;
}

MachineScenarios machine_of(const ExecuteCollectiveOptions& options) {
  if (!options.platform.empty()) return load_machines(options.platform, options.stack);
  if (!options.stack.empty())
    throw InputError({.source = "--stack",
                      .path = "",
                      .value = options.stack,
                      .constraint = "needs --platform: both make a prediction"});
  if (!options.text.expect.empty())
    throw InputError({.source = "--expect",
                      .path = "",
                      .value = options.text.expect,
                      .constraint = "needs --platform and --stack: it is about predictions"});
  return {};
}

void execute(ExecuteCollectiveOptions& options) {
  const CollectiveQuestions questions = questions_of(options.text, ranks_of(options));
  const MachineScenarios machine = machine_of(options);
  const ExecutionSettings settings{.budget_s = parse_seconds(options.budget, "--budget").value,
                                   .nap_s = nap_of(options.text),
                                   .channels = machine.empty() ? 1 : machine.front().stack.channels,
                                   .seed = options.text.seed};
  // Rank 0 of a job runs the program as its child and compares; the others are all program.
  if (is_in_mpi() && rank_in_job() != 0)
    become_mpi_program(options.place, execution_request(questions.asked, settings).request.dump(1),
                       "/dev/null");
  std::vector<std::string> command = mpi_command(options.place, rank_count(options.place));
  if (is_in_mpi()) command = {command.back()};
  std::vector<TimeRange> predicted;
  if (!machine.empty()) predicted = predict_collectives(questions.asked, machine);
  CollectiveExperiment experiment;
  experiment.refused = questions.refused;
  experiment.about = nlohmann::json::object();
  if (!machine.empty())
    experiment.about = {{"platform", machine.front().platform.name},
                        {"stack", machine.front().stack.name}};
  Execution execution;
  {
    RunProgress progress("executing", settings.budget_s);
    execution = execute_collectives(questions.asked, settings, command, progress.line());
  }
  experiment.rows = compare_collectives(questions.asked, predicted, execution);
  experiment.library = execution.library;
  experiment.failure = execution.failure;
  report(experiment, options.text);
}

void run(ExecuteCollectiveOptions& options) {
  try {
    execute(options);
  } catch (const InputError&) {
    // Every rank of a job finds the same; rank 0 says so, before its launcher ends the others.
    if (is_in_mpi() && rank_in_job() != 0) std::_Exit(0);
    throw;
  }
}

void add_execute_collective(Subcommand execute) {
  auto options = std::make_shared<ExecuteCollectiveOptions>();
  Subcommand command =
      execute.add_subcommand("collective", "Registered plans on real MPI: sums checked, times");
  command.footer(
      "Times are of the slowest rank, medians with their 95 % interval. With --platform and "
      "--stack\n"
      "the same plans are predicted first; the interval is what uncertain numbers cause.\n\n"
      "Examples:\n"
      "  forescale execute collective --ranks 3 --bytes 64KiB,1MiB\n"
      "  forescale execute collective --testbed default --platform mine-platform.json \\\n"
      "    --stack mine-stack.json --ranks 2..8 --bytes 64KiB..16MiB --budget 5min\n"
      "  forescale execute collective --hostfile hosts.txt --bytes 1MiB --mpi mpich \\\n"
      "    --plans all-reduce/ring reduce/cb:chain_size=4,chunk_bytes=64KiB\n"
      "  mpirun -np 16 forescale execute collective --bytes 1MiB..64MiB -o executed.json");
  add_place_options(command, options->place);
  // Several counts here.
  command.remove_option("--ranks");
  command.add_option("--ranks", options->text.ranks,
                     "Rank counts: 8, 2,3,4 or 2..8, doubling (default: one a host; needed where "
                     "neither testbed nor hosts are named)");
  command.add_option("--bytes", options->text.bytes, "Sizes: 1MiB or 64KiB..16MiB (doubling)")
      .required();
  command.add_option("--platform", options->platform, "Predict on it: preset, JSON file");
  command.add_option("--stack", options->stack, "What `calibrate fit` wrote beside it");
  command.add_option("--budget", options->budget, "Time for the execution (default 60s)");
  add_experiment_options(command, options->text);
  command.callback([options, command] {
    options->text.line = command.line();
    run(*options);
  });
}

const bool kExecuteCollectiveRegistered =
    Registry<ExecuteCommand>::add({.name = "collective", .add = add_execute_collective});

}  // namespace
}  // namespace forescale
