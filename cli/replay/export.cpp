// `forescale export`: a program or a trace in the formats of other simulators.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/registry.hpp"
#include "cli/command.hpp"
#include "cli/replay/trace_options.hpp"
#include "studies/export/export_goal.hpp"
#include "studies/replay/replay_run.hpp"
#include "traces/formats/chakra/write_chakra.hpp"
#include "traces/formats/smpi/write_smpi.hpp"

namespace forescale {
namespace {

struct ExportOptions {
  TraceText trace;
  ReplayText place;
  std::string format;
  std::string out;
  double host_flops_per_s = 1e9;
};

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fmt::print("note: {}\n", note);
}

// PREFIX.0.et, PREFIX.1.et, ... and PREFIX.groups.json, as ASTRA-sim names them.
void write_chakra(const Program& program, const std::string& prefix) {
  ChakraWriter writer(program);
  for (int rank = 0; rank < static_cast<int>(program.ranks.size()); ++rank)
    write_file(
        fmt::format("{}.{}.et", prefix, rank),
        [&](std::ostream& out) { writer.write_rank(rank, out); }, "-o");
  write_file(prefix + ".groups.json", writer.groups_json() + "\n", "-o");
  fmt::print("{0}.0.et to {0}.{1}.et, groups: {0}.groups.json\n", prefix, program.ranks.size() - 1);
  print_notes(writer.notes());
}

void write_goal(const Program& program, const ExportOptions& options) {
  ReplayText text = options.place;
  text.files = options.trace.files;
  const ReplayPlace place = replay_place(text, program, Scenario::kNominal);
  GoalExport totals;
  write_file(
      options.out,
      [&](std::ostream& out) {
        totals =
            export_goal(program, place.platform, place.stack, replay_choices(text, program), out);
      },
      "-o");
  fmt::print("{}: {} tasks, {} messages of {:.0f} bytes; algorithms of {} on {}\n", options.out,
             totals.tasks, totals.messages, totals.bytes, place.stack.name, place.platform.name);
  print_notes(totals.notes);
}

void write_time_independent(const Program& program, const ExportOptions& options) {
  if (!(options.host_flops_per_s > 0))
    throw InputError({.source = "--host-flops",
                      .path = "",
                      .value = fmt::format("{}", options.host_flops_per_s),
                      .constraint = "must be above 0"});
  SmpiExport totals;
  write_file(
      options.out,
      [&](std::ostream& out) { totals = write_smpi(program, options.host_flops_per_s, out); },
      "-o");
  fmt::print("{}: {} actions\n", options.out, totals.actions);
  print_notes(totals.notes);
}

void run(const ExportOptions& options) {
  const std::vector<std::string> formats{"chakra", "goal", "smpi"};
  if (std::find(formats.begin(), formats.end(), options.format) == formats.end())
    refuse("--format", options.format, "is " + unknown_name(options.format, formats));
  check_writable(options.format == "chakra" ? options.out + ".groups.json" : options.out, "-o");
  const ImportedTrace imported =
      import_trace(options.trace.files, parse_trace_options(options.trace));
  if (options.format == "chakra")
    write_chakra(imported.program, options.out);
  else if (options.format == "goal")
    write_goal(imported.program, options);
  else
    write_time_independent(imported.program, options);
  if (const std::string left_out = left_out_note(imported.measured); !left_out.empty())
    fmt::print("note: {}\n", left_out);
}

void add_export(Subcommand app) {
  auto options = std::make_shared<ExportOptions>();
  Subcommand command =
      app.add_subcommand("export", "A program, prediction or trace for other simulators");
  command.footer(
      "Formats:\n"
      "  chakra  execution traces (protobuf) of each rank, as ASTRA-sim reads them, and the\n"
      "          groups for its --comm-group-configuration; run it in its replay mode\n"
      "  goal    GOAL text (LogGOPSim, ATLAHS); collectives are the messages of the algorithms\n"
      "          that the stack chooses on the platform\n"
      "  smpi    time-independent traces for SimGrid's smpirun -replay\n"
      "Examples:\n"
      "  forescale predict --platform cluster-b --gpus 16 --model googlenet --batch 256 \\\n"
      "    --system s-caffe-obr --record run.jsonl\n"
      "  forescale export run.jsonl --format chakra -o run\n"
      "  forescale export run.jsonl --format goal -o run.goal\n"
      "  forescale export rank0.pt.trace.json.gz --format goal --platform dgx-a100 -o trace.goal");
  add_trace_options(command, options->trace);
  command.add_option("--format", options->format, "chakra, goal or smpi").required();
  command.add_option("-o,--out", options->out, "The file; of chakra the beginning of their names")
      .required();
  command.add_option("--platform", options->place.platform,
                     "Where algorithms are chosen, for goal (default: where it was recorded)");
  command.add_option("--stack", options->place.stack, "By this stack (default: as recorded)");
  command.add_option("--placement", options->place.placement, "Ranks on nodes");
  command
      .add_option("--plan", options->place.plans,
                  "A collective's plan in place of the stack's choice; may be repeated")
      .allow_extra_args(false);
  command.add_option("--host-flops", options->host_flops_per_s,
                     "Operations a second that work is written as, for smpi (default 1e9)");
  command.callback([options] { run(*options); });
}

const bool kExportRegistered = Registry<Command>::add({.name = "export", .add = add_export});

}  // namespace
}  // namespace forescale
