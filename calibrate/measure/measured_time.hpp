// Times with their intervals, as measurement files write them.
#pragma once

#include "base/json_input.hpp"

namespace forescale {

double read_measured_time(const JsonInput& in);

// The two ends around `time_s`, both there or both missing (then both are `time_s`).
struct TimeEnds {
  double low_s = 0;
  double high_s = 0;
};
TimeEnds read_time_ends(const JsonInput& in, const char* low_key, const char* high_key,
                        double time_s);

}  // namespace forescale
