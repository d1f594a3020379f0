// `forescale replay`: a recorded program on another platform.
#include "studies/replay.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/output_file.hpp"
#include "cli/text.hpp"
#include "cli/trace_options.hpp"
#include "models/units.hpp"

namespace forescale {
namespace {

struct Options {
  ReplayText text;
  TraceText trace;
  bool json = false;
};

void print(const Replay& replay) {
  fmt::print("{}\nreplayed on {} with {}: {} ranks{}\n\n", replay.title, replay.platform,
             replay.stack, replay.ranks,
             replay.ranks == replay.workers
                 ? ""
                 : fmt::format(", {} of them servers", replay.ranks - replay.workers));
  fmt::print("iteration   {}{}\n", to_text(Seconds{replay.iteration.time_s}),
             replay.iteration.low_s == replay.iteration.high_s
                 ? ""
                 : fmt::format("  ({} .. {})", to_text(Seconds{replay.iteration.low_s}),
                               to_text(Seconds{replay.iteration.high_s})));
  if (replay.images_per_s > 0) fmt::print("images/s    {:.1f}\n", replay.images_per_s);
  Table table({"<rank 0", "time", "share"});
  for (const auto& [phase, time_s] : replay.root_s)
    if (time_s > 0)
      table.add({phase, to_text(Seconds{time_s}),
                 fmt::format("{:.1f} %", 100 * time_s / replay.iteration.time_s)});
  fmt::print("\n{}\nbusiest resource: {}, {:.0f} %\n", table.text(), replay.busiest,
             100 * replay.busiest_share);
  for (const std::string& note : replay.notes) fmt::print("note: {}\n", note);
  if (!replay.is_steady) fmt::print("note: no steady state in the iterations of the program\n");
}

void run(const Options& options) {
  check_writable(options.text.trace, "--trace");
  ReplayText text = options.text;
  text.files = options.trace.files;
  text.import = parse_trace_options(options.trace);
  const Replay result = replay(text);
  if (options.json)
    fmt::print("{}\n", to_json(result).dump(2));
  else
    print(result);
}

void add(CLI::App& app) {
  auto options = std::make_shared<Options>();
  ReplayText& text = options->text;
  CLI::App* command =
      app.add_subcommand("replay", "What a recorded or traced run would cost on another platform");
  command->footer(
      "Examples:\n"
      "  forescale predict --platform cluster-b --gpus 16 --model googlenet --batch 256 \\\n"
      "    --system s-caffe-obr-hr --record run.jsonl\n"
      "  forescale replay run.jsonl\n"
      "  forescale replay run.jsonl --platform kesch\n"
      "  forescale replay run.jsonl --plan reduce/chain:chunk_bytes=1MiB --compute-scale 0.5\n"
      "A program holds what every thread of every rank does, in order, with its compute times\n"
      "(docs/program.md). Compute is kept; communication is simulated anew.");
  add_trace_options(*command, options->trace);
  command->add_option("--platform", text.platform,
                      "Preset, JSON file or generator (default: where it was recorded)");
  command->add_option("--stack", text.stack, "Communication stack (default: as recorded)");
  command->add_option("--placement", text.placement,
                      "Ranks on nodes: linear or random:seed=N, with per_node=K");
  command
      ->add_option("--plan", text.plans,
                   "A collective's plan in place of the recorded choice: "
                   "reduce/cb:chain_size=8,chunk_bytes=1MiB; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--compute-scale", text.compute_scale,
                      "All compute times so many times as long (default 1)");
  command->add_flag("--interval,!--no-range", text.range,
                    "The range that uncertain numbers cause (default)");
  command->add_option("--trace", text.trace, "Write a Chrome/Perfetto timeline to this file");
  command->add_flag("--json", options->json, "Print JSON for machines");
  command->callback([options] { run(*options); });
}

const bool kRegistered = Registry<Command>::add({.name = "replay", .add = add});

}  // namespace
}  // namespace forescale
