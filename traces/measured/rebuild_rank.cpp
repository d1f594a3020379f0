#include "traces/measured/rebuild_rank.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "traces/measured/iterations.hpp"
#include "traces/program/program_writer.hpp"

namespace forescale {
namespace {

using Kind = Action::Kind;

// Thread 0 is the host, each other thread a stream, the last one ends the iterations. Signals say
// that a task was launched, that it is done where something of another thread waits for it, and
// that the host has come to the end of a step.
class Builder {
 public:
  Builder(const MeasuredRank& rank, const Dependencies& dependencies, const RankTimes& times,
          const std::function<CollectiveStep(int)>& step_of)
      : rank_(rank),
        dependencies_(dependencies),
        times_(times),
        step_of_(step_of),
        writer_(built_.program),
        work_ns_(work_ns(rank)),
        iterations_(iterations_of(rank)),
        launched_(rank.tasks.size(), -1),
        done_(rank.tasks.size(), -1) {}

  RankBuild build() {
    if (times_.begin_s > 0) writer_.wait(0, writer_.start(0, Kind::kTimer, Timer{times_.begin_s}));
    make_signals();
    built_.requests.assign(rank_.collectives.size(), -1);
    std::vector<int> streams;
    for (const auto& [stream, tasks] : tasks_by_stream()) {
      const ProgramWriter::Spawned spawned = writer_.spawn(0);
      streams.push_back(spawned.id);
      for (const int task : tasks) run_task(spawned.thread, task);
    }
    const ProgramWriter::Spawned ending = writer_.spawn(0);
    end_iterations(ending.thread);
    run_host();
    for (const int stream : streams) writer_.wait(0, stream);
    writer_.wait(0, ending.id);
    return std::move(built_);
  }

 private:
  const MeasuredTask& task_at(int task) const { return rank_.tasks[static_cast<size_t>(task)]; }

  std::map<int, std::vector<int>> tasks_by_stream() const {
    std::map<int, std::vector<int>> by_stream;
    for (size_t i = 0; i < rank_.tasks.size(); ++i)
      by_stream[rank_.tasks[i].stream].push_back(static_cast<int>(i));
    return by_stream;
  }

  void make_signals() {
    for (int& signal : launched_) signal = writer_.start(0, Kind::kSignal);
    std::set<int> waited_for;
    for (const TaskNeeds& needs : dependencies_.of_task)
      waited_for.insert(needs.tasks.begin(), needs.tasks.end());
    for (const std::vector<int>& tasks : dependencies_.of_call)
      waited_for.insert(tasks.begin(), tasks.end());
    for (const std::vector<int>& tasks : iterations_.last_tasks)
      waited_for.insert(tasks.begin(), tasks.end());
    for (const int task : waited_for)
      done_[static_cast<size_t>(task)] = writer_.start(0, Kind::kSignal);
    for (size_t i = 0; i < iterations_.ends_ns.size(); ++i)
      stepped_.push_back(writer_.start(0, Kind::kSignal));
  }

  void run_task(int thread, int index) {
    const auto at = static_cast<size_t>(index);
    const MeasuredTask& task = rank_.tasks[at];
    const TaskNeeds& needs = dependencies_.of_task[at];
    writer_.wait(thread, launched_[at]);
    for (const int needed : needs.tasks) writer_.wait(thread, done_[static_cast<size_t>(needed)]);
    if (needs.latency_ns > 0) {
      writer_.wait(thread, writer_.start(thread, Kind::kTimer,
                                         Timer{seconds(needs.latency_ns), needs.latency}));
      if (needs.latency == Timer::For::kUnexplained)
        built_.unexplained_s += seconds(needs.latency_ns);
    }
    for (const int request : start_task(thread, task, work_ns_[at])) writer_.wait(thread, request);
    if (done_[at] >= 0) writer_.set(thread, done_[at]);
  }

  std::vector<int> start_task(int thread, const MeasuredTask& task, std::int64_t work) {
    std::vector<int> requests;
    for (const int collective : collectives_of(task))
      requests.push_back(built_.requests[static_cast<size_t>(collective)] =
                             writer_.start(thread, Kind::kCollective, step_of_(collective)));
    if (!requests.empty()) return requests;
    if (task.is_communication)
      return {writer_.start(thread, Kind::kTimer,
                            Timer{seconds(task.span.length_ns()), Timer::For::kCommunication})};
    if (task.is_copy)  // by an engine of its own
      return {writer_.start(thread, Kind::kTimer,
                            Timer{seconds(task.span.length_ns()), Timer::For::kCopy})};
    built_.compute_s += seconds(work);
    return {writer_.start(
        thread, Kind::kKernel,
        Kernel{.stream = task.stream,
               .duration_s = seconds(work) * times_.compute_factor,
               .phase = Phase::kForward,
               .label = rank_.labels[static_cast<size_t>(task.label)],
               .work = task.work < 0 ? nullptr : rank_.works[static_cast<size_t>(task.work)]})};
  }

