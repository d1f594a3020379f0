// The collectives' own durations in a trace as a correction of the stack: what each took there over
// what the stack says for it, on the platform where it was traced. Or, where one rank was traced,
// as what says how long it waited for the others.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "algorithms/plan_choice.hpp"
#include "models/stack.hpp"
#include "topologies/platform.hpp"
#include "traces/measured/measured_run.hpp"
#include "traces/program/program.hpp"

namespace forescale {

// Where collectives are simulated, each alone.
struct CollectivePlace {
  const Platform& platform;
  const Stack& stack;
  const std::map<CollectiveOp, PlanChoice>& choices;
};

// One kind of collective in a trace, over all its calls of the traced ranks.
struct CorrectedCollective {
  std::string name;  // "all-reduce, 8 ranks"
  int calls = 0;
  double measured_s = 0;   // all of them
  double predicted_s = 0;  // where it was traced
  double factor() const { return predicted_s > 0 ? measured_s / predicted_s : 1; }
};

// Collectives of one traced rank that took more than this many times what the stack says where they
// were traced: the excess is waiting for ranks that were not. Of 301 rows of NCCL's public tables
// (validate --paper open-nccl) one takes 6.1 times what its stack says, no other more than 4.05.
inline constexpr double kWaitsFrom = 10;

struct WaitsForOthers {
  int calls = 0;  // of `all`
  int all = 0;
  double time_s = 0;
};

// Which collectives a traced platform says something about: where it is only taken to be that of
// the trace, as the GPUs are the same, those inside one node.
enum class TracedReach { kAll, kInsideNodes };

class CollectiveCalibration {
 public:
  // Simulates what `measured` has on the traced platform.
  CollectiveCalibration(const MeasuredRun& measured, const CollectivePlace& traced,
                        TracedReach waits_reach = TracedReach::kAll);

  const std::vector<CorrectedCollective>& kinds() const { return kinds_; }
  const WaitsForOthers& waits() const { return waits_; }

  // How a correction carries over to another platform.
  enum class Keeps {
    kFactor,       // so many times what the stack says
    kDifference,   // what it took longer, or shorter, than the stack says
    kWaits,        // waits for other ranks only: the stack is as it is
    kLonger,       // all that it took longer than the stack says, waits or not
    kFactorOfRest  // as kFactor, of a program that has the waits already
  };
  // The program with the collectives of those kinds (all, where there are none) corrected: longer
  // by a timer behind them, shorter by fewer bytes. `measured` is of the program's own import.
  Program corrected(const Program& program, const MeasuredRun& measured,
                    const CollectivePlace& here, Keeps keeps,
                    const std::vector<std::string>& kinds = {}) const;

 private:
  double wanted_s(const TracedCollective& collective, double predicted_s, Keeps keeps) const;
  bool may_wait(const TracedCollective& collective) const;

  int world_;
  std::vector<int> node_of_rank_ = {};  // empty: any collective may have waited
  std::vector<CorrectedCollective> kinds_;
  WaitsForOthers waits_;
  std::map<std::string, double> traced_s_;  // what the stack says, by shape
  // For collectives that were not traced as they are: median factor by kind.
  std::map<std::string, double> median_factor_;
};

}  // namespace forescale
