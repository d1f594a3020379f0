// A training schedule to be run for real: what the "schedule" task of an MPI program is told
// (calibrate/bench/request.hpp), written by forescale and read by every rank.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "algorithms/schedule.hpp"
#include "base/json_input.hpp"
#include "models/stack.hpp"

namespace forescale {

// How a kernel passes its time.
enum class Compute {
  kSleep,  // its rank's GPU is emulated by a clock: the CPU is free
  kSpin,   // the same, and one thread of the rank keeps a core busy while kernels run
  kGemm    // single-precision matrix products on one core, worth the kernel's time
};
const char* name_of(Compute compute);

struct ScheduleRequest {
  std::string schedule;
  int workers = 0;                // the ranks behind them are servers
  std::vector<TrainingJob> jobs;  // by rank
  std::vector<int> nodes;         // by rank
  // Of the rules: limits, algorithm and its options; nothing is copied through a host, and calls
  // cost what they cost.
  SelectionRules choices;
  SelectionRules control_choices;  // negotiation; operations that it leaves out: as `choices`
  Compute compute = Compute::kSleep;
  bool progress_thread = false;      // else messages move on only while the rank is inside a call
  double host_copy_bytes_per_s = 0;  // each direction; 0: copies take no time
  double stuck_s = 60;               // without any progress: the run is given up
};

// Without what all tasks have in common: "format", "wait", "channels".
nlohmann::json schedule_request_to_json(const ScheduleRequest& request);
ScheduleRequest schedule_request_from_json(const JsonInput& in);

}  // namespace forescale
