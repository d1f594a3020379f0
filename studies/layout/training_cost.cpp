#include "studies/layout/training_cost.hpp"

namespace forescale {
namespace {

constexpr double kHour_s = 3600;
constexpr double kDay_s = 24 * kHour_s;

}  // namespace

TrainingCost training_cost(const LayoutPrediction& prediction, const TrainingPlan& plan) {
  TrainingCost cost;
  if (plan.failures) cost.goodput = goodput_of(*plan.failures, prediction.nodes);
  // That the time until the last one is enough for.
  const double iterations = plan.tokens / prediction.tokens_an_iteration() / cost.goodput.share;
  const auto days = [&](double iteration_s) { return iterations * iteration_s / kDay_s; };
  cost.days = days(prediction.iteration_s);
  cost.days_low = prediction.iteration ? days(prediction.iteration->low_s) : cost.days;
  cost.days_high = prediction.iteration ? days(prediction.iteration->high_s) : cost.days;
  cost.gpu_hours =
      iterations * prediction.iteration_s / kHour_s * static_cast<double>(prediction.gpus);
  cost.money = cost.gpu_hours * plan.hour_price;
  return cost;
}

}  // namespace forescale