  void end_iterations(int thread) {
    for (size_t i = 0; i < stepped_.size(); ++i) {
      writer_.wait(thread, stepped_[i]);
      for (const int task : iterations_.last_tasks[i])
        writer_.wait(thread, done_[static_cast<size_t>(task)]);
      writer_.end_iteration(thread);
    }
  }

  void run_host() {
    std::map<int, std::vector<int>> tasks_of_call;
    for (size_t i = 0; i < rank_.tasks.size(); ++i)
      tasks_of_call[rank_.tasks[i].call].push_back(static_cast<int>(i));
    std::int64_t now_ns = rank_.calls.empty() ? 0 : rank_.calls.front().span.begin_ns;
    if (!rank_.steps.empty()) now_ns = std::min(now_ns, rank_.steps.front().begin_ns);
    size_t steps_ended = 0;
    for (size_t i = 0; i < rank_.calls.size(); ++i) {
      const HostCall& call = rank_.calls[i];
      work_on_host(call.span.begin_ns - now_ns);
      now_ns = std::max(now_ns, dependencies_.resumes_ns[i]);
      for (const int task : tasks_of_call[static_cast<int>(i)])
        writer_.set(0, launched_[static_cast<size_t>(task)]);
      for (const int task : dependencies_.of_call[i])
        writer_.wait(0, done_[static_cast<size_t>(task)]);
      if (call.kind == HostCall::Kind::kStepEnd) writer_.set(0, stepped_.at(steps_ended++));
    }
    if (rank_.steps.empty()) writer_.set(0, stepped_.front());
  }

  void work_on_host(std::int64_t time_ns) {
    if (time_ns <= 0) return;
    if (rank_.has_gpu) {
      writer_.wait(0, writer_.start(0, Kind::kHostWork,
                                    HostWork{.duration_s = seconds(time_ns),
                                             .phase = Phase::kForward,
                                             .label = "host"}));
      return;
    }
    built_.compute_s += seconds(time_ns);
    writer_.wait(0, writer_.start(0, Kind::kKernel,
                                  Kernel{.duration_s = seconds(time_ns) * times_.compute_factor,
                                         .phase = Phase::kForward,
                                         .label = "host"}));
  }

  const MeasuredRank& rank_;
  const Dependencies& dependencies_;
  const RankTimes& times_;
  const std::function<CollectiveStep(int)>& step_of_;
  RankBuild built_;
  ProgramWriter writer_;
  std::vector<std::int64_t> work_ns_;
  MeasuredIterations iterations_;
  std::vector<int> launched_;  // signal by task
  std::vector<int> done_;      // -1: nobody waits for it
  std::vector<int> stepped_;   // signal by step
};

}  // namespace

std::vector<std::int64_t> work_ns(const MeasuredRank& rank) {
  struct Edge {
    std::int64_t time_ns;
    int task;
    bool begins;
  };
  std::vector<Edge> edges;
  std::vector<std::int64_t> work(rank.tasks.size());
  for (size_t i = 0; i < rank.tasks.size(); ++i) {
    const MeasuredTask& task = rank.tasks[i];
    work[i] = task.span.length_ns();
    if (task.collective >= 0 || task.is_copy || task.is_communication || work[i] == 0) continue;
    edges.push_back({task.span.begin_ns, static_cast<int>(i), true});
    edges.push_back({task.span.end_ns, static_cast<int>(i), false});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return std::tuple(a.time_ns, a.begins) < std::tuple(b.time_ns, b.begins);
  });
  std::map<int, double> running;  // and what each has done
  std::int64_t since_ns = 0;
  for (const Edge& edge : edges) {
    if (!running.empty()) {
      const double share =
          static_cast<double>(edge.time_ns - since_ns) / static_cast<double>(running.size());
      for (auto& [task, done] : running) done += share;
    }
    since_ns = edge.time_ns;
    if (edge.begins) {
      running.emplace(edge.task, 0);
    } else if (const auto ended = running.find(edge.task); ended != running.end()) {
      work[static_cast<size_t>(edge.task)] = std::llround(ended->second);
      running.erase(ended);
    }
  }
  return work;
}

RankBuild build_rank(const MeasuredRank& rank, const Dependencies& dependencies,
                     const RankTimes& times, const std::function<CollectiveStep(int)>& step_of) {
  return Builder(rank, dependencies, times, step_of).build();
}

}  // namespace forescale
