#include "cli/catalogue/schedule_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/text.hpp"

namespace forescale {
namespace {

std::string range_cell(const TimeRange& range) {
  if (range.low_s == range.high_s) return "";
  return fmt::format("{}..{}", ms(range.low_s), ms(range.high_s));
}

std::string error_cell(double error) {
  return std::isfinite(error) ? fmt::format("{:+.1f}", 100 * error) : "-";
}

// By time, fastest first: "sc-obr < sc-ob < phases".
std::string order_text(std::vector<const ScheduleRow*> rows,
                       const IterationTimes ScheduleRow::*of) {
  std::stable_sort(rows.begin(), rows.end(), [of](const ScheduleRow* a, const ScheduleRow* b) {
    return (a->*of).iteration_s < (b->*of).iteration_s;
  });
  std::string text;
  for (const ScheduleRow* row : rows) text += (text.empty() ? "" : " < ") + row->schedule;
  return text;
}

void add_row(Table& table, const ScheduleRow& row) {
  std::vector<std::string> cells = {row.schedule, ms(row.predicted.iteration_s),
                                    range_cell(row.iteration)};
  if (!row.failure.empty()) {
    cells.insert(cells.end(),
                 {"-", "-", ms(row.predicted.communication_or_waiting_s()), range_cell(row.exposed),
                  "-", "-", ms(row.predicted.compute_s), "-", "-"});
  } else {
    cells.insert(cells.end(),
                 {ms(row.measured.iteration_s), error_cell(row.iteration_error()),
                  ms(row.predicted.communication_or_waiting_s()), range_cell(row.exposed),
                  ms(row.measured.communication_or_waiting_s()), error_cell(row.exposed_error()),
                  ms(row.predicted.compute_s), ms(row.measured.compute_s),
                  fmt::format("{:.0f}", 100 * row.communication_share())});
  }
  table.add(std::move(cells));
}

std::string order_lines(const ScheduleComparison& comparison) {
  std::vector<const ScheduleRow*> rows;
  for (const ScheduleRow& row : comparison.rows)
    if (row.failure.empty()) rows.push_back(&row);
  if (rows.size() < 2) return "";
  std::string text = fmt::format("order predicted: {}\norder measured:  {}\n",
                                 order_text(rows, &ScheduleRow::predicted),
                                 order_text(rows, &ScheduleRow::measured));
  const OrderCheck& order = comparison.order;
  text += fmt::format("{} of {} pairs that differ by more than {:.0f} % are in the same order\n",
                      order.pairs - static_cast<int>(order.wrong.size()), order.pairs,
                      100 * kDistinguishable);
  for (const std::string& wrong : order.wrong)
    text += coloured("  not: " + wrong, Colour::kYellow) + "\n";
  return text;
}

std::string notes(const ScheduleComparison& comparison) {
  std::string text;
  if (comparison.compute_scale != 1)
    text += fmt::format("note: compute times x {}\n", comparison.compute_scale);
  if (comparison.bytes_scale != 1)
    text += fmt::format("note: parameters x {}\n", comparison.bytes_scale);
  for (const ScheduleRow& row : comparison.rows) {
    if (!row.failure.empty()) {
      text += fmt::format("note: {} was not executed: {}\n", row.schedule, row.failure);
      continue;
    }
    if (!row.measured.is_steady)
      text += fmt::format("note: {}'s measured iterations are not steady\n", row.schedule);
    if (std::abs(row.predicted.payload_bytes - row.measured.payload_bytes) > 0.5)
      text += fmt::format("note: {} sends {:.0f} bytes an iteration, predicted {:.0f}\n",
                          row.schedule, row.measured.payload_bytes, row.predicted.payload_bytes);
  }
  for (const std::string& refused : comparison.refused)
    text += fmt::format("note: not executed here: {}\n", refused);
  return text.empty() ? text : coloured(text, Colour::kYellow);
}

}  // namespace

std::string schedule_table(const ScheduleComparison& comparison) {
  std::string text = coloured(comparison.title, Colour::kBold) + "\n";
  text +=
      fmt::format("executed with {}; steady state at rank 0; errors are predicted/measured - 1\n",
                  comparison.library);
  Table table({"<schedule", "predicted ms", "range", "measured ms", "error %", "exposed predicted",
               "range", "measured", "error %", "compute predicted", "measured", "comm. %"});
  for (const ScheduleRow& row : comparison.rows) add_row(table, row);
  return text + table.text() + order_lines(comparison) + notes(comparison);
}

}  // namespace forescale
