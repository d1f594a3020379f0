// `forescale import`: what is in a trace, and the program that is made of it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/output_file.hpp"
#include "base/registry.hpp"
#include "base/steady_state.hpp"
#include "base/units.hpp"
#include "calibrate/measure/trace_measurement.hpp"
#include "cli/command.hpp"
#include "cli/replay/trace_options.hpp"
#include "cli/text.hpp"
#include "studies/replay/replay.hpp"

namespace forescale {
namespace {

using nlohmann::json;

struct ImportCommandOptions {
  TraceText text;
  std::string out;
  std::string measurement;
  bool json = false;
};

json to_json(const std::string& format, const ImportedTrace& imported) {
  json collectives = json::object();
  for (const auto& [op, volume] : imported.found.collectives)
    collectives[op] = {{"count", volume.count}, {"bytes", volume.bytes}};
  json groups = json::array();
  for (const GroupVolume& of_group : imported.found.groups)
    groups.push_back({{"group", of_group.group},
                      {"ranks", of_group.ranks},
                      {"op", of_group.op},
                      {"count", of_group.volume.count},
                      {"bytes", of_group.volume.bytes}});
  return {{"format", "forescale-import-1"},
          {"trace_format", format},
          {"title", imported.program.title},
          {"ranks", imported.program.ranks.size()},
          {"iterations", imported.program.iterations},
          {"collectives", collectives},
          {"groups", groups},
          {"messages",
           {{"count", imported.found.messages.count}, {"bytes", imported.found.messages.bytes}}},
          {"kernels", imported.found.kernels},
          {"compute_s", imported.found.compute_s},
          {"measured",
           {{"iteration_s", imported.measured.step_s},
            {"communication_s", imported.measured.communication_s},
            {"hidden_s", imported.measured.hidden_s}}},
          {"notes", imported.notes}};
}

// "0, 1, 2, ..., 31"
std::string short_list(const std::vector<int>& ranks) {
  constexpr size_t kShown = 8;
  if (ranks.size() <= kShown) return fmt::format("{}", fmt::join(ranks, ", "));
  return fmt::format("{}, {}, {}, ..., {}", ranks[0], ranks[1], ranks[2], ranks.back());
}

// Where there are several groups.
std::string group_table(const std::vector<GroupVolume>& volumes) {
  std::set<std::vector<int>> groups;
  for (const GroupVolume& of_group : volumes) groups.insert(of_group.ranks);
  if (groups.size() < 2) return "";
  Table table({"<group", "size", "<ranks", "<collective", "count", "bytes of the calls"});
  for (const GroupVolume& of_group : volumes)
    table.add({of_group.group, std::to_string(of_group.ranks.size()), short_list(of_group.ranks),
               of_group.op, std::to_string(of_group.volume.count),
               to_text(Bytes{static_cast<std::int64_t>(of_group.volume.bytes)})});
  return "\n" + table.text();
}

void print_import(const std::string& format, const ImportedTrace& imported) {
  fmt::print("{} ({}): {} ranks, {} iteration{}\n\n", imported.program.title, format,
             imported.program.ranks.size(), imported.program.iterations,
             imported.program.iterations == 1 ? "" : "s");
  Table table({"<in the trace", "count", "bytes of the calls"});
  const auto add = [&](const std::string& what, const Volume& volume) {
    table.add({what, std::to_string(volume.count),
               to_text(Bytes{static_cast<std::int64_t>(volume.bytes)})});
  };
  for (const auto& [op, volume] : imported.found.collectives) add(op, volume);
  if (imported.found.messages.count > 0) add("messages sent", imported.found.messages);
  table.add({"compute tasks", std::to_string(imported.found.kernels), ""});
  fmt::print("{}{}\ncompute in all iterations: {}\n", table.text(),
             group_table(imported.found.groups), to_text(Seconds{imported.found.compute_s}));
  const MeasuredRun& measured = imported.measured;
  if (measured.step_s > 0)
    fmt::print(
        "measured iteration: {}, {}\n"
        "communication of a rank: {}, of that {} hidden by compute\n",
        to_text(Seconds{measured.step_s}),
        counted_text(measured.periods_s.size(), measured.counts_from),
        to_text(Seconds{measured.communication_s}), to_text(Seconds{measured.hidden_s}));
  for (const std::string& note : imported.notes) fmt::print("note: {}\n", note);
}

std::string range_text(double value, const Interval& interval, double factor) {
  return fmt::format("{:.4g} ({:.3g}..{:.3g})", value * factor, interval.low * factor,
                     interval.high * factor);
}

// What the collectives of the trace cost, by operation and ranks.
void print_import(const Measurement& measurement) {
  Table table(
      {"<collective", "ranks", "<buffers", "sizes", "times", "up to", "alpha us", "beta ns/byte"});
  for (const Series& series : measurement.series) {
    int times = 0;
    for (const MeasuredPoint& point : series.points) times += point.samples;
    const std::vector<AlphaBeta> lines = alpha_beta_of(series);
    const auto row = [&](const std::string& up_to, const std::string& alpha,
                         const std::string& beta) {
      table.add({series.op, std::to_string(series.ranks), series.place,
                 std::to_string(series.points.size()), std::to_string(times), up_to, alpha, beta});
    };
    for (const AlphaBeta& line : lines)
      row(to_text(Bytes{line.up_to_bytes}), range_text(line.alpha_s, line.alpha_interval_s, 1e6),
          range_text(line.beta_s_per_byte, line.beta_interval_s_per_byte, 1e9));
    if (lines.empty()) row(to_text(Bytes{series.points.back().bytes}), "-", "-");
  }
  fmt::print("\n{}", table.text());
  for (const std::string& note : measurement.notes) fmt::print("note: {}\n", note);
}

void run(const ImportCommandOptions& options) {
  check_writable(options.out, "-o");
  check_writable(options.measurement, "--measurement");
  const TraceFormat& format = trace_format_of(options.text.files.front());
  const ImportedTrace imported =
      import_trace(options.text.files, parse_trace_options(options.text));
  if (!options.out.empty())
    write_file(
        options.out, [&](std::ostream& out) { write_program(imported.program, out); }, "-o");
  std::optional<Measurement> measurement;
  if (!options.measurement.empty()) {
    measurement = trace_measurement(imported, options.text.files.front());
    write_measurement(*measurement, options.measurement);
  }
  if (options.json) {
    fmt::print("{}\n", to_json(format.name, imported).dump(2));
    return;
  }
  print_import(format.name, imported);
  if (measurement) print_import(*measurement);
  if (!options.out.empty()) {
    fmt::print("program: {}\n", options.out);
    if (const std::string left_out = left_out_note(imported.measured); !left_out.empty())
      fmt::print("note: {}\n", left_out);
  }
  if (measurement) fmt::print("measurement: {}\n", options.measurement);
}

std::string known_formats() {
  std::string list = "Traces that are read, plain or compressed with gzip:\n";
  for (const auto& [name, format] : Registry<TraceFormat>::all())
    list += fmt::format("  {:<10} {}\n", name, format.description);
  return list;
}

void add_import(Subcommand app) {
  auto options = std::make_shared<ImportCommandOptions>();
  Subcommand command =
      app.add_subcommand("import", "A measured trace as a program that can be replayed");
  command.footer(
      known_formats() +
      "Examples:\n"
      "  forescale import rank0.pt.trace.json.gz rank1.pt.trace.json.gz\n"
      "  forescale import rank0.pt.trace.json.gz --ranks 64 -o program.jsonl\n"
      "  forescale import timeline0.json execution0.json timeline1.json execution1.json\n"
      "  forescale import smpi_replay.txt --flops-per-s 5e9\n"
      "What a file lacks is said, and asked for where there is no answer (docs/traces.md).");
  add_trace_options(command, options->text);
  command.add_option("-o,--out", options->out, "Write the program (docs/program.md) to this file");
  command.add_option("--measurement", options->measurement,
                     "Write what its collectives took to this file, for calibrate show and fit,\n"
                     "and print alpha and beta of each");
  command.add_flag("--json", options->json, "Print JSON for machines");
  command.callback([options] { run(*options); });
}

const bool kImportRegistered = Registry<Command>::add({.name = "import", .add = add_import});

}  // namespace
}  // namespace forescale
