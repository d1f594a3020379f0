// What `calibrate measure` does alike for MPI and for a GPU: progress, interruption, what is kept
// and printed at the end.
#pragma once

#include <string>

#include "base/noted_signals.hpp"
#include "calibrate/measure/measure.hpp"

namespace forescale {

struct MeasureOutput {
  std::string file;  // empty: printed only
  bool json = false;
};
// Writes what was measured, also after a failure, and prints it. SimulationStuck after a failure,
// saying where what was measured is.
void conclude(const MeasureOutcome& outcome, const MeasureOutput& output, NotedSignals& signals);

}  // namespace forescale
