// Collectives that a measurement holds beside its point-to-point patterns, predicted by the fit of
// those patterns alone: how far a fit carries, where nothing can be executed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/collective.hpp"
#include "calibrate/fit/fit_cluster.hpp"
#include "studies/execute/executed_collectives.hpp"

namespace forescale {

struct HeldOutRow {
  CollectiveOp op = CollectiveOp::kAllReduce;
  int ranks = 0;
  int ranks_per_host = 1;
  std::int64_t bytes = 0;
  double measured_s = 0;
  struct Plan {
    std::string algorithm;
    TimeRange time;
  };
  // The one that the measurement states, or, where it states none that is registered, all that
  // serve the call, the fastest first: which of them the library took is not known.
  std::vector<Plan> plans;

  const Plan& fastest() const { return plans.front(); }
  const Plan& nearest() const;  // to what was measured, by ratio
  double error(const Plan& plan) const { return plan.time.time_s / measured_s - 1; }
};

// By series and size; sizes that are no whole FP32 elements and series of operations without a plan
// are left out. `options.hosts` and `ranks_per_host` are those of each series. InputError as of
// fit_cluster, and where there is no collective.
std::vector<HeldOutRow> predict_held_out(const Measurement& measurement, const std::string& source,
                                         ClusterFitOptions options);

}  // namespace forescale
