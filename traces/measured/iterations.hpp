// What an iteration of a measured rank is: one definition for the measured step, the program that
// is made of the trace, and so for its replay.
//
// An iteration ends when all that was launched until the end of its step (the profiler's annotation
// on the host) is done, on the host and on all streams. A trace without steps is one iteration,
// from the first thing that it shows to the last.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/measured/measured.hpp"

namespace forescale {

struct MeasuredIterations {
  std::int64_t begin_ns = 0;  // of the first, on the rank's clock
  std::vector<std::int64_t> ends_ns = {};
  // The last task of each stream that each of them waits for.
  std::vector<std::vector<int>> last_tasks = {};
};

MeasuredIterations iterations_of(const MeasuredRank& rank);

// Takes away what no step holds: calls before the first and after the last, and what they
// launched, unless a task of theirs still ran in the first one. A note says how many.
void cut_to_steps(MeasuredRank& rank);

}  // namespace forescale
