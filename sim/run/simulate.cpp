#include "sim/run/simulate.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <span>

#include "base/error.hpp"
#include "base/steady_state.hpp"
#include "sim/run/recording_worker.hpp"
#include "sim/run/replay_worker.hpp"

namespace forescale {

namespace {

std::vector<int> first_ranks(std::size_t count) {
  std::vector<int> ranks(count);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// One of `steps` for each group that calls, those asked about first.
CollectiveOutcome simulate_steps(const Platform& platform, const Stack& stack,
                                 const std::vector<CollectiveStep>& steps, int rank_count,
                                 SessionOptions options) {
  const CollectiveStep& first = steps.front();
  const AlikeMembers* const alike = options.alike;
  int root_rank = (*first.group)[static_cast<size_t>(first.root)];
  if (alike != nullptr) root_rank = alike->ranks[static_cast<size_t>(root_rank)];
  Timeline root(root_rank);
  if (options.timeline == nullptr) options.timeline = &root;
  const Timeline& timeline = *options.timeline;
  Session session(platform, stack, rank_count, std::move(options));
  std::vector<Session::Call> calls;
  for (const CollectiveStep& step : steps) {
    const bool is_turned = alike != nullptr && alike->turn.blocks > 1;
    for (const int rank :
         std::span(*step.group).first(is_turned ? alike->turn.block : step.group->size()))
      calls.push_back({.rank = rank, .step = &step});
  }
  std::optional<double> first_done_s;
  session.start_calls(std::move(calls), [&session, &first_done_s] {
    if (!first_done_s) first_done_s = session.finished_s();
  });
  session.run();
  const int times = alike == nullptr ? 1 : alike->count();
  return {
      .time_s = session.finished_s(),
      .first_done_s = first_done_s.value(),
      .messages = session.transport().message_count() * static_cast<std::uint64_t>(times),
      .bytes_sent = session.transport().bytes_sent() * times,
      .sizes = session.transport().sizes(),
      .busiest = session.machine().busiest(),
      .root_s = breakdown(timeline, root_rank, session.finished_s()),
      .has_shared = session.machine().world().has_shared() || (alike != nullptr && alike->meet())};
}

}  // namespace

CollectiveOutcome simulate_collective(const Platform& platform, const Stack& stack,
                                      const CollectiveStep& step, int rank_count,
                                      SessionOptions options) {
  CollectiveStep first = step;
  if (!first.group) {
    first.group =
        std::make_shared<const std::vector<int>>(first_ranks(static_cast<std::size_t>(rank_count)));
  }
  return simulate_steps(platform, stack, {first}, rank_count, std::move(options));
}

CollectiveOutcome simulate_collective(const ResolvedCall& resolved, SessionOptions options) {
  std::vector<CollectiveStep> steps;
  int last = 0;
  for (const SharedGroup& group : resolved.all_groups()) {
    const std::vector<int>& slots = group->slots;
    steps.push_back({.op = resolved.collective->op,
                     .bytes = resolved.call.bytes,
                     .root = resolved.call.root,
                     .label = name_of(resolved.collective->op),
                     .group = std::make_shared<const std::vector<int>>(slots)});
    last = std::max(last, *std::max_element(slots.begin(), slots.end()));
  }
  options.value_bytes = resolved.call.element_bytes;
  return simulate_steps(resolved.lanes->platform(), resolved.lanes->stack(), steps, last + 1,
                        std::move(options));
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
    sum.communication_s += attributions[i].communication_s / count;
    sum.hidden_s += attributions[i].hidden_s / count;
  }
  return sum;
}

bool is_compute(size_t phase) { return kPhases[phase].kind == TimeKind::kCompute; }

// A rank's own iterations begin and end a little before or after those of the slowest, between
// which a period is: what of them no kernel runs in is stretched, so that all is the period.
Attribution filling(Attribution attribution, double period_s) {
  double compute_s = 0;
  double rest_s = attribution.idle_s;
  for (size_t phase = 0; phase < kPhases.size(); ++phase)
    (is_compute(phase) ? compute_s : rest_s) += attribution.phase_s[phase];
  if (rest_s <= 0 || period_s <= compute_s) return attribution;
  const double stretch = (period_s - compute_s) / rest_s;
  for (size_t phase = 0; phase < kPhases.size(); ++phase)
    if (!is_compute(phase)) attribution.phase_s[phase] *= stretch;
  attribution.idle_s *= stretch;
  return attribution;
}

// Of each worker, an iteration.
std::vector<std::int64_t> images_of(const TrainingJobs& jobs, int workers) {
  std::vector<std::int64_t> images;
  for (int rank = 0; rank < workers; ++rank)
    images.push_back(jobs[static_cast<size_t>(rank)]->batch);
  return images;
}

// Runs `session`, of which these ranks train `images` an iteration.
TrainingOutcome outcome_of(Session& session, int iteration_count, const std::vector<int>& ranks,
                           const std::vector<std::int64_t>& images, bool is_asynchronous) {
  const auto iterations = static_cast<size_t>(iteration_count);
  FORESCALE_CHECK(!images.empty() && iterations >= 1, "there is an iteration to be timed");
  session.run();
  TrainingOutcome outcome;
  std::vector<std::vector<double>> ends;
  for (const int rank : ranks) {
    const auto at = static_cast<size_t>(rank);
    ends.push_back(session.iteration_ends()[at]);
    const double end_s = ends.back().at(iterations - 1);
    if (end_s < outcome.simulated_s) continue;
    outcome.simulated_s = end_s;
    outcome.last_rank = rank;
    outcome.last_begin_s = iterations > 1 ? ends.back()[iterations - 2] : 0;
    outcome.last_moment = session.iteration_moments()[at].at(iterations - 1);
  }
  const SteadyState steady = steady_state(ends, images, is_asynchronous);
  outcome.iteration_s = steady.period_s;
  outcome.is_steady = steady.is_steady;
  outcome.counted = iterations - steady.begin;
  for (std::size_t i = 0; i < steady.begin; ++i) outcome.counted_begin_s += steady.periods_s[i];
  outcome.periods_s = steady.periods_s;
  outcome.finished_s = std::max(outcome.simulated_s, session.finished_s());
  for (const auto& attributions : session.attributions()) {
    const Attribution own = mean(attributions, steady.begin);
    const bool has_periods = !is_asynchronous && attributions.size() > steady.begin;
    outcome.attributions.push_back(has_periods ? filling(own, steady.period_s) : own);
  }
  outcome.messages = session.transport().message_count();
  outcome.bytes_sent = session.transport().bytes_sent();
  outcome.control_bytes = session.transport().control_bytes();
  outcome.sizes = session.transport().sizes();
  outcome.busiest = session.machine().busiest();
  return outcome;
}

}  // namespace

