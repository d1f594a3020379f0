// Writes down what a schedule does while it does it.
#pragma once

#include <functional>

#include "algorithms/worker.hpp"
#include "traces/program/program.hpp"

namespace forescale {

// Runs `main_thread` on a Worker that passes every call on to `worker` and adds it to `rank`, which
// has to live as long as the simulation.
void record_thread(Worker& worker, ProgramRank& rank,
                   const std::function<void(Worker&)>& main_thread);

}  // namespace forescale
