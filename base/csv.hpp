// Comma-separated values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace forescale {

// Cells of one line; a quoted cell may hold commas, and "" inside it is a quote.
std::vector<std::string> csv_cells(std::string_view line);

}  // namespace forescale
