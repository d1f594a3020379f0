#include "cli/catalogue/catalogue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <set>

#include "algorithms/plan_choice.hpp"
#include "base/units.hpp"
#include "cli/text.hpp"
#include "models/plan_options.hpp"

namespace forescale {
namespace {

using nlohmann::json;

// Generators call their text a file: "--platform star". Files are known by their last name.
std::string short_file(const std::string& file) {
  return file.ends_with(".json") ? std::filesystem::path(file).filename().string() : file;
}

std::string plain_cell(const json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  return value.dump();
}

// Without repetitions: several parts of a platform may read the same model.
std::vector<NumberSource> distinct(const Provenance& provenance) {
  std::set<std::pair<std::string, std::string>> seen;
  std::vector<NumberSource> numbers;
  for (const NumberSource& number : provenance.numbers)
    if (seen.emplace(number.file, number.path).second) numbers.push_back(number);
  return numbers;
}

}  // namespace

Subcommand add_verb(Subcommand parent, const CommandText& text) {
  Subcommand command = parent.add_subcommand(text.name, text.summary);
  std::string examples;
  for (const std::string& example : text.examples) examples += "\n  forescale " + example;
  if (!examples.empty()) command.footer("Examples:" + examples);
  return command;
}

Subcommand add_catalogue_command(Subcommand app, const CommandText& text) {
  Subcommand command = add_verb(app, text);
  command.require_subcommand();
  return command;
}

std::string table_text(const json& rows, const std::vector<Column>& columns) {
  std::vector<std::string> headings;
  for (const Column& column : columns) headings.push_back(column.heading);
  Table table(headings);
  for (const json& row : rows) {
    std::vector<std::string> cells;
    for (const Column& column : columns)
      cells.push_back((column.text != nullptr ? column.text : plain_cell)(row.at(column.key)));
    table.add(cells);
  }
  return table.text();
}

void print_rows(const json& rows, const std::vector<Column>& columns, const OutputOptions& output) {
  if (output.json) {
    fmt::print("{}\n", rows.dump(2));
  } else if (output.csv) {
    std::vector<std::string> keys;
    for (const Column& column : columns) keys.push_back(column.key);
    fmt::print("{}", csv_line(keys));
    for (const json& row : rows) {
      std::vector<std::string> cells;
      for (const std::string& key : keys)
        cells.push_back(row.at(key).is_null() ? "" : plain_cell(row.at(key)));
      fmt::print("{}", csv_line(cells));
    }
  } else {
    fmt::print("{}", table_text(rows, columns));
  }
}

std::string count_cell(const json& value) {
  if (value.is_null()) return "-";
  std::string text = std::to_string(value.get<std::int64_t>());
  constexpr int kGroup = 3;
  for (int at = static_cast<int>(text.size()) - kGroup; at > (text[0] == '-' ? 1 : 0); at -= kGroup)
    text.insert(static_cast<size_t>(at), ",");
  return text;
}

std::string seconds_cell(const json& value) {
  return value.is_null() ? "-" : to_text(Seconds{value.get<double>()});
}

std::string bytes_cell(const json& value) {
  return value.is_null() ? "-" : to_text(Bytes{value.get<std::int64_t>()});
}

std::string bandwidth_cell(const json& value) {
  return value.is_null() ? "-" : to_text(BytesPerSecond{value.get<double>()});
}

std::string mega_cell(const json& value) {
  constexpr double kMega = 1e6;
  return value.is_null() ? "-" : fmt::format("{:.1f}", value.get<double>() / kMega);
}

void Problems::attempt(const std::function<void()>& action) {
  ++attempts_;
  try {
    action();
  } catch (const InputError& error) {
    errors_.push_back(error);
  }
}

void Problems::raise(const std::string& what) const {
  if (errors_.empty()) return;
  std::fflush(stdout);  // what is right comes first where both go to the same file
  if (errors_.size() == 1) throw InputError(errors_.front());
  for (const InputError& error : errors_) fmt::print(stderr, "forescale: {}\n", error.what());
  throw InputError({.source = what,
                    .path = "",
                    .value = "",
                    .constraint = fmt::format("{} of {} are bad", errors_.size(), attempts_)});
}

void check_all(const std::vector<std::string>& names, const std::string& what,
               const std::function<std::string(const std::string& name)>& check) {
  Problems problems;
  for (const std::string& name : names)
    problems.attempt([&] {
      const std::string said = check(name);
      fmt::print("{}: ok{}{}\n", name, said.empty() ? "" : ", ", said);
    });
  problems.raise(what);
}

std::string count_text(const Provenance& provenance) {
  const std::vector<NumberSource> numbers = distinct(provenance);
  const auto assumed = std::count_if(numbers.begin(), numbers.end(),
                                     [](const NumberSource& number) { return number.assumed; });
  return fmt::format("{} numbers, {} of them assumed", numbers.size(), assumed);
}

json sources_json(const Provenance& provenance) {
  json list = json::array();
  for (const NumberSource& number : distinct(provenance)) {
    json row = {{"file", number.file},
                {"path", number.path},
                {"value", number.value},
                {"assumed", number.assumed},
                {number.assumed ? "reason" : "source", number.source}};
    if (number.assumed) row.update({{"fast", number.fast}, {"slow", number.slow}});
    list.push_back(row);
  }
  return list;
}

std::string sources_text(const Provenance& provenance) {
  if (provenance.numbers.empty()) return "no numbers\n";
  Table table({"<number", "value", "<fast .. slow", "<source"});
  for (const NumberSource& number : distinct(provenance)) {
    const bool has_interval = number.assumed || number.fast != number.slow;
    table.add({short_file(number.file) + ":" + number.path, fmt::format("{:g}", number.value),
               has_interval ? fmt::format("{:g} .. {:g}", number.fast, number.slow) : "",
               (number.assumed ? "assumed: " : "") + number.source});
  }
  return table.text();
}

json options_row(const std::string& op, const std::string& algorithm, const OptionValues& options) {
  const auto& known = Registry<Collective>::all();
  const auto collective = known.find(op + "/" + algorithm);
  json row = json::object();
  for (const auto& [name, option] : plan_options()) {
    const bool is_read =
        collective != known.end() && find_option(collective->second, name) != nullptr;
    if (option.unit == OptionUnit::kText)
      row[name] = options.text(option);
    else
      row[name] = is_read && options.number(option) > 0 ? json(options.number(option)) : json();
  }
  return row;
}

std::vector<Column> option_columns(const json& rows) {
  std::vector<Column> columns;
  for (const auto& [name, option] : plan_options()) {
    if (std::none_of(rows.begin(), rows.end(), [&, key = name](const json& row) {
          return !row[key].is_null() && row[key] != "";
        }))
      continue;
    std::string heading = name == "chunk_bytes" ? "chunk" : name;
    std::replace(heading.begin(), heading.end(), '_', ' ');
    const bool is_bytes = option.unit == OptionUnit::kBytes;
    columns.push_back(
        {.key = name, .heading = (option.unit == OptionUnit::kText ? "<" : "") + heading});
    if (is_bytes) columns.back().text = bytes_cell;
  }
  return columns;
}

namespace {

void check_rules(const SelectionRules& all, const std::string& place, const std::string& source) {
  for (const auto& [op, rules] : all)
    for (size_t i = 0; i < rules.size(); ++i) {
      const SelectionRule& rule = rules[i];
      CollectiveCall call{.rank_count = 2, .bytes = 1 << 20, .options = rule.options};
      try {
        const PlanChoice plan =
            make_plan(parse_collective_op(op, source), rule.algorithm, rule.options, source);
        check_call(*plan.collective, call);
      } catch (const InputError& error) {
        throw InputError({.source = source,
                          .path = fmt::format("{}/{}/{}", place, op, i),
                          .value = error.parts().value,
                          .constraint = error.parts().constraint});
      }
    }
}

}  // namespace

void check_selection(const Stack& stack, const std::string& source) {
  check_rules(stack.selection, "/selection", source);
  for (const auto& [name, alternative] : stack.alternatives)
    check_rules(alternative.rules, "/alternatives/" + name, source);
}

}  // namespace forescale
