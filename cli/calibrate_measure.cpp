// `forescale calibrate measure`: the microbenchmarks, on a testbed, over loopback, on the hosts of
// a file, or as the ranks that mpirun or srun has just started.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "calibrate/measure.hpp"
#include "calibrate/mpi_launch.hpp"
#include "cli/calibrate.hpp"
#include "cli/calibrate_table.hpp"
#include "cli/calibrate_where.hpp"
#include "cli/catalogue.hpp"
#include "cli/output_file.hpp"
#include "cli/text.hpp"
#include "models/units.hpp"
#include "sim/isolate.hpp"

namespace forescale {
namespace {

struct Options {
  MpiPlace place;
  std::string budget = "30s";
  std::string bytes_max = "64MiB";
  std::vector<std::string> patterns;
  std::string wait = "nap";
  std::string file;
  bool json = false;
  MeasureOptions measure;
};

// Notes a signal, so that what was measured is written before the program ends by it.
class Interruption {
 public:
  Interruption() {
    received_ = 0;
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      before_[i] = std::signal(kSignals[i], [](int signal) { received_ = signal; });
  }
  ~Interruption() { restore(); }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  void end_if_interrupted() {
    restore();
    if (received_ != 0) std::raise(received_);
  }

 private:
  static constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGHUP};
  static inline volatile std::sig_atomic_t received_ = 0;
  void restore() {
    for (std::size_t i = 0; i < kSignals.size(); ++i) std::signal(kSignals[i], before_[i]);
  }
  std::array<void (*)(int), 3> before_{};
};

std::vector<Pattern> read_patterns(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const Pattern pattern : all_patterns()) known.emplace_back(name_of(pattern));
  std::vector<Pattern> patterns;
  for (const std::string& name : names) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end())
      throw InputError({.source = "--patterns",
                        .path = "",
                        .value = name,
                        .constraint = unknown_name(name, known)});
    patterns.push_back(all_patterns()[static_cast<std::size_t>(found - known.begin())]);
  }
  return patterns;
}

// What to type to measure the same again; without names of hosts.
std::string command_text(const Options& options) {
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

void complete(Options& options) {
  MeasureOptions& measure = options.measure;
  measure.budget_s = parse_seconds(options.budget, "--budget").value;
  measure.bytes_max = parse_bytes(options.bytes_max, "--max-bytes").value;
  measure.patterns = read_patterns(options.patterns);
  if (options.wait == "spin") measure.nap_s = 0;
  measure.ranks = rank_count(options.place);
  measure.provenance["command"] = command_text(options);
  if (options.place.hostfile.empty())
    measure.provenance["shared_cores"] = std::to_string(available_cores());
}

std::string cell(const MeasuredPoint& point) {
  const std::string text =
      fmt::format("{}: {}", to_text(Bytes{point.bytes}), to_text(Seconds{point.time_s}));
  if (point.samples == 1) return text + " (once)";
  return fmt::format("{} +-{:.1f} %", text, 50 * (point.high_s - point.low_s) / point.time_s);
}

// Series with few sizes stand together in one row: how far they are apart.
std::string spread_text(const std::vector<const Series*>& alike) {
  std::string text;
  for (std::size_t i = 0; i < alike.front()->points.size(); ++i) {
    std::vector<double> times;
    for (const Series* series : alike)
      if (i < series->points.size()) times.push_back(series->points[i].time_s);
    const auto [least, most] = std::minmax_element(times.begin(), times.end());
    text += fmt::format("{}{}: {} to {}", i == 0 ? "" : ", ",
                        to_text(Bytes{alike.front()->points[i].bytes}), to_text(Seconds{*least}),
                        to_text(Seconds{*most}));
  }
  return text;
}

std::string results_text(const Measurement& measurement) {
  Table table({"<pattern", "ranks", "<smallest", "<middle", "<largest"});
  std::vector<const Series*> pairs;
  for (const Series& series : measurement.series) {
    const auto& points = series.points;
    if (series.pattern == Pattern::kPingPong && points.size() <= 2) {
      pairs.push_back(&series);
      continue;
    }
    table.add({series.op.empty() ? name_of(series.pattern) : "library's " + series.op,
               std::to_string(series.ranks), cell(points.front()),
               points.size() > 2 ? cell(points[points.size() / 2]) : "",
               points.size() > 1 ? cell(points.back()) : ""});
  }
  std::string text = table.text();
  if (!pairs.empty())
    text += fmt::format("ping-pong of {} more pairs: {}\n", pairs.size(), spread_text(pairs));
  for (const std::string& note : measurement.notes) text += "note: " + note + "\n";
  return text;
}

void show_progress(const std::string& line) {
  if (isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\r{}\x1b[K", line);
  std::fflush(stderr);
}

void run(Options& options) {
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
  Interruption interruption;
  const MeasureOutcome outcome = measure(command, options.measure, show_progress);
  show_progress("");
  const bool is_kept = !outcome.measurement.series.empty() && !options.file.empty();
  if (is_kept) write_measurement(outcome.measurement, options.file);
  interruption.end_if_interrupted();
  if (!outcome.failure.empty())
    throw SimulationStuck(
        outcome.failure +
        (is_kept ? "; what was measured so far is in " + options.file : "; nothing was kept"));
  if (options.json)
    fmt::print("{}\n", to_json(outcome.measurement).dump(1, ' ', false, json_errors()));
  else
    fmt::print("{}", results_text(outcome.measurement));
  if (!options.json && is_kept)
    fmt::print("{}: {}\n", options.file, measurement_size(outcome.measurement));
}

void add(CLI::App& calibrate) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = add_verb(
      calibrate,
      {.name = "measure",
       .summary = "Microbenchmarks over MPI: what fits are made of",
       .examples = {"calibrate measure --testbed default --budget 60s -o measurement.json",
                    "calibrate measure --ranks 4 --budget 5s --max-bytes 1MiB",
                    "calibrate measure --hostfile hosts.txt --mpi mpich -o measurement.json"}});
  add_place_options(*verb, options->place);
  verb->add_option("--budget", options->budget, "Time for all of it (default 30s)");
  verb->add_option("--max-bytes", options->bytes_max,
                   "Largest message of a ping-pong (default 64MiB); other patterns stop at 2 MiB");
  verb->add_option("--patterns", options->patterns, "Only these: ping-pong,shift,fan-in,...")
      ->delimiter(',');
  verb->add_flag("--library-collectives", options->measure.library_collectives,
                 "Also the MPI library's reduce, broadcast and all-reduce, for comparison");
  verb->add_option("--wait", options->wait,
                   "How ranks wait: nap (default; few cores for many ranks) or spin")
      ->check(CLI::IsMember({"nap", "spin"}));
  verb->add_flag("--include-environment", options->measure.include_environment,
                 "Also write down the variables of MPI, its transports and Slurm (may name hosts)");
  verb->add_flag("--include-hosts", options->measure.include_hosts, "Also write down host names");
  verb->add_option("--machine", options->measure.machine, "What people call the machine");
  verb->add_flag("--json", options->json, "Print JSON for machines");
  verb->add_option("-o,--out", options->file,
                   "Write the measurement here; after a failure what was measured until then");
  verb->callback([options] { run(*options); });
}

const bool kRegistered = Registry<CalibrateCommand>::add({.name = "measure", .add = add});

}  // namespace
}  // namespace forescale
