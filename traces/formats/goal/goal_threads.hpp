// Threads for a graph of tasks. A thread starts its tasks in order and never waits for one but
// because the next depends on it; so every task starts as soon as what it depends on allows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/formats/goal/goal_reader.hpp"

namespace forescale {

class GoalGraph {
 public:
  struct Edge {
    std::uint32_t task = 0;
    bool on_start = false;
    bool operator==(const Edge&) const = default;
  };

  GoalGraph(std::size_t task_count, const std::vector<GoalDependency>& dependencies);

  std::size_t size() const { return first_.size() - 1; }
  // What a task depends on, in the order of the file.
  std::span<const Edge> before(std::uint32_t task) const {
    return {edges_.data() + first_[task], edges_.data() + first_[task + 1]};
  }
  // Every task after those it depends on; fewer tasks than there are where some are in a cycle.
  const std::vector<std::uint32_t>& order() const { return order_; }
  bool is_cyclic() const { return order_.size() < size(); }
  std::uint32_t task_in_cycle() const;  // of a graph with cycles

 private:
  void sort(const std::vector<GoalDependency>& dependencies);

  std::vector<std::size_t> first_;  // of a task's edges; one more at the end
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> order_;
};

class GoalThreads {
 public:
  explicit GoalThreads(const GoalGraph& graph);

  std::uint32_t count() const { return static_cast<std::uint32_t>(threads_.size()); }
  std::uint32_t of(std::uint32_t task) const { return thread_[task]; }

 private:
  // A thread has waited for certain tasks, whatever it waits for next comes on top: a level. Its
  // tasks of one level start together.
  struct Idle {
    std::uint32_t thread = 0;
    std::uint32_t level = 0;  // that it was at
    std::uint32_t since = 0;  // level of the thread that knows it
  };
  struct Thread {
    std::uint32_t level = 0;
    std::vector<Idle> idle;  // threads that have waited for nothing that this one has not
  };

  void assign(std::uint32_t task);
  bool follow(std::uint32_t task);
  bool join_sibling(std::uint32_t task);
  bool take_idle(std::uint32_t task);
  bool take_idle_of(std::uint32_t task, const GoalGraph::Edge& edge);
  void begin(std::uint32_t task, std::uint32_t thread);
  void put(std::uint32_t task, std::uint32_t thread);
  bool is_last(std::uint32_t task) const {  // its level is its thread's last
    return level_[task] == threads_[thread_[task]].level;
  }

  const GoalGraph& graph_;
  std::vector<Thread> threads_;
  std::vector<std::uint32_t> thread_;  // by task
  std::vector<std::uint32_t> level_;
  std::vector<std::uint32_t> heir_;  // by task: that began a level for depending on it
};

}  // namespace forescale
