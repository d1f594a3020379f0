// Graphs of GOAL tasks as threads: every task starts when what it depends on allows, whatever the
// graph, and long graphs need neither stack nor many threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/traces/goal_files.hpp"

namespace forescale::testing {
namespace {

using Kind = Action::Kind;

// When a rank without messages has ended, where nothing but its waits holds a thread up.
double end_of(const ProgramRank& rank) {
  struct Thread {
    bool is_started = false;
    size_t at = 0;
    double now_s = 0;
    int end = -1;  // request that its end completes
  };
  std::vector<Thread> threads(rank.threads.size());
  threads[0].is_started = true;
  std::map<int, double> done_s;
  const auto step = [&](Thread& thread, const Action& action) {
    if (action.kind == Kind::kWait) {
      const auto done = done_s.find(action.requests.front());
      if (done == done_s.end()) return false;
      thread.now_s = std::max(thread.now_s, done->second);
    } else if (action.kind == Kind::kSet) {
      done_s[action.requests.front()] = thread.now_s;
    } else if (action.kind == Kind::kHostWork) {
      done_s[action.id] = thread.now_s + std::get<HostWork>(action.what).duration_s;
    } else if (action.kind == Kind::kSpawn) {
      const int number = std::get<ThreadStart>(action.what).thread;
      threads[static_cast<size_t>(number)] = {true, 0, thread.now_s, action.id};
    } else if (action.kind == Kind::kNextBatch) {
      done_s[action.id] = thread.now_s;
    }
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t i = 0; i < threads.size(); ++i) {
      const ActionList& actions = rank.threads[i].actions;
      while (threads[i].is_started && threads[i].at < actions.size() &&
             step(threads[i], actions[threads[i].at])) {
        ++threads[i].at;
        moved = true;
      }
      if (threads[i].at == actions.size() && threads[i].end >= 0)
        done_s[threads[i].end] = threads[i].now_s;
    }
  }
  EXPECT_EQ(threads[0].at, rank.threads[0].actions.size()) << "waits for ever";
  return threads[0].now_s;
}

struct Graph {
  std::string text;
  double end_s = 0;  // of its longest path
};

// Tasks on two CPUs, each after some of the five before it, or of all before it.
Graph random_graph(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](size_t limit) { return random() % limit; };
  const size_t count = 2 + below(below(4) == 0 ? 400 : 40);
  const size_t reach = below(2) == 0 ? 5 : count;
  std::string tasks;
  std::string dependencies;
  std::vector<double> start_s(count);
  std::vector<double> duration_s(count);
  double end_s = 0;
  for (size_t task = 0; task < count; ++task) {
    const size_t nanoseconds = 1 + below(1000);
    duration_s[task] = static_cast<double>(nanoseconds) * 1e-9;
    tasks += fmt::format("t{}: calc {} cpu {}\n", task, nanoseconds, task % 2);
    for (size_t i = below(4); i > 0 && task > 0; --i) {
      const size_t on = task - 1 - below(std::min(reach, task));
      const bool on_start = below(5) == 0;
      dependencies += fmt::format("t{} {} t{}\n", task, on_start ? "irequires" : "requires", on);
      start_s[task] = std::max(start_s[task], start_s[on] + (on_start ? 0 : duration_s[on]));
    }
    end_s = std::max(end_s, start_s[task] + duration_s[task]);
  }
  return {rank_of(tasks + dependencies), end_s};
}

TEST(GoalGraphs, TakeAsLongAsTheirLongestPath) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Graph graph = random_graph(seed);
    const ImportedTrace trace = import_goal(graph.text);
    EXPECT_NEAR(end_of(trace.program.ranks[0]), graph.end_s, 1e-9 * graph.end_s) << graph.text;
  }
}

TEST(GoalGraphs, ForksAndJoinsUseTheirThreadsAgain) {
  std::string text = "j0: calc 5\nother: calc 1 cpu 1\n";
  for (int i = 1; i <= 200; ++i) {
    std::string joins = fmt::format("j{}: calc 0\n", i);
    for (int branch = 0; branch < 3; ++branch) {
      const std::string name = fmt::format("{}_{}", i, branch);
      text +=
          fmt::format("a{0}: calc {2}\nb{0}: calc {3}\na{0} requires j{1}\nb{0} requires a{0}\n",
                      name, i - 1, 10 + branch, 20 - branch);
      joins += fmt::format("j{} requires b{}\n", i, name);
    }
    text += joins;
  }
  const ImportedTrace trace = import_goal(rank_of(text));
  EXPECT_EQ(trace.program.ranks[0].threads.size(), 3u);
  EXPECT_NEAR(end_of(trace.program.ranks[0]), (5 + 200 * (10 + 20)) * 1e-9, 1e-15);
}

TEST(GoalGraphs, LongChainsAreOneThread) {
  constexpr int kTasks = 200000;
  std::string text = "t0: calc 1\n";
  for (int i = 1; i < kTasks; ++i)
    text += fmt::format("t{0}: calc 1\nt{0} requires t{1}\n", i, i - 1);
  const ImportedTrace trace = import_goal(rank_of(text));
  EXPECT_EQ(trace.program.ranks[0].threads.size(), 1u);
  // A kernel and a wait each, and three actions at the end.
  EXPECT_EQ(trace.program.ranks[0].threads[0].actions.size(), 2u * kTasks + 3);
  EXPECT_NE(goal_refusal(rank_of(text + fmt::format("t9 requires t{}\n", kTasks - 1)))
                .find("is a task that depends on itself"),
            std::string::npos);
}

// A binomial tree as LogGOPSim's schedule generator writes it: rank r hears from r without its
// highest bit and then sends to r + 2^k for every 2^k > r.
TEST(GoalGraphs, ABinomialTreeHasAMessageARankButTheRoot) {
  constexpr int kRanks = 32;
  std::string text = fmt::format("num_ranks {}\n", kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    text += fmt::format("\nrank {} {{\n", rank);
    int label = 0, bit = 1;
    for (; bit <= rank; bit *= 2) continue;
    if (rank > 0) text += fmt::format("l{}: recv 3b from {} tag 0\n", ++label, rank - bit / 2);
    for (; rank + bit < kRanks; bit *= 2) {
      text += fmt::format("l{}: send 3b to {} tag 0\n", ++label, rank + bit);
      if (rank > 0) text += fmt::format("l{} requires l1\n", label);
    }
    text += "}\n";
  }
  const ImportedTrace trace = import_goal(text);
  EXPECT_EQ(trace.program.workers, kRanks);
  EXPECT_EQ(trace.found.messages.count, kRanks - 1U);
  EXPECT_DOUBLE_EQ(trace.found.messages.bytes, 3 * (kRanks - 1));
  for (const ProgramRank& rank : trace.program.ranks) EXPECT_EQ(rank.threads.size(), 1u);
}

}  // namespace
}  // namespace forescale::testing
