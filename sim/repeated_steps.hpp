// Calls around a ring in which all ranks do the same at the same moment, simulated for a few steps.
//
// Where all ranks are done with a step at one moment, nothing is under way then, and what follows
// is the same again: between the same ranks, over the same links, however these are shared, with
// blocks of the same size. So every further step of a pass takes as long as the one before. Whether
// they are done at one moment is seen at the ends of plans of a few steps, and whether their times
// lie on a line; rings with one longer way, say, are not of this kind.
#pragma once

#include <optional>
#include <string>

#include "sim/resolved_call.hpp"
#include "sim/run/simulate.hpp"

namespace forescale {

// Why it is not tried; empty: it is.
std::string why_not_repeated(const ResolvedCall& resolved);

struct RepeatedSteps {
  CollectiveOutcome outcome;  // what simulate_collective() gives for all steps
  double error = 0;           // relative, of its time, for blocks of two sizes; 0: exact to 1e-9
};
// Of one that can be tried. Nothing: its ranks are not done at one moment. Simulates in processes
// of its own.
std::optional<RepeatedSteps> simulate_few_steps(const ResolvedCall& resolved);

}  // namespace forescale
