#include "sim/simulate.hpp"

#include <algorithm>
#include <cmath>

#include "models/error.hpp"

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

TrainingOutcome simulate_training(const Platform& platform, const Stack& stack,
                                  const Schedule& schedule, const std::vector<TrainingJob>& jobs,
                                  SessionOptions options) {
  const int rank_count = static_cast<int>(jobs.size());
  FORESCALE_CHECK(rank_count > 0 && jobs.front().iterations >= 2,
                  "a steady state needs two iterations");
  Session session(platform, stack, rank_count, std::move(options));
  for (int rank = 0; rank < rank_count; ++rank)
    session.start_rank(rank, [&schedule, &job = jobs[static_cast<size_t>(rank)]](Worker& worker) {
      schedule.run(worker, job);
    });
  session.run();
  TrainingOutcome outcome;
  double previous_s = 0;
  for (int i = 0; i < jobs.front().iterations; ++i) {
    double end_s = 0;
    for (const auto& ends : session.iteration_ends())
      end_s = std::max(end_s, ends.at(static_cast<size_t>(i)));
    outcome.periods_s.push_back(end_s - previous_s);
    previous_s = end_s;
  }
  outcome.iteration_s = outcome.periods_s.back();
  const double before_s = outcome.periods_s[outcome.periods_s.size() - 2];
  constexpr double kSteady = 1e-6;
  outcome.is_steady = std::abs(outcome.iteration_s - before_s) <= kSteady * outcome.iteration_s;
  outcome.attributions = session.attributions();
  outcome.messages = session.transport().message_count();
  outcome.bytes_sent = session.transport().bytes_sent();
  outcome.busiest = session.machine().busiest();
  return outcome;
}

}  // namespace forescale
