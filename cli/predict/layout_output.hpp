// A layout's prediction as text and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/catalogue/catalogue.hpp"
#include "models/failures.hpp"
#include "studies/layout/layout_prediction.hpp"

namespace forescale {

// A whole training: what it reads, and what a GPU costs. 0: not asked.
struct TrainingPlan {
  double tokens = 0;
  double hour_price = 0;  // of one GPU, in the user's currency
  std::optional<Failures> failures = {};
};

// For tables and CSV.
nlohmann::json layout_rows(const std::vector<LayoutPrediction>& predictions,
                           const TrainingPlan& plan);
std::vector<Column> layout_columns(const std::vector<LayoutPrediction>& predictions,
                                   const TrainingPlan& plan);
std::string to_table(const std::vector<LayoutPrediction>& predictions, const TrainingPlan& plan);
// A note where the memory is so full that it may take much longer; else nothing.
std::string full_memory_text(const LayoutPrediction& prediction);
nlohmann::json to_json(const LayoutPrediction& prediction, const TrainingPlan& plan);

}  // namespace forescale
