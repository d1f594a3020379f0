// What the catalogue's commands (platform, model, stack, schedule, system, algorithm) share: verbs,
// rows printed in three ways, checks of many names, and where numbers come from.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/json_input.hpp"
#include "cli/command.hpp"
#include "cli/command_line.hpp"
#include "models/stack.hpp"
#include "models/workload/architecture.hpp"

namespace forescale {

// Words of a command or of a verb below it. `examples` are shown by its own --help only.
struct CommandText {
  std::string name;
  std::string summary;
  std::vector<std::string> examples;
};
Subcommand add_verb(Subcommand parent, const CommandText& text);
// A command that is nothing without a verb.
Subcommand add_catalogue_command(Subcommand app, const CommandText& text);

// One column of a listing: a key of the rows, its heading for people (see Table) and how they read
// its values; without `text` a string or number as it is, null as "-".
struct Column {
  std::string key;
  std::string heading;
  std::string (*text)(const nlohmann::json& value) = nullptr;
};
// `rows` is an array of objects. JSON prints all keys, a table and CSV those of the columns.
void print_rows(const nlohmann::json& rows, const std::vector<Column>& columns,
                const OutputOptions& output);
std::string table_text(const nlohmann::json& rows, const std::vector<Column>& columns);

// Cells for people.
std::string count_cell(const nlohmann::json& value);      // 60,965,224
std::string seconds_cell(const nlohmann::json& value);    // 1.5 us
std::string bytes_cell(const nlohmann::json& value);      // 4 MiB
std::string bandwidth_cell(const nlohmann::json& value);  // 12.5 GB/s
std::string mega_cell(const nlohmann::json& value);       // 1e6 -> 1.0

// Errors of several inputs, so that one bad file does not hide the others.
class Problems {
 public:
  // Keeps the InputError that `action` throws.
  void attempt(const std::function<void()>& action);
  // Throws what was kept: a single error itself; of several, prints each and throws their number.
  void raise(const std::string& what) const;

 private:
  std::vector<InputError> errors_;
  int attempts_ = 0;
};

// `check NAME...`: prints "NAME: ok, " and what `check` says, for all names before it throws for
// the bad ones.
void check_all(const std::vector<std::string>& names, const std::string& what,
               const std::function<std::string(const std::string& name)>& check);

// "31 numbers, 12 of them assumed".
std::string count_text(const Provenance& provenance);
nlohmann::json sources_json(const Provenance& provenance);
// A line a number: where it stands, its value, who says so; assumed ones with both ends.
std::string sources_text(const Provenance& provenance);

// The options of a choice by name: null for a number that the algorithm ("reduce", "ring") does not
// read or that is off, "" for a text that is not given.
nlohmann::json options_row(const std::string& op, const std::string& algorithm,
                           const OptionValues& options);
// Columns of those options that any of the rows has.
std::vector<Column> option_columns(const nlohmann::json& rows);

// InputError for a selection rule of the stack whose operation or algorithm does not exist or that
// cannot be served; `source` is what errors call the stack.
void check_selection(const Stack& stack, const std::string& source);

}  // namespace forescale
