#include "traces/measured/dependencies.hpp"

#include <algorithm>
#include <map>

namespace forescale {
namespace {

constexpr std::int64_t kClock_ns = 2'000;      // begins and ends are told apart to that
constexpr std::int64_t kReaction_ns = 20'000;  // at most, from an end to what waited for it
// Launches under way when CUDA's queue is full: 1024, of which a trace may show a few less.
constexpr std::size_t kQueueFullMin = 1000;
constexpr std::size_t kQueueFullMax = 1024;
constexpr std::size_t kFullSlack = 2;  // below the most that was seen
constexpr int kFullTimesMin = 20;      // so often it was full

class Finder {
 public:
  explicit Finder(const MeasuredRank& rank) : rank_(rank) {
    for (const HostCall& call : rank.calls)
      has_stream_waits_ = has_stream_waits_ || call.kind == HostCall::Kind::kStreamWait;
    for (size_t i = 0; i < rank.tasks.size(); ++i)
      tasks_of_call_[rank.tasks[i].call].push_back(static_cast<int>(i));
    find_queue();
  }

  Dependencies find() {
    Dependencies found;
    found.of_task.resize(rank_.tasks.size());
    found.of_call.resize(rank_.calls.size());
    for (size_t i = 0; i < rank_.calls.size(); ++i) {
      const HostCall& call = rank_.calls[i];
      std::int64_t resumes_ns = call.span.begin_ns;
      if (call.kind == HostCall::Kind::kStreamWait)
        for (const auto& [stream, tasks] : queued_) queued_at_wait_[stream] = tasks.size();
      const auto launched = tasks_of_call_.find(static_cast<int>(i));
      if (call.kind == HostCall::Kind::kLaunch && launched != tasks_of_call_.end()) {
        for (const int task : launched->second)
          found.of_task[static_cast<size_t>(task)] = needs_of(task);
        found.of_call[i] = launch_waits_for(static_cast<int>(i), launched->second.back());
      }
      if (call.kind == HostCall::Kind::kWaitFor)
        for (const auto& [stream, tasks] : queued_)
          if (const int task = last_done(tasks, tasks.size(), call.span.end_ns); task >= 0)
            found.of_call[i].push_back(task);
      for (const int task : found.of_call[i])
        resumes_ns = std::max(resumes_ns, task_at(task).span.end_ns);
      resumes_ns = std::min(resumes_ns, call.span.end_ns);
      if (call.resumes_ns >= 0) resumes_ns = call.resumes_ns;
      found.resumes_ns.push_back(resumes_ns);
    }
    return found;
  }

 private:
  const MeasuredTask& task_at(int task) const { return rank_.tasks[static_cast<size_t>(task)]; }

  // The last of the first `count` tasks of a stream that was done by then; -1: none. They end in
  // order.
  int last_done(const std::vector<int>& tasks, size_t count, std::int64_t time_ns) const {
    const auto end = tasks.begin() + static_cast<std::ptrdiff_t>(count);
    const auto after = std::partition_point(tasks.begin(), end, [&](int task) {
      return task_at(task).span.end_ns <= time_ns + kClock_ns;
    });
    return after == tasks.begin() ? -1 : *std::prev(after);
  }

  // Whether there were as many launches under way as the queue holds, again and again, and never
  // more.
  void find_queue() {
    std::vector<std::int64_t> ends_ns;
    for (const auto& [call, tasks] : tasks_of_call_) {
      launches_.push_back(call);
      ends_ns.push_back(task_at(tasks.back()).span.end_ns);
    }
    std::sort(ends_ns.begin(), ends_ns.end());
    std::vector<std::size_t> under_way;
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      number_of_launch_[launches_[i]] = i;
      const std::int64_t end_ns = rank_.calls[static_cast<size_t>(launches_[i])].span.end_ns;
      const auto done = static_cast<std::size_t>(
          std::upper_bound(ends_ns.begin(), ends_ns.end(), end_ns) - ends_ns.begin());
      under_way.push_back(i + 1 > done ? i + 1 - done : 0);
    }
    if (under_way.empty()) return;
    const std::size_t most = *std::max_element(under_way.begin(), under_way.end());
    if (most < kQueueFullMin || most > kQueueFullMax) return;
    const auto full = std::count_if(under_way.begin(), under_way.end(), [most](std::size_t count) {
      return count + kFullSlack >= most;
    });
    if (full >= kFullTimesMin) queue_ = most;
  }

