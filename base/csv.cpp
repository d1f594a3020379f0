#include "base/csv.hpp"

namespace forescale {

std::vector<std::string> csv_cells(std::string_view line) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool is_doubled = is_quoted && line.substr(i, 2) == "\"\"";
    if (line[i] == '"' && !is_doubled) {
      is_quoted = !is_quoted;
    } else if (line[i] == ',' && !is_quoted) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
      if (is_doubled) ++i;
    }
  }
  return cells;
}

}  // namespace forescale
