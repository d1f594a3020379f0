#include "cli/sweep/sweep_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "cli/text.hpp"

namespace forescale {
namespace {

// A number where the text is one; what is empty is left out.
nlohmann::json rows_of(const SweepTable& table) {
  nlohmann::json rows = nlohmann::json::array();
  for (const std::vector<std::string>& cells : table.rows) {
    nlohmann::json row = nlohmann::json::object();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].empty()) continue;
      const nlohmann::json number = parse_json_or_discard(cells[i]);
      row[table.columns[i]] = number.is_number() ? number : nlohmann::json(cells[i]);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void print_json(SweepDatabase& database, const std::string& line) {
  const SweepTally tally = database.tally();
  const nlohmann::json answer = {{"format", "forescale-sweep-1"},
                                 {"command", line},
                                 {"study", database.facts().name},
                                 {"asks", database.facts().command},
                                 {"database", database.file()},
                                 {"done", tally.done},
                                 {"failed", tally.failed},
                                 {"missing", tally.missing},
                                 {"rows", rows_of(database.results())}};
  fmt::print("{}\n", answer.dump(2));
}

void print_csv(SweepDatabase& database) {
  const SweepTable table = database.results();
  fmt::print("{}", csv_line(table.columns));
  for (const std::vector<std::string>& row : table.rows) fmt::print("{}", csv_line(row));
}

void print_for_people(SweepDatabase& database) {
  constexpr std::size_t kShownMax = 5;
  const SweepTally tally = database.tally();
  fmt::print("{}: {} points of `forescale {}`: {} done, {} failed, {} missing; in {}\n",
             database.facts().name, database.facts().points, database.facts().command, tally.done,
             tally.failed, tally.missing, database.file());
  const std::vector<FailureReason> reasons = database.reasons();
  if (reasons.empty()) return;
  Table table({"failed", "first at", "<reason"});
  for (std::size_t i = 0; i < std::min(kShownMax, reasons.size()); ++i)
    table.add({std::to_string(reasons[i].count), std::to_string(reasons[i].first_place),
               reasons[i].text});
  fmt::print("{}", table.text());
  if (reasons.size() > kShownMax) fmt::print("and {} other reasons\n", reasons.size() - kShownMax);
}

}  // namespace

void print_sweep(SweepDatabase& database, const OutputOptions& output, const std::string& line) {
  if (output.json)
    print_json(database, line);
  else if (output.csv)
    print_csv(database);
  else
    print_for_people(database);
}

}  // namespace forescale
