// What `forescale sweep` and `forescale merge` print.
#pragma once

#include "cli/command.hpp"
#include "studies/sweep/sweep_database.hpp"

namespace forescale {

// JSON: how many points are done, have failed and are missing. CSV: the view `result`. Else for
// people, with the commonest reasons of failures.
void print_sweep(SweepDatabase& database, const OutputOptions& output);

}  // namespace forescale
