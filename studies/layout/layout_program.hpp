// A layout rank by rank: the program of what every GPU computes and exchanges, for the simulator
// and `forescale replay`. All groups run at once here, on the links that they share, where
// layout_prediction.hpp times rank 0's groups alone; where nothing is shared both agree.
#pragma once

#include "studies/layout/layout_setup.hpp"
#include "traces/program/program.hpp"

namespace forescale {

// Ranks that a program is written for, at most: a line each.
inline constexpr std::int64_t kLayoutProgramRanksMax = 4096;

// Kernels between two exchanges are one. Of what lies between exchanges and parts of parameters or
// gradients, the order of the parts is kept, their share of a pass is that of the nearest exchange.
Program layout_program(const LayoutCase& about, const LayoutSetUp& set_up, int iterations);

}  // namespace forescale
