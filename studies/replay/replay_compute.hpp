// Other compute times than those of a program.
#pragma once

#include "studies/replay/kernel_scaling.hpp"
#include "studies/replay/replay.hpp"
#include "traces/measured/measured_run.hpp"

namespace forescale {

// The GPU of the platform on which forescale recorded the program; empty: not known.
std::string recorded_gpu(const Program& program);

// All kernels, and what ranks of a schedule train, so many times as long.
void scale_compute(Program& program, double scale);

// Matrix kernels take `factor` times as long; at the ends of the scenario all kernels, or none.
void split_kernels(Program& program, double factor, Scenario scenario);

// Kernels as they would be on text.gpu (kernel_scaling.hpp). InputError where it is not known on
// which GPU the trace was measured.
ScaledTime move_to_gpu(Program& program, const MeasuredRun& measured, const ReplayText& text,
                       Scenario scenario);

}  // namespace forescale
