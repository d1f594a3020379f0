// `forescale system`: named systems, schedule + stack + options.
#include "algorithms/system.hpp"

#include <fmt/format.h>

#include "algorithms/schedule.hpp"
#include "base/data_files.hpp"
#include "cli/catalogue/catalogue.hpp"
#include "models/stack.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr const char* kSystems = "algorithms/systems";

struct SystemOptions {
  std::vector<std::string> names;
  OutputOptions output;
};

json to_json(const System& system) {
  json collectives = json::array();
  for (const auto& [op, plan] : system.collectives) {
    json row = {{"op", name_of(op)}, {"algorithm", plan.collective->algorithm}};
    row.update(options_row(name_of(op), plan.collective->algorithm, plan.options));
    collectives.push_back(std::move(row));
  }
  return {{"name", system.name},
          {"description", system.description},
          {"paper", system.paper},
          {"section", system.section},
          {"schedule", system.schedule},
          {"options", system.options},
          {"stack", system.stack},
          {"data", system.data},
          {"framework", system.framework ? json(to_text(*system.framework)) : json()},
          {"collectives", collectives},
          {"note", system.note}};
}

void list(const SystemOptions& options) {
  json rows = json::array();
  Problems problems;
  for (const std::string& name : catalogue(kSystems))
    problems.attempt([&] { rows.push_back(to_json(load_system(name, "system list"))); });
  print_rows(rows,
             {{.key = "name", .heading = "<system"},
              {.key = "schedule", .heading = "<schedule"},
              {.key = "stack", .heading = "<stack"},
              {.key = "description", .heading = "<description"}},
             options.output);
  problems.raise("system list");
}

void show(const SystemOptions& options) {
  const System system = load_system(options.names.front(), "system show");
  const json document = to_json(system);
  if (options.output.json) {
    fmt::print("{}\n", document.dump(2));
    return;
  }
  fmt::print("{}: {}\n", system.name, system.description);
  fmt::print("source:   {}, {}\n", system.paper, system.section);
  fmt::print("schedule: {}: {}\n", system.schedule,
             Registry<Schedule>::find(system.schedule, "system show").summary);
  for (const auto& [name, value] : system.options) fmt::print("          {} = {}\n", name, value);
  fmt::print("stack:    {}: {}\n", system.stack,
             system.stack == kNccl ? "the platform's own, NCCL 2.3 where it names none"
                                   : load_stack(system.stack).description);
  if (system.framework) fmt::print("times of: {}\n", to_text(*system.framework));
  if (!system.data.empty()) fmt::print("data:     {}\n", system.data);
  if (!system.note.empty()) fmt::print("note:     {}\n", system.note);
  if (system.collectives.empty()) {
    fmt::print("collectives: the stack's own choice\n");
    return;
  }
  std::vector<Column> columns{{.key = "op", .heading = "<operation"},
                              {.key = "algorithm", .heading = "<algorithm"}};
  const std::vector<Column> of_options = option_columns(document["collectives"]);
  columns.insert(columns.end(), of_options.begin(), of_options.end());
  fmt::print("collectives (others: the stack's own choice)\n{}",
             table_text(document["collectives"], columns));
}

void check(const SystemOptions& options) {
  check_all(options.names.empty() ? catalogue(kSystems) : options.names, "system check",
            [](const std::string& name) {
              const System system = load_system(name, "system check");
              if (system.stack != kNccl)
                check_selection(load_stack(system.stack), "stack " + system.stack);
              return fmt::format("schedule {}, stack {}", system.schedule, system.stack);
            });
}

void add_system(Subcommand app) {
  auto options = std::make_shared<SystemOptions>();
  Subcommand command =
      add_catalogue_command(app, {.name = "system",
                                  .summary = "Systems (schedule + stack + options): list, show, "
                                             "check",
                                  .examples = {"system list", "system show s-caffe-obr-hr"}});
  Subcommand verb = add_verb(command, {.name = "list",
                                       .summary = "All systems with their papers",
                                       .examples = {"system list --csv"}});
  add_output_options(verb, options->output);
  verb.callback([options] { list(*options); });

  verb =
      add_verb(command, {.name = "show",
                         .summary = "What a system consists of",
                         .examples = {"system show s-caffe-obr-hr", "system show my-system.json"}});
  verb.add_option("NAME", options->names, "System or JSON file").required().expected(1);
  verb.add_flag("--json", options->output.json, "Print JSON for machines");
  verb.callback([options] { show(*options); });

  verb = add_verb(command, {.name = "check",
                            .summary = "Are these files right? Without a name: the catalogue's",
                            .examples = {"system check my-system.json"}});
  verb.add_option("NAME", options->names, "Systems or JSON files");
  verb.callback([options] { check(*options); });
}

const bool kSystemRegistered = Registry<Command>::add({.name = "system", .add = add_system});

}  // namespace
}  // namespace forescale
