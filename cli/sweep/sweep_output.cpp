#include "cli/sweep/sweep_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/text.hpp"

namespace forescale {
namespace {

void print_json(SweepDatabase& database) {
  const SweepTally tally = database.tally();
  const nlohmann::json answer = {
      {"study", database.facts().name}, {"command", database.facts().command},
      {"database", database.file()},    {"done", tally.done},
      {"failed", tally.failed},         {"missing", tally.missing}};
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

void print_sweep(SweepDatabase& database, const OutputOptions& output) {
  if (output.json)
    print_json(database);
  else if (output.csv)
    print_csv(database);
  else
    print_for_people(database);
}

}  // namespace forescale
