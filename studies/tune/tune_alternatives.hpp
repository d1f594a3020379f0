// The best of what a library can be told to take (models/stack.hpp, Alternative), beside what it
// takes by itself: that stays wherever nothing is faster for sure.
#pragma once

#include "studies/tune/tune_collective.hpp"

namespace forescale {

// What TunedPlan calls the library's own choice.
inline constexpr const char* kOwnChoice = "own choice";

// Whether the stack knows of any for this call.
bool has_alternatives(const TuneQuestion& question, const QuestionMachine& machine);

// All alternatives with the library's own chunks, then those near the best with other sizes of
// chunks, of those that the stack has for them. `best` is kOwnChoice unless another is faster than
// that by more than `tolerance`, and with uncertain numbers at both their ends. To be called where
// tune_point() is.
TunedPoint tune_alternatives(const TuneQuestion& question, const MachineScenarios& machine,
                             double tolerance);

// Regions of `points` are made by the sizes that were asked. Where at an end between two sizes an
// alternative is not faster than the library's own choice, its region ends at the size that was
// asked.
std::vector<TunedRegion> faster_to_their_ends(std::vector<TunedRegion> regions,
                                              const std::vector<TunedPoint>& points,
                                              const MachineScenarios& machine);

}  // namespace forescale
