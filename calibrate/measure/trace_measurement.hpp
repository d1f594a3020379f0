// What a trace says of the machine that it was measured on, in the form of a measurement:
// collectives by operation, ranks and bytes.
//
// A collective's time is that which its last rank saw. Other communication and compute ran beside
// it, so that times lie above those of a benchmark.
#pragma once

#include <string>

#include "calibrate/fit/segmented_fit.hpp"
#include "calibrate/measure/measurement.hpp"
#include "traces/formats/trace_format.hpp"

namespace forescale {

// InputError naming `file` where the trace has no times of collectives.
Measurement trace_measurement(const ImportedTrace& trace, const std::string& file);

// alpha and beta of a series, by size; nothing where its sizes carry no line: fewer than three, or
// all within a factor of 4.
std::vector<AlphaBeta> alpha_beta_of(const Series& series);

}  // namespace forescale
