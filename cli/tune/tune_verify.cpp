// `forescale tune verify`: an emitted file in the real library here: does it act, and is the
// library faster with it?
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/units.hpp"
#include "calibrate/measure/mpi_launch.hpp"
#include "cli/calibrate/calibrate_where.hpp"
#include "cli/catalogue/catalogue.hpp"
#include "cli/text.hpp"
#include "cli/tune/tune.hpp"
#include "studies/settings/settings_verify.hpp"

namespace forescale {
namespace {

struct TuneVerifyOptions {
  std::string file;
  MpiPlace place;
  std::vector<std::string> ops;
  std::string sizes = "64KiB..16MiB";
  std::string budget = "60s";
  int rounds = 3;
  std::string wait = "nap";
  std::uint64_t seed = 1;
  bool json = false;
};

std::vector<CollectiveOp> ops_of(const TuneVerifyOptions& options, const SettingsFile& settings) {
  std::vector<CollectiveOp> ops;
  for (const std::string& name : options.ops) ops.push_back(parse_collective_op(name, "--op"));
  if (ops.empty()) ops = settings.tuned_ops();
  if (ops.empty())
    throw InputError(
        {.source = options.file,
         .path = "",
         .value = "",
         .constraint = "has no rule of its own for any operation that can be verified"});
  for (const CollectiveOp op : ops)
    if (op == CollectiveOp::kGather || op == CollectiveOp::kScatter)
      throw InputError({.source = "--op",
                        .path = "",
                        .value = name_of(op),
                        .constraint = "cannot be verified: no rules are written for it"});
  return ops;
}

VerifyRequest request_of(const TuneVerifyOptions& options, const SettingsFile& settings) {
  VerifyRequest request{.ops = ops_of(options, settings),
                        .ranks = rank_count(options.place),
                        .sizes = {},
                        .budget_s = parse_seconds(options.budget, "--budget").value,
                        .rounds = options.rounds,
                        .nap_s = options.wait == "spin" ? 0 : 20e-6,
                        .seed = options.seed};
  if (request.ranks < 2)
    throw InputError({.source = "--ranks",
                      .path = "",
                      .value = std::to_string(request.ranks),
                      .constraint = "must be >= 2: one rank has nobody to talk to"});
  for (const Bytes size : parse_byte_list(options.sizes, "--bytes"))
    request.sizes.push_back(size.value);
  return request;
}

// The library that the file is for.
void settle_library(TuneVerifyOptions& options, const SettingsFile& settings) {
  if (options.place.library.empty()) options.place.library = settings.library();
  if (options.place.library != settings.library())
    throw InputError({.source = "--mpi",
                      .path = "",
                      .value = options.place.library,
                      .constraint = fmt::format("must be {}: {} is a file for it",
                                                settings.library(), options.file)});
  if (is_in_mpi())
    throw InputError({.source = "tune verify",
                      .path = "",
                      .value = "",
                      .constraint = "starts mpirun itself: run it outside of one"});
}

std::string time_cell(const std::optional<TimeRange>& time) {
  if (!time) return "-";
  return fmt::format("{} +-{:.1f} %", to_text(Seconds{time->time_s}),
                     50 * (time->high_s - time->low_s) / time->time_s);
}

std::string ratio_cell(const std::optional<double>& speedup) {
  return speedup ? fmt::format("{:.2f}x", *speedup) : "-";
}

std::string verification_text(const Verification& verification) {
  Table table({"<operation", "size", "<rule", "default", "tuned", "faster", "<proof"});
  for (const VerifiedSize& row : verification.rows)
    table.add({name_of(row.op), to_text(Bytes{row.bytes}), row.rule.text, time_cell(row.plain),
               time_cell(row.tuned), ratio_cell(row.speedup()), name_of(row.proof)});
  std::string text = table.text();
  for (const VerifiedSize& row : verification.rows)
    if (!row.evidence.empty())
      text +=
          fmt::format("{} of {}: {}\n", name_of(row.op), to_text(Bytes{row.bytes}), row.evidence);
  text += verification.counted_by.empty()
              ? fmt::format("{} has no way of counting messages here\n", verification.library)
              : fmt::format("{}, messages counted by {}\n", verification.library,
                            verification.counted_by);
  if (const auto mean = verification.geometric_mean())
    text += fmt::format("geometric mean {:.3f}x, least {:.3f}x\n", *mean,
                        *verification.least_speedup());
  return text;
}

void run(TuneVerifyOptions& options) {
  const SettingsFile settings(options.file);
  settle_library(options, settings);
  const VerifyRequest request = request_of(options, settings);
  const Verification verification =
      verify_settings(settings, request, mpi_command(options.place, request.ranks), show_progress);
  show_progress("");
  if (options.json)
    fmt::print("{}\n", to_json(verification).dump(1));
  else
    fmt::print("{}", verification_text(verification));
  if (!verification.is_proven())
    throw CheckFailed(options.file +
                      ": not every rule was seen to act, or none differs from what the "
                      "library does without the file at these sizes");
}

void add_tune_verify(Subcommand tune) {
  auto options = std::make_shared<TuneVerifyOptions>();
  Subcommand verb = add_verb(
      tune,
      {.name = "verify",
       .summary = "Load an emitted file into the real library: does it act, what does it bring?",
       .examples = {"tune verify openmpi-rules.conf --testbed default",
                    "tune verify mpich-selection.json --ranks 4 --bytes 64KiB,1MiB",
                    "tune verify openmpi-rules.conf --ranks 4 --budget 0s"}});
  verb.add_option("file", options->file, "A file of openmpi-rules or mpich-json").required();
  add_place_options(verb, options->place);
  verb.add_option("--op", options->ops, "Operations (default: all that the file has rules for)")
      .delimiter(',');
  verb.add_option("--bytes", options->sizes, "Sizes (default 64KiB..16MiB)");
  verb.add_option("--budget", options->budget,
                  "Time for measuring (default 60s); 0s: only prove that the rules act");
  verb.add_option("--rounds", options->rounds,
                  "Launches of the library without and with the file, in turns (default 3)")
      .in_range(1, 100);
  verb.add_option("--wait", options->wait, "How ranks wait between calls: nap (default) or spin")
      .one_of({"nap", "spin"});
  verb.add_option("--seed", options->seed, "Of the order of sizes (default 1)");
  verb.add_flag("--json", options->json, "Print JSON for machines");
  verb.callback([options] { run(*options); });
}

const bool kTuneVerifyRegistered =
    Registry<TuneCommand>::add({.name = "verify", .add = add_tune_verify});

}  // namespace
}  // namespace forescale
