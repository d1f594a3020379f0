// `forescale complete -- WORD...`: what may follow the words, for the shells' completions
// (completion.bash, .fish, .zsh): "CANDIDATE<tab>SUMMARY" a line; nothing where a file or a number
// may.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "algorithms/collective.hpp"
#include "algorithms/schedule.hpp"
#include "base/data_files.hpp"
#include "cli/command.hpp"
#include "models/compute/framework.hpp"
#include "models/compute/gpu_kernel.hpp"
#include "models/workload/network.hpp"

namespace forescale {
namespace {

using Words = std::vector<std::string>;

Words algorithm_names() {
  std::set<std::string> names;
  for (const std::string& name : Registry<Collective>::names())
    names.insert(name.substr(name.find('/') + 1));
  return {names.begin(), names.end()};
}

Words operation_names() {
  std::set<std::string> names;
  for (const std::string& name : Registry<Collective>::names())
    names.insert(name.substr(0, name.find('/')));
  return {names.begin(), names.end()};
}

Words framework_names() {
  Words names;
  for (const Framework framework : frameworks()) names.push_back(to_text(framework));
  return names;
}

// What an option of this name takes, or `show` of the catalogue's command, beside files.
struct ValueNames {
  std::string name;
  Words (*names)();
};
const std::vector<ValueNames>& value_names() {
  static const std::vector<ValueNames> table = {
      {"algorithm", algorithm_names},
      {"data", [] { return catalogue("models/data_sources"); }},
      {"framework", framework_names},
      {"gpu", [] { return catalogue("models/hardware/gpus"); }},
      {"gpu-model", [] { return catalogue("models/hardware/gpu_models"); }},
      {"model", network_names},
      {"op", operation_names},
      {"plan", [] { return Registry<Collective>::names(); }},
      {"platform", [] { return catalogue("topologies/presets"); }},
      {"precision", precision_names},
      {"scaling",
       [] {
         return Words{"strong", "weak"};
       }},
      {"schedule", [] { return Registry<Schedule>::names(); }},
      {"stack", [] { return catalogue("models/stacks"); }},
      {"system", [] { return catalogue("algorithms/systems"); }},
      {"traced-gpu", [] { return catalogue("models/hardware/gpus"); }},
      {"traced-platform", [] { return catalogue("topologies/presets"); }},
      {"traced-stack", [] { return catalogue("models/stacks"); }}};
  return table;
}

Words values_called(const std::string& name) {
  for (const ValueNames& each : value_names())
    if (each.name == name) return each.names();
  return {};
}

std::optional<CommandOption> option_named(const Subcommand& command, const std::string& word) {
  for (const CommandOption& option : command.options()) {
    for (const std::string& name : option.long_names())
      if (word == "--" + name) return option;
    for (const std::string& name : option.short_names())
      if (word == "-" + name) return option;
  }
  return std::nullopt;
}

void print_values(const CommandOption& option) {
  Words values = option.words();
  for (const std::string& name : option.long_names())
    for (const std::string& value : values_called(name)) values.push_back(value);
  for (const std::string& value : values) fmt::print("{}\n", value);
}

void print_words_of(const Subcommand& command, const Subcommand& parent) {
  for (const Subcommand& each : command.subcommands())
    fmt::print("{}\t{}\n", each.name(), each.summary());
  if (command.name() == "show" || command.name() == "check")
    for (const std::string& name : values_called(parent.name())) fmt::print("{}\n", name);
  for (const CommandOption& option : command.options())
    for (const std::string& name : option.long_names())
      fmt::print("--{}\t{}\n", name, option.summary());
}

void complete(Subcommand app, const Words& words) {
  Subcommand command = app;
  Subcommand parent = app;
  std::optional<CommandOption> last;
  for (const std::string& word : words) {
    last = option_named(command, word);
    for (const Subcommand& each : command.subcommands())
      if (each.name() == word) {
        parent = command;
        command = each;
        break;
      }
  }
  if (last && !last->is_flag())
    print_values(*last);
  else
    print_words_of(command, parent);
}

void add_complete(Subcommand app) {
  auto words = std::make_shared<Words>();
  Subcommand command = app.add_subcommand("complete", "What may follow, for shells' completion");
  command.hide();
  command.add_option("words", *words, "Of the command line, without the program");
  command.callback([app, words] { complete(app, *words); });
}

const bool kCompleteRegistered =
    Registry<Command>::add({.name = "complete", .add = add_complete, .knows_all = true});

}  // namespace
}  // namespace forescale
