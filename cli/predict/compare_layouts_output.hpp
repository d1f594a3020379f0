// Offers for a transformer, side by side.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "studies/layout/training_cost.hpp"
#include "studies/tune/compare_layouts.hpp"

namespace forescale {

// What is asked of the offers beside their times.
struct OfferQuestions {
  Question question;
  TrainingPlan plan = {};
  std::vector<double> hour_prices = {};  // of a GPU: of each offer's platform; empty: not asked
  double within_days = 0;                // 0: not asked
  double efficiency_min = 0;
};

std::string to_table(const std::vector<LayoutOffer>& offers, const OfferQuestions& asked);
std::string to_csv(const std::vector<LayoutOffer>& offers, const OfferQuestions& asked);
// What the page shows of `predict --layout`, each with its platform.
nlohmann::json to_json(const std::vector<LayoutOffer>& offers, const OfferQuestions& asked);

}  // namespace forescale
