// What an MPI program of forescale is asked to do, as JSON, the same on every rank; and what it
// answers. The program is forescale-mpi-openmpi or forescale-mpi-mpich:
//   mpirun -np 8 forescale-mpi-openmpi REQUEST.json ANSWER.json
// Rank 0 writes ANSWER.json as it goes (rewritten whole, by rename, after every series), so that
// what was measured is kept when a rank dies. Progress lines go to rank 0's stderr.
//
// Common: {"format": "forescale-mpi-request-1", "task": "patterns" | "collectives" | "counts" |
//   "schedule",
//   "wait": {"nap_s": seconds between polls; 0: spin}, "channels": sends and receives in progress}
// patterns: {"budget_s": for all of it, "relative_interval": wanted half width of the median's 95 %
//   interval, "repetitions_max", "series": [{"pattern", "ranks", "members", "op", "bytes":
//   [sizes]}]}
//   -> "forescale-measurement-1" without machine (calibrate/measure/measurement.hpp).
// collectives: {"budget_s", "repetitions_min", "repetitions_max", "relative_interval",
//   "cases": [{"plan": "reduce/cb:chain_size=8", "ranks", "bytes", "root"}]}
//   -> {"format": "forescale-executed-1", "library", "cases": [the case with "time_s", "low_s",
//   "high_s", "p10_s", "p90_s", "samples", "is_correct", "error"}]}
// counts: {"cases": [{"op", "bytes"}]} of the library's own collectives, on all ranks
//   -> {"format": "forescale-message-counts-1", "library", "counted_by": "" where it counts nothing
//   (message_counter.hpp), "cases": [{"op", "bytes", "messages": [by sender: [by receiver]],
//   "sent_bytes": the same}]}
// schedule: calibrate/measure/schedule_request.hpp: {"schedule", "workers", "jobs": [TrainingJob by
// rank],
//   "nodes": [by rank], "choices" and "control_choices": {op: rule or [rules by size] with
//   "algorithm", its options, "up_to_ranks", "up_to_nodes", "ranks_per_node", "up_to_bytes"},
//   "compute": "sleep" | "spin" | "gemm", "progress": "inside-calls" | "thread",
//   "host_copy_bytes_per_s", "stuck_s": without progress, then exit code 3}
//   -> {"format": "forescale-executed-1", "library", "schedule", "workers", "compute",
//   "iterations": [{"time_s": from the end of the last one to the slowest worker's end,
//   "ranks": [by worker: {"period_s": by its own ends, "end_s": since the start, "phases_s":
//   {phase or "idle": s, as the simulator attributes them}}]}], "messages", "payload_bytes",
//   "control_bytes": that all ranks sent in all iterations, "finished_s"}
//
// A collective's time is from the moment that all ranks had agreed upon to start (clocks compared
// beforehand) to the end of the slowest rank.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "algorithms/plan_choice.hpp"
#include "base/json_input.hpp"

namespace forescale {

// What all requests have; InputError for another format or task.
struct CommonRequest {
  std::string task;
  double nap_s = 0;
  int channels = 1;
};
CommonRequest read_common(const JsonInput& request);

struct CollectiveCase {
  PlanChoice plan;
  CollectiveCall call;  // with the options of the plan
};

struct CollectivesRequest {
  double budget_s = 60;
  int repetitions_min = 5;
  int repetitions_max = 200;
  double relative_interval = 0.02;
  std::vector<CollectiveCase> cases = {};
};
// InputError for unknown collectives, more than `ranks_max` ranks, or no whole FP32 elements. Calls
// that the collective refuses pass: they are answered with the reason.
CollectivesRequest read_collectives(const JsonInput& request, int ranks_max);
nlohmann::json to_json(const CollectiveCase& one);

}  // namespace forescale
