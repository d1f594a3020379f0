// How the tests of sim/ run simulations: each in a child process, since SimGrid allows one engine a
// process; and the platform and stacks that most of them use.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "algorithms/schedule.hpp"
#include "base/error.hpp"
#include "base/registry.hpp"
#include "sim/engine/world.hpp"
#include "sim/isolate.hpp"
#include "sim/run/simulate.hpp"
#include "topologies/placement.hpp"

namespace forescale::testing {

// An expectation that fails in a child is lost with it: here it becomes an error of the test.
template <class Task>
auto with_expectations(const Task& task) {
  const bool had_failed = ::testing::Test::HasFailure();
  const auto found = task();
  if (!had_failed && ::testing::Test::HasFailure())
    throw CheckFailed("an expectation failed in a child");
  return found;
}

// Exact: the text of a double with 17 digits is read back as the same double.
inline std::vector<double> in_children(const std::vector<std::function<double()>>& tasks) {
  std::vector<std::function<std::string()>> texts;
  texts.reserve(tasks.size());
  for (const auto& task : tasks)
    texts.emplace_back([&task] { return fmt::format("{:.17g}", with_expectations(task)); });
  load_simgrid();  // once for all that a test simulates
  std::vector<double> values;
  for (const std::string& text : run_isolated(texts, 1, [](size_t) {}))
    values.push_back(std::strtod(text.c_str(), nullptr));
  return values;
}
inline double in_child(const std::function<double()>& task) { return in_children({task}).front(); }

// Several numbers from one simulation.
inline std::vector<double> numbers_in_child(const std::function<std::vector<double>()>& task) {
  load_simgrid();
  const std::string text = run_isolated({[&task] {
                                          std::string words;
                                          for (const double number : with_expectations(task))
                                            words += fmt::format("{:.17g} ", number);
                                          return words;
                                        }},
                                        1, [](size_t) {})
                               .front();
  std::vector<double> numbers;
  const char* at = text.c_str();
  for (char* end = nullptr;; at = end) {
    const double number = std::strtod(at, &end);
    if (end == at) return numbers;
    numbers.push_back(number);
  }
}

// The text of an E that `action` throws in a child; empty if it throws none.
template <class E>
std::string error_in_child(const std::function<void()>& action) {
  try {
    run_isolated({[&action] {
                   action();
                   return std::string();
                 }},
                 1, [](size_t) {});
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

inline std::vector<int> first_ranks(int count) {
  std::vector<int> ranks(static_cast<size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// One collective with a chosen algorithm, all ranks starting at 0.
inline double collective_s(const Platform& platform, const Stack& stack,
                           const Collective& collective, const CollectiveCall& call) {
  const CollectiveStep step{.op = collective.op,
                            .bytes = call.bytes,
                            .root = call.root,
                            .communicator = 0,
                            .phase = Phase::kAggregation,
                            .label = collective.name};
  SessionOptions options;
  options.choices[collective.op] = {.collective = &collective, .options = call.options};
  return simulate_collective(platform, stack, step, call.rank_count, options).time_s;
}

// A collective on the first ranks with nothing beside it, by the stack's choice, in a child.
inline double alone_s(const Platform& platform, const Stack& stack, const CollectiveStep& step,
                      int ranks) {
  return in_child([&] { return simulate_collective(platform, stack, step, ranks, {}).time_s; });
}

inline const Schedule& schedule_of(const std::string& name) {
  return Registry<Schedule>::find(name, "test");
}

// The same job on every rank.
inline TrainingJobs jobs_of(int ranks, const TrainingJob& job) {
  return {static_cast<size_t>(ranks), std::make_shared<const TrainingJob>(job)};
}
// Training with it.
inline TrainingOutcome outcome_of(const Platform& platform, const Stack& stack,
                                  const Schedule& schedule, int ranks, const TrainingJob& job) {
  return simulate_training(platform, stack, schedule, jobs_of(ranks, job), {});
}
// The same in a child.
inline double iteration_s(const Platform& platform, const Stack& stack, const Schedule& schedule,
                          int ranks, const TrainingJob& job) {
  return in_child([&] { return outcome_of(platform, stack, schedule, ranks, job).iteration_s; });
}

inline Platform one_rank_a_node(const std::string& name) {
  Platform platform = load_platform(name);
  place_ranks(platform, "linear:per_node=1", "test");
  return platform;
}

inline void expect_near(double actual_s, double expected_s, const std::string& what = "") {
  EXPECT_NEAR(actual_s, expected_s, 1e-9 * expected_s) << what;
}

inline constexpr std::int64_t kMiB = 1 << 20;

// Contention-free: alpha = 1 us host to host, 12.5 GB/s.
inline constexpr double kAlpha_s = 1e-6;
inline constexpr double kStarBytesPerS = 12.5e9;
inline std::string star_of(int hosts) {
  return fmt::format("star:hosts={},bandwidth=12.5GB/s,latency=1us", hosts);
}

}  // namespace forescale::testing
