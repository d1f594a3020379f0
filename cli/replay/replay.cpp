// `forescale replay`: a recorded program on another platform.
#include "studies/replay/replay.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>
#include <span>

#include "base/output_file.hpp"
#include "base/steady_state.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "cli/question_options.hpp"
#include "cli/replay/replay_what_if.hpp"
#include "cli/text.hpp"

namespace forescale {
namespace {

struct ReplayOptions {
  ReplayQuestion question;
  QuestionOptions varied;
  std::vector<std::string> what_if;
  OutputOptions output;
  std::string line;  // as typed
};

struct ReplayAlternative {
  std::string what_if;
  Replay replay;
  std::exception_ptr failure = nullptr;  // in place of a replay
  std::string why;
};

std::string share_table(const std::string& heading,
                        const std::vector<std::pair<std::string, double>>& parts) {
  double sum_s = 0;
  for (const auto& [part, time_s] : parts) sum_s += time_s;
  Table table({"<" + heading, "time", "share"});
  for (const auto& [part, time_s] : parts)
    if (time_s > 0)
      table.add({part, to_text(Seconds{time_s}), fmt::format("{:.1f} %", 100 * time_s / sum_s)});
  return table.text();
}

double exposed_s(const Overlap& overlap) { return overlap.communication_s - overlap.hidden_s; }

std::string overlap_table(const Replay& replay) {
  Table table({"<communication of a rank", "time", "hidden by compute", "exposed"});
  const auto add = [&](const std::string& what, const Overlap& overlap) {
    table.add({what, to_text(Seconds{overlap.communication_s}), to_text(Seconds{overlap.hidden_s}),
               to_text(Seconds{exposed_s(overlap)})});
  };
  add("replayed", replay.overlap);
  if (replay.measured_s > 0) add("measured", replay.measured_overlap);
  return table.text();
}

// Why replay and measurement differ, each kind of collective by itself.
std::string against_table(const Replay& replay) {
  const AgainstMeasured& against = *replay.against;
  const auto change = [](double from_s, double to_s) {
    return fmt::format("{}{}", to_s < from_s ? "-" : "+",
                       to_text(Seconds{std::abs(to_s - from_s)}));
  };
  Table table({"<against the measurement", "calls", "measured", "predicted", "iteration"});
  table.add({"replayed", "", "", "", to_text(Seconds{replay.iteration.time_s})});
  for (const ReplayDifference& one : against.collectives)
    table.add({fmt::format("{} as {} as there", one.what,
                           one.measured_s > one.predicted_s ? "long" : "short"),
               fmt::format("{:.3g}", one.calls), to_text(Seconds{one.measured_s}),
               to_text(Seconds{one.predicted_s}),
               change(replay.iteration.time_s, one.iteration_s)});
  if (against.collectives.size() > 1)
    table.add({"all collectives", "", "", "", change(replay.iteration.time_s, against.with_all_s)});
  table.add({"dependencies not seen, host time", "", "", "",
             change(against.with_all_s, replay.measured_s)});
  table.add({"measured", "", "", "", to_text(Seconds{replay.measured_s})});
  return table.text();
}

std::string link_table(const std::vector<BusyLink>& links) {
  Table table({"<busiest in the last iteration", "mean", "peak"});
  for (size_t i = 0; i < std::min<size_t>(links.size(), 5); ++i)
    table.add({links[i].name, fmt::format("{:.0f} %", 100 * links[i].mean),
               fmt::format("{:.0f} %", 100 * links[i].peak)});
  return table.text();
}

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
  fmt::print("            {}\n", counted_text(static_cast<size_t>(replay.iterations),
                                              static_cast<size_t>(replay.counts_from)));
  if (replay.images_per_s > 0) fmt::print("images/s    {:.1f}\n", replay.images_per_s);
  if (replay.measured_s > 0)
    fmt::print("measured    {} in the trace, the same iterations: replayed {:+.1f} %\n",
               to_text(Seconds{replay.measured_s}),
               100 * (replay.iteration.time_s / replay.measured_s - 1));
  const std::vector<std::pair<std::string, double>> root(replay.root_s.begin(),
                                                         replay.root_s.end());
  fmt::print("\n{}", share_table("rank 0", root));
  if (!replay.critical_path.empty())
    fmt::print("\n{}", share_table(fmt::format("critical path of an iteration, rank {}'s end",
                                               replay.critical_rank),
                                   replay.critical_path));
  if (replay.against) fmt::print("\n{}", against_table(replay));
  fmt::print("\n{}", overlap_table(replay));
  if (!replay.links.empty()) fmt::print("\n{}", link_table(replay.links));
  if (!replay.busiest.empty())
    fmt::print("\nbusiest resource: {}, {:.0f} %\n", replay.busiest, 100 * replay.busiest_share);
  for (const std::string& note : replay.notes) fmt::print("note: {}\n", note);
  if (!replay.is_steady)
    fmt::print("note: its iterations differ by more than 0.1 %: the time is their mean\n");
}

void print(const Replay& base, const std::vector<ReplayAlternative>& alternatives) {
  Table table({"<what if", "iteration", "range", "faster", "exposed communication"});
  const auto add = [&](const std::string& what, const Replay& replay) {
    table.add({what, to_text(Seconds{replay.iteration.time_s}),
               replay.iteration.low_s == replay.iteration.high_s
                   ? "-"
                   : fmt::format("{} .. {}", to_text(Seconds{replay.iteration.low_s}),
                                 to_text(Seconds{replay.iteration.high_s})),
               fmt::format("{:.2f}x", base.iteration.time_s / replay.iteration.time_s),
               to_text(Seconds{exposed_s(replay.overlap)})});
  };
  add("nothing changes", base);
  for (const ReplayAlternative& alternative : alternatives)
    if (alternative.failure == nullptr)
      add(alternative.what_if, alternative.replay);
    else
      table.add({alternative.what_if, "fails", "", "", ""});
  fmt::print("\n{}", table.text());
  for (const ReplayAlternative& alternative : alternatives)
    if (alternative.failure != nullptr)
      fmt::print("{} fails: {}\n", alternative.what_if, alternative.why);
    else
      for (const std::string& note : alternative.replay.notes)
        if (std::find(base.notes.begin(), base.notes.end(), note) == base.notes.end())
          fmt::print("note on {}: {}\n", alternative.what_if, note);
}

// Times as in JSON, s.
void print_csv(const Replay& base, const std::vector<ReplayAlternative>& alternatives) {
  fmt::print("{}", csv_line({"what_if", "platform", "stack", "ranks", "iteration_s", "low_s",
                             "high_s", "exposed_communication_s", "images_per_s", "measured_s"}));
  const auto add = [](const std::string& what, const Replay& replay) {
    const auto or_nothing = [](double value) {
      return value > 0 ? fmt::format("{}", value) : std::string();
    };
    fmt::print("{}", csv_line({what, replay.platform, replay.stack, std::to_string(replay.ranks),
                               fmt::format("{}", replay.iteration.time_s),
                               fmt::format("{}", replay.iteration.low_s),
                               fmt::format("{}", replay.iteration.high_s),
                               fmt::format("{}", exposed_s(replay.overlap)),
                               or_nothing(replay.images_per_s), or_nothing(replay.measured_s)}));
  };
  add("", base);
  for (const ReplayAlternative& alternative : alternatives)
    if (alternative.failure == nullptr) add(alternative.what_if, alternative.replay);
}

// One that fails does not lose the others: its error is thrown when all are shown.
ReplayAlternative alternative_of(const std::string& what_if, const ReplayQuestion& question) {
  ReplayAlternative alternative{.what_if = what_if, .replay = {}, .why = ""};
  try {
    alternative.replay = answer(question);
  } catch (const std::exception& error) {
    alternative.failure = std::current_exception();
    alternative.why = error.what();
  }
  return alternative;
}

void run(const ReplayOptions& options) {
  ReplayQuestion asked = options.question;
  asked.text.varied = options.varied.question();
  const ReplayFiles& files = asked.text.files_out;
  check_writable(files.trace, "--trace");
  check_writable(files.paje, "--paje");
  check_writable(files.utilisation, "--utilisation");
  std::vector<ReplayQuestion> questions;  // all are read before the first is answered
  for (const std::string& what_if : options.what_if) {
    questions.push_back(changed(asked, what_if));
    questions.back().text.files_out = {};
    questions.back().text.against_measured = false;  // nothing was measured there
  }
  const Replay base = answer(asked);
  std::vector<ReplayAlternative> alternatives;
  for (size_t i = 0; i < questions.size(); ++i)
    alternatives.push_back(alternative_of(options.what_if[i], questions[i]));
  if (options.output.csv) {
    print_csv(base, alternatives);
  } else if (options.output.json) {
    nlohmann::json document = to_json(base);
    document["command"] = options.line;
    for (const ReplayAlternative& alternative : alternatives)
      if (alternative.failure == nullptr)
        document["what_if"].push_back(
            {{"change", alternative.what_if}, {"replay", to_json(alternative.replay)}});
      else
        document["what_if"].push_back(
            {{"change", alternative.what_if}, {"error", alternative.why}});
    fmt::print("{}\n", document.dump(2));
  } else {
    print(base);
    if (!alternatives.empty()) print(base, alternatives);
  }
  for (const ReplayAlternative& alternative : alternatives)
    if (alternative.failure != nullptr) std::rethrow_exception(alternative.failure);
}

// All names of a question's fields but these.
std::vector<std::string> fields_but(std::span<const char* const> wanted) {
  std::vector<std::string> names;
  for (const QuestionField& field : question_fields())
    if (std::find(wanted.begin(), wanted.end(), field.name) == wanted.end())
      names.push_back(field.name);
  return names;
}

void add_replay(Subcommand app) {
  auto options = std::make_shared<ReplayOptions>();
  ReplayText& text = options->question.text;
  Subcommand command =
      app.add_subcommand("replay", "What a recorded or traced run would cost on another platform");
  command.footer(
      "Examples:\n"
      "  forescale predict --platform cluster-b --gpus 16 --model googlenet --batch 256 \\\n"
      "    --system s-caffe-obr-hr --record run.jsonl\n"
      "  forescale replay run.jsonl\n"
      "  forescale replay run.jsonl --platform kesch\n"
      "  forescale replay run.jsonl --plan reduce/chain:chunk_bytes=1MiB --compute-scale 0.5\n"
      "  forescale replay rank0.json.gz rank1.json.gz --platform mine.json --trace both.json\n"
      "  forescale replay rank*.json.gz --platform mine.json --what-if \"gpu=h100 ranks=64\" \\\n"
      "    --what-if platform=dgx-h100 --what-if \"bucket=5MiB plan=all-reduce/ring\"\n"
      "  forescale replay run.jsonl --what-if straggler=3:1.5 --what-if link=node0=0.25\n"
      "A program holds what every thread of every rank does, in order, with its compute times\n"
      "(docs/program.md). Compute is kept; communication is simulated anew.");
  add_trace_options(command, options->question.trace);
  command.add_option("--platform", text.platform,
                     "Preset, JSON file or generator (default: where it was recorded)");
  command.add_option("--stack", text.stack, "Communication stack (default: as recorded)");
  command.add_option("--placement", text.placement,
                     "Ranks on nodes: linear or random:seed=N, with per_node=K");
  command
      .add_option("--plan", text.plans,
                  "A collective's plan in place of the recorded choice: "
                  "reduce/cb:chain_size=8,chunk_bytes=1MiB; may be repeated")
      .allow_extra_args(false);
  command.add_option("--compute-scale", text.compute_scale,
                     "All compute times so many times as long (default 1)");
  add_question_options(command, options->varied, {}, fields_but(kReplayVariation));
  command
      .add_option("--what-if", options->what_if,
                  "Also with these changes, words as the options are named, and compared:\n"
                  "\"gpu=h100 bucket=5MiB\"; may be repeated. Options that it takes:\n" +
                      fmt::format("{}", fmt::join(what_if_keys(), ", ")))
      .allow_extra_args(false);
  command.add_option("--gpu", text.gpu,
                     "Kernels take what they would on this GPU: a name of models/hardware/gpus\n"
                     "or a file (a model by kernels' names, docs/traces.md)");
  command.add_option("--traced-gpu", text.traced_gpu,
                     "The GPU of the trace (default: what the trace says)");
  command.add_flag("--calibrate", text.calibrate,
                   "What collectives took in the trace corrects the stack of the platform where\n"
                   "it was made: --traced-platform, or else the one of the replay");
  command.add_option("--traced-platform", text.traced_platform,
                     "Where the trace was made (--traced-stack, --traced-placement with it):\n"
                     "for --calibrate, and without it to tell what one traced rank waited for\n"
                     "others in its collectives, which the replay keeps (default: inside a node,\n"
                     "where --platform has the trace's GPU)");
  command.add_option("--traced-stack", text.traced_stack, "The stack that ran there");
  command.add_option("--traced-placement", text.traced_placement, "Its ranks on its nodes");
  command.add_flag("--against-measured", text.against_measured,
                   "Why replay and measurement differ: what the iteration would be if each kind\n"
                   "of collective took what it took in the trace");
  command.add_flag("--interval,!--no-range", text.range,
                   "The range that uncertain numbers cause (default)");
  command.add_flag("--critical-path,!--no-critical-path", text.causes,
                   "The critical path and the use of links (default; takes memory)");
  command.add_option("--trace", text.files_out.trace,
                     "Write a Chrome/Perfetto timeline of the last iteration to this file:\n"
                     "replayed and measured ranks, the critical path, the use of links");
  command.add_option("--paje", text.files_out.paje, "The same as a Paje trace (pj_dump, ViTE)");
  command.add_option("--utilisation", text.files_out.utilisation,
                     "Write the use of every link over the last iteration to this CSV file");
  add_output_options(command, options->output);
  command.callback([options, command] {
    options->line = command.line();
    run(*options);
  });
}

const bool kReplayRegistered = Registry<Command>::add({.name = "replay", .add = add_replay});

}  // namespace
}  // namespace forescale
