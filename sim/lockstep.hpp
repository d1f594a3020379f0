// Training in which all workers make the same calls, simulated as one of each kind: of those that
// take the same time between them, one; where kernels vary, all.
//
// Its collectives take what they take alone, folded where that can be (folded.hpp), from when the
// last worker calls; those that are under way together share their busiest link
// (run/priced_collectives.hpp). What that leaves out, above all workers that a collective lets go
// at different times, is seen on a few nodes, which are also simulated whole, with stragglers among
// them: the difference there is part of the error that is said; what sharing gains over one after
// the other is the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/predict.hpp"
#include "sim/run/simulate.hpp"

namespace forescale {

// Up to so many GPUs all are simulated.
inline constexpr int kWholeWorkersMax = 128;
inline constexpr int kComparedNodes = 4;
// At least so much is said: what was seen between 16 and 64 nodes (tests/sim/lockstep_test.cpp),
// and of random runs against all their workers (tests/reliability/folded_or_whole.py) with
// stragglers, 3.2 %: until the last worker calls, the others' part of a collective goes ahead.
inline constexpr double kLeastLockstepError = 0.01;
inline constexpr double kLeastStragglerError = 0.04;
// Of a ring whose parts share their busiest link, where ranks do not begin at once: 7 to 27 %
// longer was seen on nodes of eight V100 (AlexNet, VGG-16), more with each doubling of the nodes.
inline constexpr double kSkewedRingError = 0.4;
// Of what a few nodes show: 2.4 times as much was seen.
inline constexpr double kLockstepUnsure = 2.5;

// Why no run of the schedule can be simulated so; empty: some can.
std::string why_workers_differ(const Schedule& schedule);
// Why the run cannot be simulated so; empty: it can.
std::string why_not_lockstep(const PredictionInputs& inputs, const TrainingRun& run);

// Of every worker the first that does the same at the same time.
std::vector<int> stand_ins(const PredictionInputs& inputs, const TrainingRun& run);

struct Lockstep {
  TrainingOutcome outcome;  // what simulate_training() gives for all
  int workers = 1;          // whose kernels were simulated
  std::int64_t ranks = 0;   // simulated at once, at most
  double error = 0;         // relative, of an iteration
};
// Of one that can be. Simulates in processes of its own and, the last time, in this one; nothing,
// and nothing in this one, where few say less than kMostFoldedError of all that `may_be_whole`.
std::optional<Lockstep> simulate_lockstep(const PredictionInputs& inputs, const TrainingRun& run,
                                          bool may_be_whole);

}  // namespace forescale
