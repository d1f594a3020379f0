// `forescale execute --testbed`: measure point-to-point patterns on a testbed, fit, predict
// collectives, execute them, compare. Nothing that is executed has been timed before it was
// predicted.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/scratch_folder.hpp"
#include "base/units.hpp"
#include "calibrate/fit/fit_cluster.hpp"
#include "calibrate/measure/measure.hpp"
#include "calibrate/testbed/testbed.hpp"
#include "cli/calibrate/calibrate_where.hpp"
#include "cli/collective/collective_experiment.hpp"
#include "cli/execute/execute.hpp"
#include "sim/isolate.hpp"

namespace forescale {
namespace {

using nlohmann::json;

struct ExecuteTestbedOptions {
  std::string testbed;  // empty: a name of its own
  TestbedSpec spec;
  std::string rate = "500mbit";
  std::string library;
  std::string measure_budget = "60s";
  std::string execute_budget = "300s";
  double measure_budget_s = 0;
  double execute_budget_s = 0;
  std::string keep;
  CollectiveExperimentText text;
};

// Where --keep says that files go: an empty folder, or one that does not exist yet.
class Folder {
 public:
  explicit Folder(const std::string& path) : path_(path) {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    if (!error && !std::filesystem::is_empty(path_, error) && !error)
      throw InputError({.source = "--keep",
                        .path = "",
                        .value = path_,
                        .constraint = "must be empty, or a folder that does not exist yet"});
    if (error)
      throw InputError(
          {.source = "--keep", .path = "", .value = path_, .constraint = error.message()});
  }

  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::vector<std::int64_t> ranks_of(const ExecuteTestbedOptions& options) {
  std::vector<std::int64_t> ranks;
  if (options.text.ranks.empty())
    for (int count = 2; count <= options.spec.hosts; ++count) ranks.push_back(count);
  else
    ranks = parse_integers(options.text.ranks, "--ranks");
  for (const std::int64_t count : ranks)
    if (count > options.spec.hosts)
      throw InputError({.source = "--ranks",
                        .path = "",
                        .value = std::to_string(count),
                        .constraint = fmt::format("must be at most {}, the hosts of the testbed",
                                                  options.spec.hosts)});
  return ranks;
}

// Patterns of messages, and the sum of two arrays; nothing that is a collective.
std::vector<Pattern> patterns() {
  return {Pattern::kPingPong,    Pattern::kShift,  Pattern::kExchange,
          Pattern::kFanIn,       Pattern::kFanOut, Pattern::kPairs,
          Pattern::kLateReceive, Pattern::kStream, Pattern::kReduction};
}

void say(const std::string& step) {
  if (isatty(STDERR_FILENO) == 1) fmt::print(stderr, "{}\n", step);
}

using KeptFolder = std::optional<Folder>;  // nothing: nothing is kept

Measurement measured(const ExecuteTestbedOptions& options, const Testbed& testbed,
                     const std::vector<std::string>& command, std::int64_t bytes_max,
                     const KeptFolder& kept) {
  constexpr std::int64_t kLeastBytesMax = 1 << 20;  // for a bandwidth
  MeasureOptions measure_options{.ranks = options.spec.hosts,
                                 .bytes_max = std::max(bytes_max, kLeastBytesMax),
                                 .patterns = patterns(),
                                 .nap_s = nap_of(options.text),
                                 .seed = options.text.seed,
                                 .machine = "testbed " + testbed.spec().name};
  measure_options.provenance["shared_cores"] = std::to_string(available_cores());
  measure_options.provenance["command"] = fmt::format(
      "forescale execute --testbed --hosts {} --rate {} --topology {} --measure-budget {}",
      options.spec.hosts, options.rate, options.spec.topology, options.measure_budget);
  measure_options.budget_s = options.measure_budget_s;
  RunProgress progress("measuring", measure_options.budget_s);
  const MeasureOutcome outcome = measure(command, measure_options, progress.line());
  const bool is_kept = kept && !outcome.measurement.series.empty();
  if (is_kept) write_measurement(outcome.measurement, kept->file("measurement.json"));
  if (!outcome.failure.empty())
    throw SimulationStuck(fmt::format(
        "measuring failed: {}{}", outcome.failure,
        is_kept ? "; what was measured so far is in " + kept->file("measurement.json") : ""));
  return outcome.measurement;
}

MachineScenarios fitted(const Measurement& measurement, const KeptFolder& kept) {
  const ClusterFit fit = fit_cluster(measurement, "the measurement", {.name = "testbed"});
  for (const std::string& warning : fit.warnings) say("note: " + warning);
  const ScratchFolder scratch("fit");
  const auto written = [&](const std::string& name, const json& content) {
    std::string file = kept ? kept->file(name) : scratch.file(name);
    write_json(file, content, "--keep");
    return file;
  };
  return load_machines(written("platform.json", fit.platform), written("stack.json", fit.stack));
}

json testbed_json(const TestbedSpec& spec) {
  return {
      {"hosts", spec.hosts}, {"rate_bytes_per_s", spec.rate.value}, {"topology", spec.topology}};
}

void keep_predictions(const KeptFolder& kept, const std::vector<CollectiveQuestion>& questions,
                      const std::vector<TimeRange>& predicted) {
  if (!kept) return;
  const Execution nothing{.library = "",
                          .collectives = std::vector<ExecutedCollective>(questions.size())};
  json rows = json::array();
  for (const CollectiveRow& row : compare_collectives(questions, predicted, nothing))
    rows.push_back(to_json(row));
  write_json(kept->file("predicted.json"),
             {{"format", "forescale-predicted-collectives-1"}, {"rows", rows}}, "--keep");
}

// Says so where the budget will not do.
void compare_budget(const std::vector<TimeRange>& predicted, const ExecutionSettings& settings) {
  double once_s = 0;
  for (const TimeRange& time : predicted) once_s += time.time_s;
  const double least_s = once_s * (settings.repetitions_min + 1);  // and one to warm up
  if (least_s > settings.budget_s)
    say(
        fmt::format("note: {} repetitions of everything take about {:.0f} s: some will be left out "
                    "(--execute-budget, or fewer --ranks and --bytes)",
                    settings.repetitions_min, least_s));
}

CollectiveExperiment experiment_on(const Testbed& testbed, const ExecuteTestbedOptions& options,
                                   const CollectiveQuestions& questions, const KeptFolder& kept) {
  const MpiPlace place{.testbed = testbed.spec().name,
                       .hostfile = "",
                       .ranks = options.spec.hosts,
                       .library = options.library};
  const std::vector<std::string> command = mpi_command(place, options.spec.hosts);
  std::int64_t bytes_max = 0;
  for (const CollectiveQuestion& question : questions.asked)
    bytes_max = std::max(bytes_max, question.bytes);
  const Measurement measurement = measured(options, testbed, command, bytes_max, kept);
  const MachineScenarios machine = fitted(measurement, kept);
  const std::vector<TimeRange> predicted = predict_collectives(questions.asked, machine);
  keep_predictions(kept, questions.asked, predicted);

  const ExecutionSettings settings{.budget_s = options.execute_budget_s,
                                   .nap_s = nap_of(options.text),
                                   .channels = machine.front().stack.channels,
                                   .seed = options.text.seed};
  compare_budget(predicted, settings);
  Execution execution;
  {
    RunProgress progress("executing", settings.budget_s);
    execution = execute_collectives(questions.asked, settings, command, progress.line());
  }
  CollectiveExperiment experiment;
  experiment.about = {{"testbed", testbed_json(testbed.spec())}};
  experiment.refused = questions.refused;
  experiment.library = execution.library;
  experiment.rows = compare_collectives(questions.asked, predicted, execution);
  experiment.failure = execution.failure;
  if (kept) write_json(kept->file("executed.json"), to_json(experiment), "--keep");
  return experiment;
}

double budget_of(const std::string& text, const std::string& option) {
  const double budget_s = parse_seconds(text, option).value;
  if (budget_s < 1)
    throw InputError(
        {.source = option, .path = "", .value = text, .constraint = "must be at least 1s"});
  return budget_s;
}

bool is_up(const std::string& name) {
  const std::vector<std::string> names = Testbed::all();
  return std::find(names.begin(), names.end(), name) != names.end();
}

void refuse_where_impossible() {
  const std::string obstacle = testbed_obstacle();
  if (!obstacle.empty())
    throw InputError({.source = "--testbed",
                      .path = "",
                      .value = "",
                      .constraint = "this machine cannot hold one: " + obstacle});
}

void run(ExecuteTestbedOptions& options, Subcommand command) {
  options.spec.rate = parse_rate(options.rate, "--rate");
  options.measure_budget_s = budget_of(options.measure_budget, "--measure-budget");
  options.execute_budget_s = budget_of(options.execute_budget, "--execute-budget");
  options.spec.name = options.testbed.empty() ? fmt::format("x{}", getpid()) : options.testbed;
  testbed_network(options.spec);
  CollectiveExperiment experiment;
  KeptFolder kept;
  if (is_up(options.spec.name)) {
    for (const char* option : {"--hosts", "--rate", "--topology"})
      if (command.count(option) > 0)
        throw InputError({.source = option,
                          .path = "",
                          .value = command.get_option(option).text(),
                          .constraint = fmt::format("cannot be changed: testbed {} is up already",
                                                    options.spec.name)});
    const Testbed testbed = Testbed::find(options.spec.name, "--testbed");
    options.spec = testbed.spec();
    options.rate = fmt::format("{:g}mbit", options.spec.rate.value * 8 / 1e6);
    const CollectiveQuestions questions = questions_of(options.text, ranks_of(options));
    if (!options.keep.empty()) kept.emplace(options.keep);
    experiment = experiment_on(testbed, options, questions, kept);
  } else {
    const CollectiveQuestions questions = questions_of(options.text, ranks_of(options));
    refuse_where_impossible();
    if (!options.keep.empty()) kept.emplace(options.keep);
    say(fmt::format("a testbed of {} hosts, {}, {}", options.spec.hosts, options.rate,
                    options.spec.topology));
    const ScopedTestbed scoped(options.spec);
    experiment = experiment_on(scoped.testbed(), options, questions, kept);
  }
  report(experiment, options.text);
}

}  // namespace

void add_testbed_experiment(Subcommand execute) {
  auto options = std::make_shared<ExecuteTestbedOptions>();
  options->text.bytes = "64KiB..16MiB";
  execute.footer(
      "With --testbed and no verb: brings a testbed up (or takes one that is up), measures how\n"
      "messages travel on it, fits platform and stack, predicts collectives, executes them,\n"
      "compares, and takes down what it has brought up.\n\n"
      "Examples:\n"
      "  forescale execute --testbed\n"
      "  forescale execute --testbed --hosts 4 --rate 200mbit --ranks 2,4 --bytes 64KiB..1MiB \\\n"
      "    --measure-budget 10s --execute-budget 20s\n"
      "  forescale execute --testbed --topology two-switches:trunk=300mbit --keep results \\\n"
      "    --expect median_256k=10%,median=20%,regret5=90%\n"
      "  forescale execute collective --ranks 3 --bytes 64KiB,1MiB");
  execute
      .add_option("--testbed", options->testbed,
                  "Do all of it on a testbed; with a name: on that one, kept if it is up already")
      .expected(0, 1);
  execute.add_option("--hosts", options->spec.hosts, "Hosts of the testbed (default 8)");
  execute.add_option("--rate", options->rate, "Of every cable, both ways (default 500mbit)");
  execute.add_option("--topology", options->spec.topology,
                     "star (default), two-switches:trunk=300mbit or slow-host=3:100mbit");
  execute.add_option(
      "--ranks", options->text.ranks,
      "Rank counts: 2,4,8 or 2..8, doubling (default: every one from 2 to all hosts)");
  execute.add_option("--bytes", options->text.bytes, "Sizes (default 64KiB..16MiB, doubling)");
  execute.add_option("--mpi", options->library, "openmpi (default) or mpich")
      .one_of({"openmpi", "mpich"});
  execute.add_option("--measure-budget", options->measure_budget,
                     "Time for the measurement (default 60s)");
  execute.add_option("--execute-budget", options->execute_budget,
                     "Time for the execution (default 300s)");
  execute.add_option("--keep", options->keep,
                     "Write measurement, platform, stack, predictions and what was executed here");
  add_experiment_options(execute, options->text);
  execute.callback([options, execute] {
    if (execute.has_chosen_subcommand()) return;
    if (execute.count("--testbed") == 0)
      throw InputError({.source = "execute",
                        .path = "",
                        .value = "",
                        .constraint = "needs --testbed, or a verb: collective, schedule"});
    options->text.line = execute.line();
    run(*options, execute);
  });
}

}  // namespace forescale
