// `forescale calibrate measure`: the microbenchmarks, on a testbed, over loopback, on the hosts of
// a file, or as the ranks that mpirun or srun has just started; with --gpu those of a GPU.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/units.hpp"
#include "calibrate/measure/measure.hpp"
#include "calibrate/measure/mpi_launch.hpp"
#include "cli/calibrate/calibrate.hpp"
#include "cli/calibrate/calibrate_measure_gpu.hpp"
#include "cli/calibrate/calibrate_where.hpp"
#include "cli/calibrate/measure_session.hpp"
#include "cli/catalogue/catalogue.hpp"
#include "cli/text.hpp"
#include "sim/isolate.hpp"

namespace forescale {
namespace {

struct CalibrateMeasureOptions {
  MpiPlace place;
  std::string budget;
  std::string bytes_max;
  std::vector<std::string> patterns;
  std::string wait = "nap";
  std::string file;
  bool json = false;
  MeasureOptions measure;
  GpuChoice gpu;
};

std::vector<Pattern> read_patterns(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const Pattern pattern : rank_patterns()) known.emplace_back(name_of(pattern));
  std::vector<Pattern> patterns;
  for (const std::string& name : names) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end())
      throw InputError({.source = "--patterns",
                        .path = "",
                        .value = name,
                        .constraint = unknown_name(name, known)});
    patterns.push_back(rank_patterns()[static_cast<std::size_t>(found - known.begin())]);
  }
  return patterns;
}

// What to type to measure the same again; without names of hosts.
std::string command_text(const CalibrateMeasureOptions& options) {
  std::string text = "forescale calibrate measure";
  if (!options.place.testbed.empty()) text += " --testbed " + options.place.testbed;
  if (!options.place.hostfile.empty()) text += " --hostfile FILE";
  text += fmt::format(" --ranks {} --budget {} --max-bytes {} --wait {}", options.measure.ranks,
                      options.budget, options.bytes_max, options.wait);
  if (!options.patterns.empty())
    text += fmt::format(" --patterns {}", fmt::join(options.patterns, ","));
  if (options.measure.library_collectives) text += " --library-collectives";
  return text;
}

void complete(CalibrateMeasureOptions& options) {
  MeasureOptions& measure = options.measure;
  if (options.budget.empty()) options.budget = "30s";
  if (options.bytes_max.empty()) options.bytes_max = "64MiB";
  measure.budget_s = parse_seconds(options.budget, "--budget").value;
  measure.bytes_max = parse_bytes(options.bytes_max, "--max-bytes").value;
  measure.patterns = read_patterns(options.patterns);
  if (options.wait == "spin") measure.nap_s = 0;
  measure.ranks = rank_count(options.place);
  measure.provenance["command"] = command_text(options);
  if (options.place.hostfile.empty())
    measure.provenance["shared_cores"] = std::to_string(available_cores());
}

void run(CalibrateMeasureOptions& options) {
  if (options.gpu.is_wanted) {
    measure_on_gpu(options.gpu, {.budget = options.budget,
                                 .bytes_max = options.bytes_max,
                                 .patterns = options.patterns,
                                 .machine = options.measure.machine,
                                 .output = {options.file, options.json}});
    return;
  }
  complete(options);
  if (is_in_mpi()) {
    if (options.file.empty())
      throw InputError({.source = "-o",
                        .path = "",
                        .value = "",
                        .constraint = "is needed where mpirun or srun has started this program"});
    become_mpi_program(options.place, default_request(options.measure), options.file);
  }
  const std::vector<std::string> command = mpi_command(options.place, options.measure.ranks);
  check_writable(options.file, "-o");
  NotedSignals signals;
  const MeasureOutcome outcome = measure(command, options.measure, show_progress);
  show_progress("");
  conclude(outcome, {options.file, options.json}, signals);
}

void add_calibrate_measure(Subcommand calibrate) {
  auto options = std::make_shared<CalibrateMeasureOptions>();
  Subcommand verb = add_verb(
      calibrate,
      {.name = "measure",
       .summary = "Microbenchmarks over MPI or, with --gpu, of a GPU: what fits are made of",
       .examples = {"calibrate measure --testbed default --budget 60s -o measurement.json",
                    "calibrate measure --ranks 4 --budget 5s --max-bytes 1MiB",
                    "calibrate measure --hostfile hosts.txt --mpi mpich -o measurement.json",
                    "calibrate measure --gpu --budget 10min -o gpu.json",
                    ("calibrate measure --gpu --networks alexnet,resnet-50 --batches 1,32 "
                     "--precisions fp32 -o gpu.json")}});
  add_place_options(verb, options->place);
  verb.add_option("--budget", options->budget, "Time for all of it (default 30s; of a GPU 60s)");
  verb.add_option(
      "--max-bytes", options->bytes_max,
      "Largest message of a ping-pong (default 64MiB); other patterns stop at 2 MiB. Of a "
      "GPU: the largest copy or reduction (default 256MiB)");
  verb.add_option("--patterns", options->patterns,
                  "Only these: ping-pong,shift,fan-in,...; of a GPU: launch,host-to-device,...")
      .delimiter(',');
  verb.add_flag("--library-collectives", options->measure.library_collectives,
                "Also the MPI library's reduce, broadcast and all-reduce, for comparison");
  verb.add_option("--wait", options->wait,
                  "How ranks wait: nap (default; few cores for many ranks) or spin")
      .one_of({"nap", "spin"});
  verb.add_flag("--include-environment", options->measure.include_environment,
                "Also write down the variables of MPI, its transports and Slurm (may name hosts)");
  verb.add_flag("--include-hosts", options->measure.include_hosts, "Also write down host names");
  verb.add_option("--machine", options->measure.machine, "What people call the machine");
  verb.add_flag("--json", options->json, "Print JSON for machines");
  verb.add_option("-o,--out", options->file,
                  "Write the measurement here; after a failure what was measured until then");
  add_gpu_options(verb, options->gpu,
                  {"--testbed", "--hostfile", "--ranks", "--mpi", "--wait", "--library-collectives",
                   "--include-environment", "--include-hosts"});
  verb.callback([options] { run(*options); });
}

const bool kCalibrateMeasureRegistered =
    Registry<CalibrateCommand>::add({.name = "measure", .add = add_calibrate_measure});

}  // namespace
}  // namespace forescale
