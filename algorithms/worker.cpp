#include "algorithms/worker.hpp"

namespace forescale {

const char* name_of(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kUpdate:
      return "update";
    case Phase::kPropagation:
      return "propagation";
    case Phase::kAggregation:
      return "aggregation";
    case Phase::kInput:
      return "input";
    case Phase::kWaiting:
      return "waiting";
  }
  return "";
}

}  // namespace forescale
