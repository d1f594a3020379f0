// `forescale sweep`: the answers to a study, one simulation a process, in a database that survives.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "base/progress.hpp"
#include "cli/sweep/sweep_commands.hpp"
#include "cli/sweep/sweep_output.hpp"
#include "cli/version.hpp"
#include "sim/isolate.hpp"
#include "studies/sweep/sweep_run.hpp"
#include "studies/sweep/sweep_slurm.hpp"
#include "studies/sweep/sweep_worker.hpp"

namespace forescale {
namespace {

struct SweepOptions {
  std::string study;
  std::string output;
  int jobs = 0;  // 0: all cores, or one where a launcher has started several ranks
  bool retry = false;
  std::string shard;
  std::string emit;
  int shards = 0;
  OutputOptions printed;
  std::string line;  // as typed
};

// Where a launcher has put this process among others.
struct LaunchRank {
  int rank = 0;
  int count = 1;
};

int integer_of(const char* name, int fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::atoi(text);
}

// Open MPI's mpirun, and those that speak PMI: MPICH, Intel MPI, MVAPICH2, srun --mpi=pmi2.
LaunchRank launch_rank() {
  for (const auto& [rank, count] :
       {std::pair{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}})
    if (const LaunchRank found{integer_of(rank, -1), integer_of(count, 0)};
        found.rank >= 0 && found.rank < found.count)
      return found;
  return {};
}

int run_forescale(const std::vector<std::string>& arguments) {
  std::string name = "forescale";
  std::vector<std::string> copies = arguments;
  std::vector<char*> pointers{name.data()};
  for (std::string& copy : copies) pointers.push_back(copy.data());
  return forescale_main(static_cast<int>(pointers.size()), pointers.data());
}

void emit(const SweepOptions& options, const Study& study, const std::string& output) {
  namespace fs = std::filesystem;
  fmt::print("{}", slurm_script({.program = fs::canonical("/proc/self/exe"),
                                 .study = fs::absolute(options.study),
                                 .output = fs::absolute(output),
                                 .folder = fs::current_path(),
                                 .name = study.name,
                                 .shards = options.shards,
                                 .jobs = std::max(1, options.jobs)}));
}

// A study of which every point is bad input is bad input.
void refuse_hopeless(const std::string& study, SweepDatabase& database) {
  const SweepTally tally = database.tally();
  if (tally.done > 0 || tally.missing > 0 || tally.failed == 0) return;
  const std::vector<SweepRow> rows = database.rows();
  const auto is_bad_input = [](const SweepRow& row) { return row.exit_code == 2; };
  if (!std::all_of(rows.begin(), rows.end(), is_bad_input)) return;
  throw InputError({.source = study,
                    .path = "",
                    .value = "",
                    .constraint = fmt::format("has no point that can be answered; the first: {}",
                                              rows.front().reason)});
}

void run_first_rank(const SweepOptions& options, const Study& study, const StudyShard& shard,
                    const std::string& output, int jobs, int workers) {
  SweepDatabase database(output, facts_of(study, kVersion));
  const std::set<std::string> settled = database.settled_keys(options.retry);
  std::vector<std::size_t> points = points_of(study, shard);
  std::erase_if(points,
                [&](std::size_t point) { return settled.contains(study.points[point].key); });
  ProgressLine progress(study.name, points.size());
  const SweepProgram program = run_forescale;
  run_sweep({.study = study,
             .database = database,
             .program = program,
             .points = points,
             .jobs = jobs,
             .workers = workers,
             .on_progress = [&](std::size_t done) { progress.done(done); }});
  print_sweep(database, options.printed, options.line);
  refuse_hopeless(options.study, database);
}

void run(const SweepOptions& options) {
  const Study study = load_study(options.study, sweep_commands());
  const StudyShard shard = options.shard.empty() ? StudyShard{} : parse_shard(options.shard);
  std::string output = options.output.empty() ? study.name + ".sqlite" : options.output;
  if (!options.emit.empty()) {
    emit(options, study, output);
    return;
  }
  if (options.output.empty() && shard.count > 1) output = shard_file(output, shard);
  const LaunchRank launch = launch_rank();
  const int jobs = options.jobs > 0 ? options.jobs : launch.count > 1 ? 1 : available_cores();
  if (launch.rank == 0) {
    run_first_rank(options, study, shard, output, jobs, launch.count - 1);
  } else {
    const SweepProgram program = run_forescale;
    run_sweep_worker({.study = study,
                      .version = kVersion,
                      .address_file = address_file_of(output),
                      .program = program,
                      .slots = jobs});
  }
}

void add_sweep(Subcommand app) {
  auto options = std::make_shared<SweepOptions>();
  Subcommand command = app.add_subcommand(
      "sweep", "Answer a study of many points, resumable, on all cores or several machines");
  command.footer(
      "Examples:\n"
      "  forescale sweep study.json                      all cores; answers in study.sqlite\n"
      "  forescale sweep study.json                      again: goes on where it was killed\n"
      "  forescale sweep study.json --csv > study.csv    the table of its answers\n"
      "  sqlite3 study.sqlite 'SELECT * FROM result'     the same, and docs/sweep.md for more\n"
      "Beyond one machine:\n"
      "  forescale sweep study.json --shard 0/4          one of four parts, see forescale merge\n"
      "  forescale sweep study.json --emit slurm --shards 16 > study.sbatch\n"
      "  mpirun -np 8 forescale sweep study.json         rank 0 hands out, all simulate\n"
      "A study is a grid, or a list of points, over the options of collective, crossover or "
      "predict:\n"
      "  {\"format\": \"forescale-study-1\", \"command\": \"collective\",\n"
      "   \"fixed\": {\"platform\": \"kesch\", \"op\": \"reduce\"},\n"
      "   \"grid\": {\"ranks\": [16, 32], \"bytes\": [\"1MiB\", \"8MiB\"]}}\n"
      "A point that fails is kept with its reason, and the rest goes on.");
  command.add_option("study", options->study, "Study, a JSON file").required();
  command.add_option("-o,--output", options->output,
                     "SQLite database to make or to continue (default: the study's name with "
                     ".sqlite, here)");
  command
      .add_option("--jobs", options->jobs,
                  "Simulations at a time (default: all cores; under mpirun 1 a rank)")
      .positive();
  CommandOption retry = command.add_flag("--retry", options->retry, "Run failed points again");
  CommandOption shard =
      command.add_option("--shard", options->shard, "Only part i of N: 0/4 to 3/4");
  CommandOption emit = command.add_option("--emit", options->emit,
                                          "Run nothing, but print a batch script that does: slurm");
  CommandOption shards =
      command.add_option("--shards", options->shards, "Tasks of the batch script's array");
  emit.one_of({"slurm"}).needs(shards).excludes(shard).excludes(retry);
  shards.in_range(1, kShardsMax).needs(emit);
  add_output_options(command, options->printed);
  command.callback([options, command] {
    options->line = command.line();
    run(*options);
  });
}

const bool kSweepRegistered = Registry<Command>::add({.name = "sweep", .add = add_sweep});

}  // namespace
}  // namespace forescale
