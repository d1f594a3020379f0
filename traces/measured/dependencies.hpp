// What waits for what in a measured rank, read off launches, waits and times.
#pragma once

#include <vector>

#include "algorithms/worker.hpp"
#include "traces/measured/measured.hpp"

namespace forescale {

// Indices into the rank's tasks and calls.
struct TaskNeeds {
  std::vector<int> tasks = {};  // of other streams, that have to be done before it
  std::int64_t latency_ns = 0;  // between the last thing that it needs and its beginning
  Timer::For latency = Timer::For::kLaunch;  // what that is
};

struct Dependencies {
  std::vector<TaskNeeds> of_task;
  std::vector<std::vector<int>> of_call;  // tasks that the host waits for in the call
  std::vector<std::int64_t> resumes_ns;   // by call: when the host goes on, as measured
};

// Tasks in the order of their launches. A collective needs what the other streams had queued before
// it; a kernel behind a wait of its stream needs the collectives before that wait; a blocking call
// waits for what had been queued and was done when it returned. A launch blocks where it copies
// memory that is not pinned and returns once the copy is done, and where the queue is full: CUDA's
// holds 1024 (HTA's trace ns_resolution shows 1022 under way, launches waiting). Where a trace
// holds no waits of streams, a kernel that began when a collective ended, and could have begun
// before, needs it.
Dependencies dependencies_of(const MeasuredRank& rank);

}  // namespace forescale
