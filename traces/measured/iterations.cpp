#include "traces/measured/iterations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace forescale {
namespace {

bool is_step_end(const HostCall& call) { return call.kind == HostCall::Kind::kStepEnd; }

// First and last thing that a rank shows.
ClockSpan extent_of(const MeasuredRank& rank) {
  ClockSpan extent;
  bool is_first = true;
  const auto take = [&](const ClockSpan& span) {
    extent.begin_ns = is_first ? span.begin_ns : std::min(extent.begin_ns, span.begin_ns);
    extent.end_ns = is_first ? span.end_ns : std::max(extent.end_ns, span.end_ns);
    is_first = false;
  };
  for (const HostCall& call : rank.calls) take(call.span);
  for (const MeasuredTask& task : rank.tasks) take(task.span);
  return extent;
}

}  // namespace

MeasuredIterations iterations_of(const MeasuredRank& rank) {
  MeasuredIterations found;
  const ClockSpan extent = extent_of(rank);
  found.begin_ns = rank.steps.empty() ? extent.begin_ns : rank.steps.front().begin_ns;
  std::vector<int> step_of_call;
  int step = 0;
  for (const HostCall& call : rank.calls) {
    step_of_call.push_back(step);
    if (is_step_end(call)) ++step;
  }
  const auto count = std::max<std::size_t>(rank.steps.size(), 1);
  std::vector<std::map<int, int>> last(count);  // task by stream
  for (std::size_t i = 0; i < rank.tasks.size(); ++i) {
    const int call = rank.tasks[i].call;
    const int of_step = call < 0 ? 0 : step_of_call[static_cast<std::size_t>(call)];
    last[std::min(static_cast<std::size_t>(of_step), count - 1)][rank.tasks[i].stream] =
        static_cast<int>(i);
  }
  std::int64_t end_ns = found.begin_ns;
  for (std::size_t i = 0; i < count; ++i) {
    end_ns = std::max(end_ns, rank.steps.empty() ? extent.end_ns : rank.steps[i].end_ns);
    std::vector<int>& tasks = found.last_tasks.emplace_back();
    for (const auto& [stream, task] : last[i]) {
      tasks.push_back(task);
      end_ns = std::max(end_ns, rank.tasks[static_cast<std::size_t>(task)].span.end_ns);
    }
    found.ends_ns.push_back(end_ns);
  }
  return found;
}

void cut_to_steps(MeasuredRank& rank) {
  if (rank.steps.empty()) return;
  const std::int64_t begin_ns = rank.steps.front().begin_ns;
  const auto last = std::find_if(rank.calls.rbegin(), rank.calls.rend(), is_step_end);
  const auto calls_kept = static_cast<std::size_t>(rank.calls.rend() - last);
  std::vector<bool> is_kept(rank.calls.size(), false);
  for (std::size_t i = 0; i < calls_kept; ++i)
    is_kept[i] = rank.calls[i].span.begin_ns >= begin_ns || is_step_end(rank.calls[i]);
  for (const MeasuredTask& task : rank.tasks)
    if (const auto call = static_cast<std::size_t>(task.call);
        call < calls_kept && task.span.end_ns > begin_ns)
      is_kept[call] = true;
  std::vector<int> new_call(rank.calls.size(), -1);
  std::vector<HostCall> calls;
  for (std::size_t i = 0; i < rank.calls.size(); ++i)
    if (is_kept[i]) {
      new_call[i] = static_cast<int>(calls.size());
      calls.push_back(rank.calls[i]);
    }
  if (calls.size() == rank.calls.size()) return;
  std::vector<MeasuredTask> tasks;
  for (MeasuredTask& task : rank.tasks) {
    const int call = new_call[static_cast<std::size_t>(task.call)];
    if (call < 0) continue;
    task.call = call;
    tasks.push_back(task);
  }
  if (tasks.size() < rank.tasks.size())
    rank.notes.push_back(fmt::format("{}: {} tasks launched outside of all steps are left out",
                                     rank.file, rank.tasks.size() - tasks.size()));
  rank.calls = std::move(calls);
  rank.tasks = std::move(tasks);
  renumber_collectives(rank);
}

}  // namespace forescale
