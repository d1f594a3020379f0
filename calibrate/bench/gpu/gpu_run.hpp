// The measuring loop: what is asked for, in its order, until the budget is over.
//
// What is too large or cannot be done is left out with a note; a fault ends the run with what was
// measured until then; so does the budget, which is no failure.
#pragma once

#include <functional>
#include <string>

#include "calibrate/bench/gpu/gpu_answer.hpp"
#include "calibrate/bench/gpu/gpu_bench.hpp"
#include "calibrate/bench/gpu/gpu_request.hpp"
#include "calibrate/bench/gpu/repeat.hpp"

namespace forescale {

struct GpuSurroundings {
  GpuClock clock;
  std::function<bool()> is_stopped;  // by a signal
  std::function<void(const std::string&)> on_progress;
};

// Why it is not whole, empty if it is (or if the budget ended it); also in the notes. GpuTrouble
// only where nothing can be measured at all (kUnusable).
std::string measure_all(const GpuRequest& request, GpuBench& bench, GpuAnswer& answer,
                        const GpuSurroundings& around);

}  // namespace forescale
