// `forescale schedule`: the training schedules.
#include <fmt/format.h>

#include "algorithms/schedule.hpp"
#include "cli/catalogue/catalogue.hpp"

namespace forescale {
namespace {

using nlohmann::json;

struct ScheduleCommandOptions {
  std::vector<std::string> names;
  OutputOptions output;
};

json schedule_options_json(const Schedule& schedule) {
  json rows = json::array();
  for (const Option& option : schedule.options)
    rows.push_back({{"name", option.name},
                    {"default", to_text(option, option.fallback)},
                    {"choices", option.choices},
                    {"summary", option.summary},
                    {"source", option.source.empty() ? "assumed" : option.source}});
  return rows;
}

json row(const Schedule& schedule) {
  return {{"name", schedule.name},
          {"summary", schedule.summary},
          {"source", schedule.source},
          {"asynchronous", schedule.is_asynchronous},
          {"servers", schedule.servers != nullptr},
          {"options", schedule_options_json(schedule)}};
}

void list(const ScheduleCommandOptions& options) {
  json rows = json::array();
  for (const auto& [name, schedule] : Registry<Schedule>::all()) rows.push_back(row(schedule));
  print_rows(rows,
             {{.key = "name", .heading = "<schedule"},
              {.key = "summary", .heading = "<summary"},
              {.key = "source", .heading = "<source"}},
             options.output);
}

void show(const ScheduleCommandOptions& options) {
  const Schedule& schedule = Registry<Schedule>::find(options.names.front(), "schedule show");
  if (options.output.json) {
    fmt::print("{}\n", row(schedule).dump(2));
    return;
  }
  fmt::print("{}: {}\nsource: {}\n", schedule.name, schedule.summary, schedule.source);
  if (schedule.servers != nullptr) fmt::print("has ranks that serve, beside its workers\n");
  if (schedule.is_asynchronous) fmt::print("asynchronous: ranks go at their own pace\n");
  if (schedule.options.empty()) return;
  json rows = schedule_options_json(schedule);
  for (json& option : rows) {
    std::string names;
    for (const auto& choice : option["choices"])
      names += (names.empty() ? " (" : ", ") + choice.get<std::string>();
    option["summary"] = option["summary"].get<std::string>() + (names.empty() ? "" : names + ")");
  }
  fmt::print("\noptions (--option NAME=VALUE, or --schedule {}:NAME=VALUE)\n{}", schedule.name,
             table_text(rows, {{.key = "name", .heading = "<option"},
                               {.key = "default", .heading = "<default"},
                               {.key = "summary", .heading = "<summary"},
                               {.key = "source", .heading = "<source of the default"}}));
}

void check(const ScheduleCommandOptions& options) {
  check_all(options.names.empty() ? Registry<Schedule>::names() : options.names, "schedule check",
            [](const std::string& name) {
              return Registry<Schedule>::find(name, "schedule check").summary;
            });
}

void add_schedule(Subcommand app) {
  auto options = std::make_shared<ScheduleCommandOptions>();
  Subcommand command =
      add_catalogue_command(app, {.name = "schedule",
                                  .summary = "Training schedules: list, show, check",
                                  .examples = {"schedule list", "schedule show sc-obr"}});
  Subcommand verb = add_verb(command, {.name = "list",
                                       .summary = "All schedules, a line each",
                                       .examples = {"schedule list --json"}});
  add_output_options(verb, options->output);
  verb.callback([options] { list(*options); });

  verb = add_verb(command, {.name = "show",
                            .summary = "What a schedule does and who says so",
                            .examples = {"schedule show sc-obr"}});
  verb.add_option("NAME", options->names, "Schedule").required().expected(1);
  verb.add_flag("--json", options->output.json, "Print JSON for machines");
  verb.callback([options] { show(*options); });

  verb = add_verb(command, {.name = "check",
                            .summary = "Are these schedules? Without a name: all of them",
                            .examples = {"schedule check sc-b sc-obr"}});
  verb.add_option("NAME", options->names, "Schedules");
  verb.callback([options] { check(*options); });
}

const bool kScheduleRegistered = Registry<Command>::add({.name = "schedule", .add = add_schedule});

}  // namespace
}  // namespace forescale
