#include "calibrate/import/import_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace forescale {

bool CsvTable::has(std::string_view column) const {
  return std::find(columns_.begin(), columns_.end(), column) != columns_.end();
}

void CsvTable::read(const LogLine& line) {
  line_ = line;
  cells_ = csv_cells(line.text);
  if (cells_.size() != columns_.size())
    target_.refuse(line, fmt::format("must have {} cells as the header has, and has {}",
                                     columns_.size(), cells_.size()));
}

const std::string& CsvTable::text(std::string_view column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  if (found == columns_.end())
    target_.refuse(line_, fmt::format("the header has no column \"{}\"", column));
  return cells_[static_cast<size_t>(found - columns_.begin())];
}

std::int64_t CsvTable::integer(std::string_view column) const {
  std::string_view cell = text(column);
  if (cell.ends_with(".0")) cell.remove_suffix(2);
  return target_.integer(line_, cell);
}

double CsvTable::positive(std::string_view column, const char* what) const {
  return target_.positive(line_, text(column), what);
}

}  // namespace forescale
