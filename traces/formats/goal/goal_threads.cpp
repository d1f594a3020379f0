#include "traces/formats/goal/goal_threads.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"

namespace forescale {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

}  // namespace

GoalGraph::GoalGraph(std::size_t task_count, const std::vector<GoalDependency>& dependencies)
    : first_(task_count + 1), edges_(dependencies.size()) {
  for (const GoalDependency& dependency : dependencies) ++first_[dependency.task + 1];
  for (std::size_t task = 0; task < task_count; ++task) first_[task + 1] += first_[task];
  std::vector<std::size_t> at(first_.begin(), first_.end() - 1);
  for (const GoalDependency& dependency : dependencies)
    edges_[at[dependency.task]++] = {dependency.on, dependency.on_start};
  sort(dependencies);
}

// Those that depend on nothing first, then in the order in which they become free.
void GoalGraph::sort(const std::vector<GoalDependency>& dependencies) {
  std::vector<std::size_t> first_after(size() + 1);
  for (const GoalDependency& dependency : dependencies) ++first_after[dependency.on + 1];
  for (std::size_t task = 0; task < size(); ++task) first_after[task + 1] += first_after[task];
  std::vector<std::uint32_t> after(dependencies.size());
  std::vector<std::size_t> at(first_after.begin(), first_after.end() - 1);
  for (const GoalDependency& dependency : dependencies)
    after[at[dependency.on]++] = dependency.task;

  std::vector<std::size_t> left(size());
  order_.reserve(size());
  for (std::uint32_t task = 0; task < size(); ++task) {
    left[task] = before(task).size();
    if (left[task] == 0) order_.push_back(task);
  }
  for (std::size_t i = 0; i < order_.size(); ++i)
    for (std::size_t next = first_after[order_[i]]; next < first_after[order_[i] + 1]; ++next)
      if (--left[after[next]] == 0) order_.push_back(after[next]);
}

// Whoever is not in the order depends on another that is not: going back so ends in a cycle.
std::uint32_t GoalGraph::task_in_cycle() const {
  std::vector<bool> is_ordered(size());
  for (const std::uint32_t task : order_) is_ordered[task] = true;
  const auto found = std::find(is_ordered.begin(), is_ordered.end(), false);
  FORESCALE_CHECK(found != is_ordered.end(), "a graph without cycles");
  auto task = static_cast<std::uint32_t>(found - is_ordered.begin());
  for (std::size_t steps = order_.size(); steps < size(); ++steps) {
    const std::span<const Edge> edges = before(task);
    task = std::find_if(edges.begin(), edges.end(), [&](const Edge& edge) {
             return !is_ordered[edge.task];
           })->task;
  }
  return task;
}

GoalThreads::GoalThreads(const GoalGraph& graph)
    : graph_(graph),
      threads_(1),
      thread_(graph.size()),
      level_(graph.size()),
      heir_(graph.size(), kNone) {
  for (const std::uint32_t task : graph.order()) assign(task);
}

void GoalThreads::assign(std::uint32_t task) {
  // These come first in the order, while the first thread has waited for nothing.
  if (graph_.before(task).empty()) return put(task, 0);
  if (follow(task) || join_sibling(task) || take_idle(task)) return;
  threads_.emplace_back();
  begin(task, count() - 1);
}

// A thread whose last tasks include one that this depends on has waited for nothing that this need
// not wait for.
bool GoalThreads::follow(std::uint32_t task) {
  for (const GoalGraph::Edge& edge : graph_.before(task))
    if (is_last(edge.task)) {
      begin(task, thread_[edge.task]);
      return true;
    }
  return false;
}

// Tasks that depend on the same start together.
bool GoalThreads::join_sibling(std::uint32_t task) {
  const std::span<const GoalGraph::Edge> here = graph_.before(task);
  const std::uint32_t sibling = heir_[here.front().task];
  if (sibling == kNone || !is_last(sibling)) return false;
  const std::span<const GoalGraph::Edge> there = graph_.before(sibling);
  if (!std::equal(here.begin(), here.end(), there.begin(), there.end())) return false;
  put(task, thread_[sibling]);
  return true;
}

bool GoalThreads::take_idle(std::uint32_t task) {
  const std::span<const GoalGraph::Edge> edges = graph_.before(task);
  return std::any_of(edges.begin(), edges.end(),
                     [&](const GoalGraph::Edge& edge) { return take_idle_of(task, edge); });
}

bool GoalThreads::take_idle_of(std::uint32_t task, const GoalGraph::Edge& edge) {
  constexpr std::size_t kLooks = 8;  // a few are enough, and keep this linear
  std::vector<Idle>& idle = threads_[thread_[edge.task]].idle;
  const auto has_gone_on = [&](const Idle& one) { return threads_[one.thread].level != one.level; };
  while (!idle.empty() && has_gone_on(idle.back())) idle.pop_back();
  for (std::size_t i = 0; i < std::min(idle.size(), kLooks); ++i) {
    const Idle one = idle[idle.size() - 1 - i];
    if (has_gone_on(one) || one.since > level_[edge.task]) continue;
    idle.erase(idle.end() - 1 - static_cast<std::ptrdiff_t>(i));
    begin(task, one.thread);
    return true;
  }
  return false;
}

void GoalThreads::begin(std::uint32_t task, std::uint32_t thread) {
  const std::uint32_t level = ++threads_[thread].level;
  for (const GoalGraph::Edge& edge : graph_.before(task)) {
    heir_[edge.task] = task;
    const std::uint32_t other = thread_[edge.task];
    if (other != thread && is_last(edge.task))
      threads_[thread].idle.push_back({other, threads_[other].level, level});
  }
  put(task, thread);
}

void GoalThreads::put(std::uint32_t task, std::uint32_t thread) {
  thread_[task] = thread;
  level_[task] = threads_[thread].level;
}

}  // namespace forescale
