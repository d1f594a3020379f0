#include "studies/sweep/sweep_view.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace forescale {
namespace {

// Where the main numbers of a command's answers are, as SQLite's JSON paths; the column's name has
// '_' for '.'. An answer is an element of "points", or the whole if it has none.
std::vector<std::string> main_numbers(const std::string& command) {
  if (command == "collective")
    return {"algorithm",   "ranks",         "bytes",         "chunk_bytes", "time_s",
            "simulated_s", "cost_engine_s", "closed_form_s", "bound_s",     "low_s",
            "high_s",      "messages",      "bytes_sent"};
  if (command == "crossover")
    return {"ranks",
            "chunk_bytes",
            "equations.verdict",
            "equations.bytes",
            "cost_engine.verdict",
            "cost_engine.bytes",
            "simulator.verdict",
            "simulator.bytes"};
  if (command == "predict")
    return {"gpus",
            "fits",
            "iteration_s",
            "iteration_fast_s",
            "iteration_slow_s",
            "images_per_s",
            "speedup",
            "efficiency",
            "compute_s",
            "io_s",
            "bound_s",
            "exposed_communication_s",
            "epoch_s",
            "goodput"};
  return {};
}

std::string column_name(std::string path) {
  std::replace_if(
      path.begin(), path.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return path;
}

}  // namespace

// json_extract instead of the shorter ->>, which SQLite has since 3.38 only: an older one could not
// read a database with such a view at all.
std::string result_view(const std::string& command, const std::vector<std::string>& varied) {
  const auto input = [](const std::string& option) {
    return fmt::format("json_extract(point.inputs, '$.\"{}\"')", option);
  };
  std::string columns;
  const auto add = [&](const std::string& name, const std::string& value) {
    columns += fmt::format(",\n  {} AS \"{}\"", value, name);
  };
  const std::vector<std::string> numbers = main_numbers(command);
  for (const std::string& option : varied)
    if (std::find(numbers.begin(), numbers.end(), column_name(option)) == numbers.end())
      add(column_name(option), input(option));
  for (const std::string& path : numbers) {
    const std::string number = fmt::format("json_extract(element.value, '$.{}')", path);
    const auto option = std::find_if(varied.begin(), varied.end(), [&](const std::string& name) {
      return column_name(name) == path;
    });
    add(column_name(path),
        option == varied.end() ? number : fmt::format("coalesce({}, {})", number, input(*option)));
  }
  return fmt::format(
      "CREATE VIEW result AS SELECT\n  place, status, reason{}\n"
      "FROM point LEFT JOIN json_each(coalesce(json_extract(answer, '$.points'),\n"
      "                                        json_array(json(answer)))) AS element\n"
      "  ON answer IS NOT NULL\n"
      "ORDER BY place, element.key",
      columns);
}

std::string number_view() {
  return "CREATE VIEW number AS SELECT\n"
         "  place, replace(substr(leaf.fullkey, 3), '\"', '') AS name, leaf.value AS value\n"
         "FROM point JOIN json_tree(answer) AS leaf\n"
         "WHERE leaf.type IN ('integer', 'real')\nORDER BY place";
}

}  // namespace forescale
