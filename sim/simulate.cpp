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

namespace {

double mean(const std::vector<double>& values, size_t begin, size_t end) {
  double sum = 0;
  for (size_t i = begin; i < end; ++i) sum += values[i];
  return sum / static_cast<double>(end - begin);
}

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

// The steady state of a sequence of periods; from which iteration on it was taken.
size_t settle(TrainingOutcome& outcome) {
  const std::vector<double>& periods = outcome.periods_s;
  const size_t count = periods.size();
  constexpr double kSame = 1e-6;
  outcome.iteration_s = periods.back();
  if (std::abs(periods[count - 1] - periods[count - 2]) <= kSame * periods.back()) return count - 1;
  const size_t begin = (count + 2) / 3;
  outcome.iteration_s = mean(periods, begin, count);
  const size_t middle = (begin + count) / 2;
  constexpr double kSteady = 0.01;
  outcome.is_steady =
      middle > begin && std::abs(mean(periods, begin, middle) - mean(periods, middle, count)) <=
                            kSteady * outcome.iteration_s;
  return begin;
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
  double previous_s = 0;
  for (size_t i = 0; i < iterations; ++i) {
    double end_s = 0;
    for (int rank = 0; rank < workers; ++rank)
      end_s = std::max(end_s, session.iteration_ends()[static_cast<size_t>(rank)].at(i));
    outcome.periods_s.push_back(end_s - previous_s);
    previous_s = end_s;
  }
  outcome.simulated_s = previous_s;
  outcome.finished_s = std::max(previous_s, session.finished_s());
  size_t begin = settle(outcome);
  if (schedule.is_asynchronous) {
    // Ranks go at their own pace: together they train the sum of their rates.
    // Steady when the last third goes as fast as the one before.
    const auto period_between_s = [&](size_t from, size_t to) {
      double images = 0;
      double images_per_s = 0;
      for (int rank = 0; rank < workers; ++rank) {
        const auto& ends = session.iteration_ends()[static_cast<size_t>(rank)];
        const auto batch = static_cast<double>(jobs[static_cast<size_t>(rank)].batch);
        images += batch;
        images_per_s += batch * static_cast<double>(to - from) / (ends[to] - ends[from]);
      }
      return images / images_per_s;
    };
    const size_t last = iterations - 1;
    const size_t first = (iterations + 2) / 3 - 1;
    const size_t middle = (first + last) / 2;
    outcome.iteration_s = period_between_s(first, last);
    begin = first + 1;
    constexpr double kSteady = 0.02;
    outcome.is_steady =
        middle > first && std::abs(period_between_s(first, middle) -
                                   period_between_s(middle, last)) <= kSteady * outcome.iteration_s;
  }
  for (const auto& attributions : session.attributions())
    outcome.attributions.push_back(mean(attributions, begin));
  outcome.messages = session.transport().message_count();
  outcome.bytes_sent = session.transport().bytes_sent();
  outcome.control_bytes = session.transport().control_bytes();
  outcome.busiest = session.machine().busiest();
  return outcome;
}

}  // namespace forescale
