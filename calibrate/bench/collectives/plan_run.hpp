// One rank's part in one collective, for real: its plan advanced by MPI messages on real floats.
//
// Never blocks: progress() starts what the plan allows and completes what has arrived. The contract
// of algorithms/plan.hpp holds, with `channels` sends and receives in progress at once: a send that
// has been posted is complete when MPI says so, a receive is posted in the order of the plan.
// Received contributions are added on this CPU after the next receive has been posted.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "algorithms/collective.hpp"

namespace forescale {

struct PlanRunOptions {
  MPI_Comm communicator = MPI_COMM_WORLD;
  int tag = 0;
  int channels = 1;
  std::vector<int> ranks = {};  // of the communicator, by rank of the plan; empty: the same
  // A number that rides along with every message (8 bytes more in each); the least that any rank
  // contributed is value() at the end. Only where `carries_value`.
  bool carries_value = false;
  std::int64_t value = 0;
};

class PlanRun {
 public:
  // `buffer` reaches as far as buffer_bytes() of collective.hpp and lives until done().
  PlanRun(OpStream plan, std::byte* buffer, PlanRunOptions options);
  ~PlanRun();
  PlanRun(const PlanRun&) = delete;
  PlanRun& operator=(const PlanRun&) = delete;

  // True when something moved on.
  bool progress();
  bool done() const;
  std::int64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace forescale
