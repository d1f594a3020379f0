// A layout's prediction as text and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/catalogue/catalogue.hpp"
#include "studies/layout/layout_prediction.hpp"

namespace forescale {

// For tables and CSV.
nlohmann::json layout_rows(const std::vector<LayoutPrediction>& predictions);
std::vector<Column> layout_columns();
std::string to_table(const std::vector<LayoutPrediction>& predictions);
nlohmann::json to_json(const LayoutPrediction& prediction);

}  // namespace forescale
