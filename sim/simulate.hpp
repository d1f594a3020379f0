// The two questions that one simulation answers: how long does a collective take, and how long does
// a training iteration take. One call per process (SimGrid's limit); see isolate.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "algorithms/schedule.hpp"
#include "sim/bounds.hpp"
#include "sim/session.hpp"

namespace forescale {

struct CollectiveOutcome {
  double time_s = 0;
  std::uint64_t messages = 0;
  double bytes_sent = 0;
  Machine::Busiest busiest;
  std::map<std::string, double> root_s;  // what the root (rank 0 without one) did: breakdown()
};

// All ranks start at 0 with their buffers in their default place, or through the host as the stack
// says for `choice` absent.
CollectiveOutcome simulate_collective(const Platform& platform, const Stack& stack,
                                      const CollectiveStep& step, int rank_count,
                                      SessionOptions options);

struct TrainingOutcome {
  double iteration_s = 0;                 // steady-state period
  bool is_steady = true;                  // the last two periods agree
  std::vector<double> periods_s;          // of all iterations, the first from time 0
  std::vector<Attribution> attributions;  // per rank, last iteration
  std::uint64_t messages = 0;
  double bytes_sent = 0;
  Machine::Busiest busiest;  // busy_s is over all iterations
};

// `jobs[rank]` for every rank; all with the same number of iterations, at least 2.
TrainingOutcome simulate_training(const Platform& platform, const Stack& stack,
                                  const Schedule& schedule, const std::vector<TrainingJob>& jobs,
                                  SessionOptions options);

}  // namespace forescale
