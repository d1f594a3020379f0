// Rows of comma-separated values by the names of their columns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/csv.hpp"
#include "calibrate/import/import_format.hpp"

namespace forescale {

class CsvTable {
 public:
  CsvTable(const ImportTarget& target, const LogLine& header)
      : target_(target), columns_(csv_cells(header.text)) {}

  bool has(std::string_view column) const;
  // Begins a row: refused unless it has as many cells as the header.
  void read(const LogLine& line);
  // InputError for a column that the header does not have.
  const std::string& text(std::string_view column) const;
  std::int64_t integer(std::string_view column) const;  // "700.0" is 700
  double positive(std::string_view column, const char* what) const;
  const LogLine& line() const { return line_; }

 private:
  const ImportTarget& target_;
  std::vector<std::string> columns_;
  std::vector<std::string> cells_;
  LogLine line_;
};

}  // namespace forescale
