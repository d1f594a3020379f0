// A layout's prediction as text and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/catalogue/catalogue.hpp"
#include "studies/layout/training_cost.hpp"

namespace forescale {

// For tables and CSV.
nlohmann::json layout_rows(const std::vector<LayoutPrediction>& predictions,
                           const TrainingPlan& plan);
std::vector<Column> layout_columns(const std::vector<LayoutPrediction>& predictions,
                                   const TrainingPlan& plan);
std::string to_table(const std::vector<LayoutPrediction>& predictions, const TrainingPlan& plan);
// A note where the memory is so full that it may take much longer; else nothing.
std::string full_memory_text(const LayoutPrediction& prediction);
// A note where little measured stands behind one of the layouts; else nothing.
std::string support_text(const std::vector<Layout>& layouts, const Question& question);
nlohmann::json to_json(const LayoutPrediction& prediction, const TrainingPlan& plan);

}  // namespace forescale