  std::vector<int> launch_waits_for(int index, int launched) const {
    const HostCall& call = rank_.calls[static_cast<size_t>(index)];
    const MeasuredTask& own = task_at(launched);
    std::vector<int> tasks;
    if (own.is_copy && own.span.end_ns <= call.span.end_ns + kClock_ns &&
        (rank_.labels[static_cast<size_t>(own.label)].find("Pageable") != std::string::npos ||
         call.span.length_ns() > kReaction_ns))
      tasks.push_back(launched);
    if (const std::size_t number = number_of_launch_.at(index); queue_ > 0 && number >= queue_)
      tasks.push_back(tasks_of_call_.at(launches_[number - queue_]).back());
    return tasks;
  }

  TaskNeeds needs_of(int index) {
    const MeasuredTask& task = task_at(index);
    const HostCall& call = rank_.calls[static_cast<size_t>(task.call)];
    std::vector<int>& own = queued_[task.stream];
    std::int64_t ready_ns = call.span.begin_ns;
    if (!own.empty()) ready_ns = std::max(ready_ns, task_at(own.back()).span.end_ns);
    TaskNeeds needs;
    if (task.collective >= 0) {
      need_kernels(task, needs);
      queued_at_wait_.clear();  // it was this one's stream that was made to wait
    } else if (has_stream_waits_) {
      need_collectives_before_wait(task, needs);
    } else {
      need_collective_that_ended(task, ready_ns, needs);
    }
    for (const int needed : needs.tasks) ready_ns = std::max(ready_ns, task_at(needed).span.end_ns);
    needs.latency_ns = std::max<std::int64_t>(0, task.span.begin_ns - ready_ns);
    if (task.span.begin_ns > std::max(call.span.end_ns, ready_ns) + kReaction_ns)
      needs.latency = Timer::For::kUnexplained;
    else if (ready_ns > call.span.begin_ns)
      needs.latency = Timer::For::kGap;
    own.push_back(index);
    return needs;
  }

  bool carries_collectives(const std::vector<int>& tasks) const {
    return !tasks.empty() && task_at(tasks.back()).collective >= 0;
  }

  // The collective's stream waits for what the launching one has queued.
  void need_kernels(const MeasuredTask& task, TaskNeeds& needs) const {
    for (const auto& [stream, tasks] : queued_)
      if (stream != task.stream && !tasks.empty() && !carries_collectives(tasks) &&
          task_at(tasks.back()).span.end_ns <= task.span.begin_ns + kClock_ns)
        needs.tasks.push_back(tasks.back());
  }

  void need_collectives_before_wait(const MeasuredTask& task, TaskNeeds& needs) {
    for (const auto& [stream, count] : queued_at_wait_) {
      const std::vector<int>& tasks = queued_.at(stream);
      if (stream == task.stream || !carries_collectives(tasks)) continue;
      if (const int done = last_done(tasks, count, task.span.begin_ns); done >= 0)
        needs.tasks.push_back(done);
    }
    queued_at_wait_.clear();
  }

  void need_collective_that_ended(const MeasuredTask& task, std::int64_t could_begin_ns,
                                  TaskNeeds& needs) const {
    for (const auto& [stream, tasks] : queued_) {
      if (stream == task.stream || !carries_collectives(tasks)) continue;
      const int done = last_done(tasks, tasks.size(), task.span.begin_ns);
      if (done < 0) continue;
      const std::int64_t end_ns = task_at(done).span.end_ns;
      if (end_ns > could_begin_ns && task.span.begin_ns - end_ns < kReaction_ns)
        needs.tasks.push_back(done);
    }
  }

  const MeasuredRank& rank_;
  bool has_stream_waits_ = false;
  std::map<int, std::vector<int>> tasks_of_call_;
  std::vector<int> launches_;                    // calls
  std::map<int, std::size_t> number_of_launch_;  // by call
  std::size_t queue_ = 0;                        // launches that it holds; 0: never full
  std::map<int, std::vector<int>> queued_;       // tasks so far, by stream
  std::map<int, size_t> queued_at_wait_;  // how many of them; empty: no wait since the launch
};

}  // namespace

Dependencies dependencies_of(const MeasuredRank& rank) { return Finder(rank).find(); }

}  // namespace forescale