TrainingOutcome simulate_training(const Platform& platform, const Stack& stack,
                                  const Schedule& schedule, const TrainingJobs& jobs,
                                  SessionOptions options, Program* record) {
  const int rank_count = static_cast<int>(jobs.size());
  const int workers = options.workers == 0 ? rank_count : options.workers;
  const int iterations = jobs.front()->iterations;
  const std::vector<std::int64_t> images = images_of(jobs, workers);
  if (record != nullptr) {
    record->workers = workers;
    record->iterations = iterations;
    record->value_bytes = jobs.front()->value_bytes;
    record->is_asynchronous = schedule.is_asynchronous;
    record->images = images;
    record->ranks.assign(jobs.size(), {});
    if (schedule.follows_arrivals) {
      record->schedule = schedule.name;
      record->jobs = jobs;
      record = nullptr;  // nothing to write down of what the ranks do
    }
  }
  options.value_bytes = jobs.front()->value_bytes;
  options.keeps_from = first_to_count(static_cast<std::size_t>(iterations));
  Session session(platform, stack, rank_count, std::move(options));
  for (int rank = 0; rank < rank_count; ++rank)
    session.start_rank(
        rank, [&schedule, &job = *jobs[static_cast<size_t>(rank)], record, rank](Worker& worker) {
          if (record == nullptr)
            schedule.run(worker, job);
          else
            record_thread(worker, record->ranks[static_cast<size_t>(rank)],
                          [&](Worker& recorder) { schedule.run(recorder, job); });
        });
  return outcome_of(session, iterations, first_ranks(images.size()), images,
                    schedule.is_asynchronous);
}

