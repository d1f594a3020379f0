// Messages by hand: any operations by rank, run as one collective of the simulator. What a test of
// the cost contract needs; the collective exists only in the child process that runs it.
#pragma once

#include <string>
#include <vector>

#include "algorithms/pieces/plan_pieces.hpp"
#include "tests/sim/simulations.hpp"

namespace forescale::testing {

using Pattern = std::vector<std::vector<Op>>;  // by rank

inline Pattern& pattern_in_use() {
  static Pattern pattern;
  return pattern;
}

inline OpStream pattern_plan(CollectiveCall /*call*/, int rank) {
  for (const Op& op : pattern_in_use()[static_cast<size_t>(rank)]) co_yield op;
}

inline Op send_bytes(int peer, std::int64_t bytes, int after = 0) {
  return send(peer, {.offset = 0, .bytes = bytes}, after);
}
inline Op recv_bytes(int peer, std::int64_t bytes) {
  return recv(peer, {.offset = 0, .bytes = bytes});
}
inline Op reduce_bytes(int peer, std::int64_t bytes) {
  return recv_reduce(peer, {.offset = 0, .bytes = bytes});
}

// In no registry: no registry-driven test may see it.
inline const Collective& pattern_collective() {
  static const Collective collective = {
      .op = CollectiveOp::kAllToAll,
      .algorithm = "pattern",
      .summary = "operations by hand",
      .source = "this test",
      .plan = pattern_plan,
      .closed_form = [](const CollectiveCall&, const StepCost&) { return std::optional<double>(); },
      .name = "all-to-all/pattern"};
  return collective;
}

// Call in a child only. The step that runs the pattern.
inline CollectiveStep install(const Pattern& pattern, std::int64_t buffer_bytes = 0) {
  pattern_in_use() = pattern;
  return {.op = CollectiveOp::kAllToAll,
          .bytes = buffer_bytes,
          .root = 0,
          .communicator = 0,
          .phase = Phase::kAggregation,
          .label = "pattern"};
}

inline SessionOptions pattern_options() {
  SessionOptions options;
  options.choices[CollectiveOp::kAllToAll] = {.collective = &pattern_collective()};
  return options;
}

// When each rank has done its part; `program` runs the step (and what else it likes) on a rank.
inline std::vector<double> program_ends_s(const Platform& platform, const Stack& stack,
                                          int rank_count, const SessionOptions& options,
                                          const std::function<void(Worker&)>& program) {
  std::vector<double> ends_s(static_cast<size_t>(rank_count));
  Session session(platform, stack, rank_count, options);
  for (int rank = 0; rank < rank_count; ++rank)
    session.start_rank(rank, [&](Worker& worker) {
      program(worker);
      ends_s[static_cast<size_t>(worker.rank())] = worker.now_s();
    });
  session.run();
  return ends_s;
}

inline std::vector<double> ends_s(const Platform& platform, const Stack& stack,
                                  const Pattern& pattern,
                                  const SessionOptions& options = pattern_options()) {
  return numbers_in_child([&] {
    const CollectiveStep step = install(pattern);
    return program_ends_s(platform, stack, static_cast<int>(pattern.size()), options,
                          [&](Worker& worker) { worker.run(step); });
  });
}

inline double last_end_s(const Platform& platform, const Stack& stack, const Pattern& pattern) {
  const std::vector<double> ends = ends_s(platform, stack, pattern);
  return *std::max_element(ends.begin(), ends.end());
}

}  // namespace forescale::testing
