// Training in which all workers do the same at the same time, simulated as one of them.
//
// Its collectives take what they take alone, folded where that can be (folded.hpp); those that are
// under way together share their busiest link (run/priced_collectives.hpp). What that leaves out,
// above all workers that a collective lets go at different times, is seen on a few nodes, which are
// also simulated whole: the difference there is part of the error that is said; what sharing gains
// over one after the other is the rest.
#pragma once

#include <cstdint>
#include <string>

#include "sim/predict.hpp"
#include "sim/run/simulate.hpp"

namespace forescale {

// Up to so many GPUs all are simulated.
inline constexpr int kWholeWorkersMax = 128;
inline constexpr int kComparedNodes = 4;
// At least so much is said: what was seen between 16 and 64 nodes (tests/sim/lockstep_test.cpp).
inline constexpr double kLeastLockstepError = 0.01;

// Why the run cannot be simulated so; empty: it can.
std::string why_not_lockstep(const PredictionInputs& inputs, const TrainingRun& run);

struct Lockstep {
  TrainingOutcome outcome;  // what simulate_training() gives for all
  std::int64_t ranks = 0;   // simulated at once, at most
  double error = 0;         // relative, of an iteration
};
// Of one that can be. Simulates in processes of its own and, the last time, in this one.
Lockstep simulate_lockstep(const PredictionInputs& inputs, const TrainingRun& run);

}  // namespace forescale