TrainingOutcome simulate_beside(const Platform& platform, const Stack& stack,
                                const Schedule& schedule, const TrainingJobs& jobs,
                                const OtherJobs& others, SessionOptions options) {
  const int ranks = static_cast<int>(jobs.size());
  const int workers = options.workers == 0 ? ranks : options.workers;
  const int iterations = jobs.front()->iterations;
  const std::vector<std::int64_t> images = images_of(jobs, workers);
  options.workers = 0;  // of each job its own
  options.value_bytes = jobs.front()->value_bytes;
  options.keeps_from = first_to_count(static_cast<std::size_t>(iterations));
  const std::vector<std::int64_t> images_of_job = options.images_per_rank;
  for (int other = 0; other < others.count; ++other)
    options.images_per_rank.insert(options.images_per_rank.end(), images_of_job.begin(),
                                   images_of_job.end());
  Session session(platform, stack, ranks * (others.count + 1), std::move(options));
  for (int number = 0; number <= others.count; ++number) {
    const JobRanks job = job_ranks(number * ranks, ranks, workers);
    const double begin_s = number * others.after_s;
    for (int rank = 0; rank < ranks; ++rank)
      session.start_rank(job.first + rank, [&schedule, &own = *jobs[static_cast<size_t>(rank)], job,
                                            begin_s](Worker& worker) {
        if (begin_s > 0) worker.wait(worker.timer(begin_s));
        run_in_job(worker, job, [&](Worker& in_job) { schedule.run(in_job, own); });
      });
  }
  return outcome_of(session, iterations, first_ranks(images.size()), images,
                    schedule.is_asynchronous);
}

TrainingOutcome simulate_alike(const Platform& platform, const Stack& stack,
                               const Schedule& schedule, const TrainingJobs& jobs,
                               const std::vector<int>& stands_in, SessionOptions options) {
  FORESCALE_CHECK(options.price != nullptr && schedule.workers_are_alike, "some stand for all");
  const int iterations = jobs.front()->iterations;
  const std::set<int> started(stands_in.begin(), stands_in.end());
  options.keeps_from = first_to_count(static_cast<std::size_t>(iterations));
  options.priced_ranks = static_cast<int>(started.size());
  Session session(platform, stack, static_cast<int>(jobs.size()), std::move(options));
  std::vector<std::int64_t> images;
  for (const int rank : started) {
    const TrainingJob& job = *jobs[static_cast<size_t>(rank)];
    images.push_back(job.batch);
    session.start_rank(rank, [&schedule, &job](Worker& worker) { schedule.run(worker, job); });
  }
  TrainingOutcome outcome =
      outcome_of(session, iterations, {started.begin(), started.end()}, images, false);
  for (size_t rank = 0; rank < jobs.size(); ++rank)
    outcome.attributions[rank] = outcome.attributions[static_cast<size_t>(stands_in[rank])];
  return outcome;
}

TrainingOutcome simulate_program(const Platform& platform, const Stack& stack,
                                 const Program& program, SessionOptions options) {
  options.workers = program.workers;
  if (!program.schedule.empty())
    return simulate_training(platform, stack, Registry<Schedule>::find(program.schedule, "program"),
                             program.jobs, std::move(options));
  options.value_bytes = program.value_bytes;
  options.has_slowed_kernels = program.has_slowed_kernels;
  options.keeps_from = first_to_count(static_cast<std::size_t>(program.iterations));
  Session session(platform, stack, static_cast<int>(program.ranks.size()), std::move(options));
  for (size_t rank = 0; rank < program.ranks.size(); ++rank)
    session.start_rank(static_cast<int>(rank),
                       [&program](Worker& worker) { replay_rank(worker, program); });
  return outcome_of(session, program.iterations, first_ranks(program.images.size()), program.images,
                    program.is_asynchronous);
}

}  // namespace forescale
