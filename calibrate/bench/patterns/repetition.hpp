// Repeats a measurement until its median is known well enough, or enough time was spent.
#pragma once

#include <mpi.h>

#include <functional>
#include <optional>

#include "calibrate/bench/patience.hpp"
#include "calibrate/bench/patterns/sample_summary.hpp"

namespace forescale {

struct RepetitionRule {
  int warm_up = 1;  // repetitions before those that count
  int minimum = 5;
  int maximum = 200;
  double relative_interval = 0.02;  // half width of the median's 95 % interval that is enough
  double budget_s = 1;              // no repetition above the minimum begins later than this
};

// Collective: every rank of `communicator` calls it. `once` performs one repetition on all ranks
// and gives its time on rank 0 (elsewhere it is not looked at); nothing: it did not count, again.
// Rank 0 decides and tells the others. The summary is rank 0's; elsewhere it is empty.
SampleSummary repeat(MPI_Comm communicator, const Patience& patience, const RepetitionRule& rule,
                     const std::function<std::optional<double>()>& once);

}  // namespace forescale
