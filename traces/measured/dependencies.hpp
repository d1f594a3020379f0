// What waits for what in a measured rank, read off launches, waits and times.
#pragma once

#include <vector>

#include "traces/measured/measured.hpp"

namespace forescale {

// Indices into the rank's tasks and calls.
struct TaskNeeds {
  std::vector<int> tasks = {};  // of other streams, that have to be done before it
  std::int64_t latency_ns = 0;  // between the last thing that it needs and its beginning
};

struct Dependencies {
  std::vector<TaskNeeds> of_task;
  std::vector<std::vector<int>> of_call;  // kWaitFor: tasks that it waits for; else empty
  std::vector<std::int64_t> resumes_ns;   // by call: when the host goes on, as measured
};

// Tasks in the order of their launches. A collective needs what the other streams had queued before
// it; a kernel behind a wait of its stream needs the collectives before that wait; a blocking call
// waits for what had been queued and was done when it returned. Where a trace holds no waits of
// streams, a kernel that began when a collective ended, and could have begun before, needs it.
Dependencies dependencies_of(const MeasuredRank& rank);

}  // namespace forescale
