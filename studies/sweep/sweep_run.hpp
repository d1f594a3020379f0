// Runs the points of a study that a database lacks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "studies/sweep/sweep_database.hpp"
#include "studies/sweep/sweep_processes.hpp"
#include "studies/sweep/sweep_study.hpp"

namespace forescale {

struct SweepRun {
  const Study& study;
  SweepDatabase& database;
  const SweepProgram& program;
  std::vector<std::size_t> points;  // places in the study
  int jobs = 1;                     // processes at a time in this one's charge
  int workers = 0;                  // other ranks of this launch that will come to help
  std::function<void(std::size_t finished)> on_progress;
};

// Each point in a process of its own, which ends with this one, however that ends: a sweep that is
// killed loses the runs in flight, and nothing else.
// InputError when the database cannot be written any more: what was stored stays.
void run_sweep(const SweepRun& run);

// The database's companion through which ranks find each other.
std::string address_file_of(const std::string& database);

}  // namespace forescale
