// What a whole training takes, from an iteration's time.
#pragma once

#include <optional>

#include "models/failures.hpp"
#include "studies/layout/layout_prediction.hpp"

namespace forescale {

// A whole training: what it reads, and what a GPU costs. 0: not asked.
struct TrainingPlan {
  double tokens = 0;
  double hour_price = 0;  // of one GPU, in the user's currency
  std::optional<Failures> failures = {};
};

struct TrainingCost {
  double days = 0;
  double days_low = 0;  // by the iteration's interval; without one, days
  double days_high = 0;
  double gpu_hours = 0;
  double money = 0;  // 0: no price
  Goodput goodput;   // all of the time without failures
};

// At this speed throughout, of a prediction with times and a plan with tokens.
TrainingCost training_cost(const LayoutPrediction& prediction, const TrainingPlan& plan);

}  // namespace forescale
