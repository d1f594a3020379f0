// The two questions that one simulation answers: how long does a collective take, and how long does
// a training iteration take. One call per process (SimGrid's limit); see isolate.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "algorithms/schedule.hpp"
#include "sim/bounds.hpp"
#include "sim/run/other_jobs.hpp"
#include "sim/run/session.hpp"
#include "traces/program/program.hpp"

namespace forescale {

struct CollectiveOutcome {
  double time_s = 0;
  double first_done_s = 0;  // the part of the first rank
  std::uint64_t messages = 0;
  double bytes_sent = 0;
  MessageSizes sizes;  // of messages
  Machine::Busiest busiest;
  std::map<std::string, double> root_s;  // what the root (rank 0 without one) did: breakdown()
  bool has_shared = false;               // some message was slowed by another
};

// All ranks, or those of step.group, start at 0 with their buffers in their default place, or
// through the host as the stack says for `choice` absent.
CollectiveOutcome simulate_collective(const Platform& platform, const Stack& stack,
                                      const CollectiveStep& step, int rank_count,
                                      SessionOptions options);

// The same of a call and what calls with it, each group for itself: the time is that of the last to
// end, messages and bytes are those of all. Plans are those of `options`, or the stack's.
CollectiveOutcome simulate_collective(const ResolvedCall& resolved, SessionOptions options);

struct TrainingOutcome {
  double iteration_s = 0;         // period of the steady state (steady_state.hpp)
  bool is_steady = true;          // or not
  std::vector<double> periods_s;  // of all iterations, the first from time 0
  double simulated_s = 0;         // end of the last iteration
  // Iterations that count (steady_state.hpp), and when the first of them began.
  std::size_t counted = 1;
  double counted_begin_s = 0;
  // The worker that ends its last iteration last: when that began, and what it ended with.
  int last_rank = 0;
  double last_begin_s = 0;
  CauseLog::Moment last_moment = CauseLog::kStart;
  double finished_s = 0;  // end of everything, messages that nobody waited for included
  std::vector<Attribution> attributions;  // per rank, mean over the same iterations
  std::uint64_t messages = 0;
  double bytes_sent = 0;
  double control_bytes = 0;  // of those
  MessageSizes sizes;        // of the others
  Machine::Busiest busiest;  // busy_s is over all iterations
};

// `jobs[rank]` for every rank, servers last; all with the same number of iterations, at least 2.
// What every thread does goes into `record`, if there is one.
TrainingOutcome simulate_training(const Platform& platform, const Stack& stack,
                                  const Schedule& schedule, const TrainingJobs& jobs,
                                  SessionOptions options, Program* record = nullptr);

// The same with copies of it on the next slots of the platform, as many ranks each, a copy's
// servers behind its workers. Times are those of the first job; messages, bytes and the busiest
// link of all.
TrainingOutcome simulate_beside(const Platform& platform, const Stack& stack,
                                const Schedule& schedule, const TrainingJobs& jobs,
                                const OtherJobs& others, SessionOptions options);

// Workers that make the same calls (Schedule::workers_are_alike): rank stands_in[r], which stands
// for itself, does what r does at the same times. `options.price` says what collectives take.
// Messages, bytes and the busiest link are not in the outcome.
TrainingOutcome simulate_alike(const Platform& platform, const Stack& stack,
                               const Schedule& schedule, const TrainingJobs& jobs,
                               const std::vector<int>& stands_in, SessionOptions options);

// A program that was recorded or read, on a platform whose first slots are its ranks.
TrainingOutcome simulate_program(const Platform& platform, const Stack& stack,
                                 const Program& program, SessionOptions options);

}  // namespace forescale
