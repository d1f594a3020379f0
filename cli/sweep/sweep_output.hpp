// What `forescale sweep` and `forescale merge` print.
#pragma once

#include "cli/command.hpp"
#include "studies/sweep/sweep_database.hpp"

namespace forescale {

// JSON: how many points are done, have failed and are missing, and the rows of the view `result`,
// without what is empty. CSV: that view. Else for people, with the commonest reasons of failures.
// `line` is what was typed.
void print_sweep(SweepDatabase& database, const OutputOptions& output, const std::string& line);

}  // namespace forescale
