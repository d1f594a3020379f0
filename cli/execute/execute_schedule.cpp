// `forescale execute schedule`: training schedules on real MPI beside their prediction.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "calibrate/testbed/testbed.hpp"
#include "cli/calibrate/calibrate_where.hpp"
#include "cli/catalogue/catalogue.hpp"
#include "cli/catalogue/schedule_table.hpp"
#include "cli/command.hpp"
#include "cli/execute/execute.hpp"
#include "cli/network_warnings.hpp"
#include "cli/question_options.hpp"
#include "cli/text.hpp"
#include "studies/execute/executed_schedules.hpp"

namespace forescale {
namespace {

using nlohmann::json;

struct ExecuteScheduleOptions {
  QuestionOptions question;
  ScheduleExperimentSettings settings;
  RangeOptions range;
  MpiPlace place;
  std::string compute = "sleep";
  std::string wait = "nap";
  std::string timeout = "10min";
  std::string executed;
  std::string file;
  bool json = false;
  std::string line;  // as typed
};

constexpr double kNap_s = 20e-6;

json read_answer(const std::string& file) { return JsonInput::from_file(file).raw(); }

// Where MPI runs a request: launched, or in what was executed before.
MpiEngine engine_of(const ExecuteScheduleOptions& options) {
  MpiEngine engine;
  engine.nap_s = options.wait == "nap" ? kNap_s : 0;
  if (!options.executed.empty()) {
    engine.run = [file = options.executed](const json&, int) { return read_answer(file); };
    return engine;
  }
  engine.run =
      launching_engine([place = options.place](int ranks) { return mpi_command(place, ranks); },
                       parse_seconds(options.timeout, "--timeout").value)
          .run;
  if (!options.place.testbed.empty())
    engine.hosts = Testbed::find(options.place.testbed, "--testbed").spec().hosts;
  return engine;
}

std::string only_schedule(const ExecuteScheduleOptions& options, const std::string& option) {
  const std::vector<std::string> schedules = schedules_of(options.settings);
  if (schedules.size() == 1) return schedules.front();
  throw InputError({.source = "--schedules",
                    .path = "",
                    .value = fmt::format("{}", fmt::join(options.settings.schedules, ",")),
                    .constraint = "must be one schedule " + option});
}

void run(ExecuteScheduleOptions& options) {
  options.settings.question = options.question.question();
  say_model_warnings(options.settings.question.model, options.settings.question.input_shape,
                     options.settings.question.sequence);
  options.settings.draws = options.range.asked();
  for (const Compute compute : {Compute::kSleep, Compute::kSpin, Compute::kGemm})
    if (options.compute == name_of(compute)) options.settings.compute = compute;
  if (options.settings.workers == 0) options.settings.workers = rank_count(options.place);
  if (is_in_mpi() && options.executed.empty()) {
    const std::string schedule =
        only_schedule(options, "where mpirun or srun has started this program");
    if (options.file.empty())
      throw InputError({.source = "-o",
                        .path = "",
                        .value = "",
                        .constraint = "is needed where mpirun or srun has started this program"});
    become_mpi_program(options.place,
                       mpi_request(make_experiment(options.settings, schedule, 0),
                                   options.wait == "nap" ? kNap_s : 0)
                           .dump(),
                       options.file);
  }
  if (!options.executed.empty()) only_schedule(options, "with --executed");
  const ScheduleComparison comparison =
      compare_schedules(options.settings, engine_of(options),
                        [](const std::string& step) { fmt::print(stderr, "{}\n", step); });
  nlohmann::json document = to_json(comparison);
  document["command"] = options.line;
  const std::string text = document.dump(2);
  if (!options.file.empty()) write_file(options.file, text + "\n", "-o");
  if (options.json)
    fmt::print("{}\n", text);
  else
    fmt::print("{}", schedule_table(comparison));
}

void add_execute_schedule(Subcommand execute) {
  auto options = std::make_shared<ExecuteScheduleOptions>();
  Subcommand command = execute.add_subcommand(
      "schedule", "Training schedules on real MPI, compute emulated, beside their prediction");
  command.footer(
      "Every rank runs the schedule that the simulator runs: it really sends the bytes, and waits\n"
      "as long as the platform's emulated GPU would compute. Times are of the steady state at\n"
      "rank 0; exposed communication is what no kernel hides. The table's holds waiting for ranks "
      "that\n"
      "have not called a collective yet, which real ranks cannot tell apart; --json has it as\n"
      "waiting_s, beside exposed_communication_s as in predict.\n\n"
      "Examples:\n"
      "  forescale testbed up --hosts 8 --rate 500mbit\n"
      "  forescale calibrate measure --testbed default -o measurement.json\n"
      "  forescale calibrate fit measurement.json --name mine --emulated-gpu k80\n"
      "  forescale execute schedule --testbed default --platform mine-platform.json \\\n"
      "    --stack mine-stack.json --model googlenet --batch 256 --compute-scale 2 \\\n"
      "    --schedules phases,sc-ob,sc-obr,layer-all-reduce\n"
      "  mpirun -np 8 forescale execute schedule ... --schedules sc-obr -o executed.json\n"
      "  forescale execute schedule ... --gpus 8 --schedules sc-obr --executed executed.json\n"
      "The last two run and compare on a cluster whose launcher starts everything.");
  add_place_options(command, options->place);
  add_question_options(command, options->question, {"platform", "stack", "model", "batch"},
                       {"system", "schedule", "gpus", "options", "epoch_images"});
  command.add_option("--gpus", options->settings.workers, "Workers (default: as --ranks)")
      .in_range(1, 4096);
  command
      .add_option("--schedules", options->settings.schedules,
                  "Names by commas, or `all`; options as in ddp:bucket_cap=1MiB, which may be "
                  "repeated (see `forescale schedule list`)")
      .allow_extra_args(false)
      .required();
  command
      .add_option("--compute", options->compute,
                  "How kernels pass their time: sleep (default), spin or gemm")
      .one_of({"sleep", "spin", "gemm"});
  add_range_options(command, options->range);
  command.add_option("--wait", options->wait, "Between polls: nap (default) or spin")
      .one_of({"nap", "spin"});
  command.add_option("--timeout", options->timeout, "For one schedule (default 10min)");
  command.add_option("--executed", options->executed,
                     "Compare with what mpirun executed before (its -o), and run nothing");
  command.add_option("-o,--output", options->file, "Write the comparison as JSON");
  command.add_flag("--json", options->json, "Print JSON for machines");
  command.callback([options, command] {
    options->line = command.line();
    run(*options);
  });
}

const bool kExecuteScheduleRegistered =
    Registry<ExecuteCommand>::add({.name = "schedule", .add = add_execute_schedule});

}  // namespace
}  // namespace forescale
