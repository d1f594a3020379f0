// A worker of a study: simulates what its master (sweep_crew.hpp) gives it.
#pragma once

#include <string>

#include "studies/sweep/sweep_processes.hpp"
#include "studies/sweep/sweep_study.hpp"

namespace forescale {

struct SweepWorker {
  const Study& study;
  std::string version;       // of forescale
  std::string address_file;  // where the master says how to reach it
  const SweepProgram& program;
  int slots = 1;  // points at a time
};

// Works until the master has no more points. InputError when the master's study or version is
// another; SimulationStuck when no master is found for two minutes, or it goes away.
void run_sweep_worker(const SweepWorker& worker);

}  // namespace forescale
