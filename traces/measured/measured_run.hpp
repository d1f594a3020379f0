// The measured run itself, to be held against its replay.
#pragma once

#include <vector>

#include "traces/measured/measured.hpp"
#include "traces/timeline/timeline.hpp"

namespace forescale {

// A collective of a group, as the rank saw it that came last and waited for nobody: the shortest
// time of the group's traced ranks.
struct MeasuredCall {
  CollectiveOp op = CollectiveOp::kAllReduce;
  std::int64_t bytes = 0;
  int ranks = 0;         // of the group
  int traced_ranks = 0;  // of those, in the trace
  bool on_host = false;
  double time_s = 0;
};

// A collective of a traced rank's program, and what it took by itself: the shortest time of its
// group's traced ranks. With one of them traced, waiting for the others is in it.
struct TracedCollective {
  int request = -1;  // of the program's rank
  CollectiveOp op = CollectiveOp::kAllReduce;
  std::int64_t bytes = 0;
  int root = 0;
  std::vector<int> ranks = {};  // empty: all of the traced run
  bool is_message = false;
  bool on_host = false;
  double time_s = 0;  // 0: not in the trace, as it is another one than was traced (--bucket)
};

struct MeasuredRun {
  // Of an iteration (iterations.hpp) by the rule that simulated ones follow (steady_state.hpp); 0:
  // not in the trace.
  double step_s = 0;
  std::vector<double> periods_s = {};  // of all iterations
  std::size_t counts_from = 0;         // the first that counts
  std::string gpu = {};                // what the driver calls it; empty: not in the trace
  // Mean over ranks and the iterations that count: while a collective ran on the rank, and of that,
  // while it computed.
  double communication_s = 0;
  double hidden_s = 0;
  // The last iteration, which begins and ends then on the timeline's clock; spans have the ranks of
  // the trace. Empty where a trace has no spans.
  Timeline timeline = Timeline();
  double begin_s = 0;
  double end_s = 0;
  std::vector<MeasuredCall> calls = {};  // of every group in their order
  int world = 0;                         // ranks of the traced run
  // By traced rank; the program's rank r does what traced rank r modulo their number did.
  std::vector<std::vector<TracedCollective>> collectives = {};
};

// `offsets_ns`: by how much each rank's clock is ahead. `world`: ranks of the traced run.
// By rank and index of its collective: the shortest time of its group's traced ranks.
std::vector<std::vector<double>> own_times_s(const std::vector<MeasuredRank>& ranks, int world);

MeasuredRun measured_run(const std::vector<MeasuredRank>& ranks,
                         const std::vector<std::int64_t>& offsets_ns, int world);

}  // namespace forescale
