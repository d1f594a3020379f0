// `forescale tune schedule`: the best settings of a training schedule by GPU count.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/units.hpp"
#include "cli/catalogue/catalogue.hpp"
#include "cli/command.hpp"
#include "cli/network_warnings.hpp"
#include "cli/question_options.hpp"
#include "cli/text.hpp"
#include "cli/tune/tune.hpp"
#include "cli/version.hpp"
#include "studies/settings/settings.hpp"
#include "studies/tune/tune_schedule.hpp"

namespace forescale {
namespace {

using nlohmann::json;

struct TuneScheduleOptions {
  QuestionOptions question;
  std::vector<std::string> only;
  double tolerance_percent = 5;
  RangeOptions range;
  std::string emit;
  std::string settings_file;
  std::string out;
  bool json = false;
  std::string line;  // as typed
};

// What frameworks are told, by the names of the schedules' options.
TunedSettings settings_of(const ScheduleTuning& tuning, const TuneScheduleOptions& options) {
  TunedSettings settings;
  const std::map<std::string, double>& numbers = tuning.rows.back().numbers;
  const auto bytes = [&](const char* name) {
    const auto number = numbers.find(name);
    return number == numbers.end() ? std::nullopt
                                   : std::optional(static_cast<std::int64_t>(number->second));
  };
  if (tuning.schedule == "horovod") {
    settings.training.fusion_threshold_bytes = bytes("fusion_threshold");
    if (const auto cycle = numbers.find("cycle_time"); cycle != numbers.end())
      settings.training.cycle_time = Seconds{cycle->second};
  }
  if (tuning.schedule == "ddp") settings.training.bucket_bytes = bytes("bucket_bytes");
  settings.provenance = {{"forescale", kVersion},
                         {"platform", options.question.question().platform},
                         {"tuned for", tuning.title},
                         {"GPUs", std::to_string(tuning.rows.back().gpus)}};
  return settings;
}

// Before the search: a format that can be told nothing of what is searched.
void check_format(const SettingsFormat& format, const ScheduleTuneSettings& settings,
                  const TuneScheduleOptions& options) {
  const Schedule& schedule = *load_inputs(settings.question, Scenario::kNominal).schedule;
  ScheduleTuning tuning{.title = {}, .schedule = schedule.name, .rows = {{}}, .notes = {}};
  for (const Option& option : schedule.options)
    if (settings.only.empty() ||
        std::find(settings.only.begin(), settings.only.end(), option.name) != settings.only.end())
      tuning.rows.front().numbers[option.name] = option.fallback;
  emit_settings(format, settings_of(tuning, options));
}

const SettingsFormat* format_of(const TuneScheduleOptions& options) {
  if (options.emit.empty()) {
    if (!options.settings_file.empty())
      throw InputError({.source = "--settings",
                        .path = "",
                        .value = options.settings_file,
                        .constraint = "is the file of --emit: give that too"});
    return nullptr;
  }
  return &Registry<SettingsFormat>::find(options.emit, "--emit");
}

std::string settings_file(const TuneScheduleOptions& options, const SettingsFormat& format) {
  return options.settings_file.empty() ? format.file_name : options.settings_file;
}

std::string range_text(const TimeRange& time) {
  std::string text = to_text(Seconds{time.time_s});
  if (time.low_s != time.high_s)
    text += fmt::format(" ({} .. {})", to_text(Seconds{time.low_s}), to_text(Seconds{time.high_s}));
  return text;
}

std::string settings_text(const std::map<std::string, std::string>& settings) {
  std::vector<std::string> words;
  for (const auto& [name, value] : settings) words.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(words, ", "));
}

// What of `now` is not as before.
std::string changes_text(const std::map<std::string, std::string>& before,
                         const std::map<std::string, std::string>& now) {
  std::map<std::string, std::string> changed;
  for (const auto& [name, value] : now)
    if (before.at(name) != value) changed[name] = value;
  return settings_text(changed);
}

void print(const ScheduleTuning& tuning, double tolerance_percent) {
  fmt::print("{}\n\n", tuning.title);
  Table best({"GPUs", "iteration before", "tuned", "faster", "<settings"});
  for (const TunedSchedule& row : tuning.rows)
    best.add({std::to_string(row.gpus), range_text(row.before), range_text(row.after),
              fmt::format("{:.3f}x", row.speedup()), settings_text(row.chosen)});
  fmt::print("{}", best.text());
  for (const TunedSchedule& row : tuning.rows) {
    fmt::print("\n{} GPUs: each setting alone, the others as chosen ({} simulated)\n", row.gpus,
               row.simulated);
    Table effects({"<setting", "<value", "iteration", "over the choice"});
    for (const SettingEffect& effect : row.effects)
      effects.add({effect.setting, effect.value + (effect.is_chosen ? " *" : ""),
                   effect.failure.empty() ? to_text(Seconds{effect.iteration_s}) : "-",
                   effect.failure.empty()
                       ? fmt::format("{:+.1f} %", 100 * (effect.iteration_s / row.after.time_s - 1))
                       : effect.failure});
    fmt::print("{}", effects.text());
    if (row.fastest != row.chosen)
      fmt::print(
          "note: {} would take {:.1f} % less; settings stay where a change gains less than {:g} % "
          "(--tolerance)\n",
          changes_text(row.chosen, row.fastest), 100 * (1 - row.fastest_s / row.after.time_s),
          tolerance_percent);
  }
  for (const std::string& note : tuning.notes) fmt::print("note: {}\n", note);
}

void run(const TuneScheduleOptions& options) {
  const SettingsFormat* format = format_of(options);
  if (format != nullptr) check_writable(settings_file(options, *format), "--settings");
  check_writable(options.out, "--out");
  const ScheduleTuneSettings settings{.question = options.question.question(),
                                      .draws = options.range.asked(),
                                      .only = options.only,
                                      .tolerance = options.tolerance_percent / 100};
  say_model_warnings(settings.question.model, settings.question.input_shape,
                     settings.question.sequence);
  if (format != nullptr) check_format(*format, settings, options);
  const ScheduleTuning tuning = tune_schedule(settings);
  json document = to_json(tuning);
  document["command"] = options.line;
  if (format != nullptr) {
    const std::string file = settings_file(options, *format);
    write_file(file, emit_settings(*format, settings_of(tuning, options)), "--settings");
    document["settings"] = {{"file", file}, {"how_to_load", format->how_to_load(file)}};
  }
  if (!options.out.empty()) write_json(options.out, document, "--out");
  if (options.json) {
    fmt::print("{}\n", document.dump(2));
    return;
  }
  print(tuning, options.tolerance_percent);
  if (format != nullptr)
    fmt::print("\nwritten: {}, for {} GPUs; to load it:\n{}", settings_file(options, *format),
               tuning.rows.back().gpus, format->how_to_load(settings_file(options, *format)));
}

void add_tune_schedule(Subcommand tune) {
  auto options = std::make_shared<TuneScheduleOptions>();
  Subcommand verb = add_verb(
      tune, {.name = "schedule",
             .summary = "The best settings of a training schedule: fusion, buckets, servers, plans",
             .examples = {
                 "tune schedule --platform ri2 --model resnet-50 --batch 64 --scaling weak \\\n"
                 "    --gpus 4..16 --system horovod-mpi-opt --emit horovod --settings horovod.env",
                 "tune schedule --platform kesch --model googlenet --batch 1024 --gpus 160 \\\n"
                 "    --schedule sc-obr --stack mvapich2-gdr --only reduce-plan"}});
  add_question_options(verb, options->question, {"platform", "model", "batch"});
  verb.add_option("--only", options->only,
                  "Settings to search: options of the schedule, or reduce-plan, all-reduce-plan, "
                  "... (default: all)")
      .delimiter(',');
  verb.add_option("--tolerance", options->tolerance_percent,
                  "Settings stay as they are where a change gains less than so many percent "
                  "(default 5)")
      .in_range(0.0, 100.0);
  add_range_options(verb, options->range);
  verb.add_option("--emit", options->emit,
                  "Settings for a framework, of the largest GPU count: horovod, ddp");
  verb.add_option("--settings", options->settings_file,
                  "File of --emit (default: the format's usual name, here)");
  verb.add_option("-o,--out", options->out, "Write the answer as JSON");
  verb.add_flag("--json", options->json, "Print JSON for machines");
  verb.callback([options, verb] {
    options->line = verb.line();
    run(*options);
  });
}

const bool kTuneScheduleRegistered =
    Registry<TuneCommand>::add({.name = "schedule", .add = add_tune_schedule});

}  // namespace
}  // namespace forescale
