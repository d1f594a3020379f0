#include "sim/simulate.hpp"

#include <algorithm>

#include "models/error.hpp"
#include "sim/steady_state.hpp"

namespace forescale {

CollectiveOutcome simulate_collective(const Platform& platform, const Stack& stack,
                                      const CollectiveStep& step, int rank_count,
                                      SessionOptions options) {
  Timeline root(step.root);
  if (options.timeline == nullptr) options.timeline = &root;
  const Timeline& timeline = *options.timeline;
  Session session(platform, stack, rank_count, std::move(options));
  for (int rank = 0; rank < rank_count; ++rank)
    session.start_rank(rank, [&step](Worker& worker) { worker.run(step); });
  session.run();
  return {.time_s = session.finished_s(),
          .messages = session.transport().message_count(),
          .bytes_sent = session.transport().bytes_sent(),
          .busiest = session.machine().busiest(),
          .root_s = breakdown(timeline, step.root, session.finished_s())};
}

namespace {

// Of a rank's iterations from `begin` on; a server has none.
Attribution mean(const std::vector<Attribution>& attributions, size_t begin) {
  Attribution sum;
  if (attributions.size() <= begin) return sum;
  const auto count = static_cast<double>(attributions.size() - begin);
  for (size_t i = begin; i < attributions.size(); ++i) {
    for (size_t phase = 0; phase < sum.phase_s.size(); ++phase)
      sum.phase_s[phase] += attributions[i].phase_s[phase] / count;
    sum.idle_s += attributions[i].idle_s / count;
  }
  return sum;
}

}  // namespace

TrainingOutcome simulate_training(const Platform& platform, const Stack& stack,
                                  const Schedule& schedule, const std::vector<TrainingJob>& jobs,
                                  SessionOptions options) {
  const int rank_count = static_cast<int>(jobs.size());
  const int workers = options.workers == 0 ? rank_count : options.workers;
  const auto iterations = static_cast<size_t>(jobs.front().iterations);
  FORESCALE_CHECK(rank_count > 0 && iterations >= 2, "a steady state needs two iterations");
  Session session(platform, stack, rank_count, std::move(options));
  for (int rank = 0; rank < rank_count; ++rank)
    session.start_rank(rank, [&schedule, &job = jobs[static_cast<size_t>(rank)]](Worker& worker) {
      schedule.run(worker, job);
    });
  session.run();
  TrainingOutcome outcome;
  const auto& ends = session.iteration_ends();
  std::vector<std::int64_t> images;
  for (int rank = 0; rank < workers; ++rank) {
    images.push_back(jobs[static_cast<size_t>(rank)].batch);
    outcome.simulated_s =
        std::max(outcome.simulated_s, ends[static_cast<size_t>(rank)].at(iterations - 1));
  }
  const SteadyState steady =
      steady_state({ends.begin(), ends.begin() + workers}, images, schedule.is_asynchronous);
  outcome.iteration_s = steady.period_s;
  outcome.is_steady = steady.is_steady;
  outcome.periods_s = steady.periods_s;
  outcome.finished_s = std::max(outcome.simulated_s, session.finished_s());
  for (const auto& attributions : session.attributions())
    outcome.attributions.push_back(mean(attributions, steady.begin));
  outcome.messages = session.transport().message_count();
  outcome.bytes_sent = session.transport().bytes_sent();
  outcome.control_bytes = session.transport().control_bytes();
  outcome.busiest = session.machine().busiest();
  return outcome;
}

}  // namespace forescale
