// Does what a program says, as a schedule would.
#pragma once

#include "algorithms/worker.hpp"
#include "traces/program/program.hpp"

namespace forescale {

// The main thread of worker.rank(), with the threads that it starts. The program has to live as
// long as the simulation. InputError when a thread waits for what another one has not started yet.
void replay_rank(Worker& worker, const Program& program);

}  // namespace forescale
