// Repeats one thing until its median is known well enough.
#pragma once

#include <functional>

#include "calibrate/bench/gpu/gpu_bench.hpp"
#include "calibrate/bench/patterns/sample_summary.hpp"

namespace forescale {

// Seconds since some moment, growing.
using GpuClock = std::function<double()>;

struct RepeatUntil {
  double relative_interval = 0.03;  // half width of the median's 95 % interval that is enough
  int samples_max = 50;
  double sample_s = 200e-6;  // a sample is the mean of as many in a row as fill this
  double most_s = 0.5;       // then two samples are enough
  double end_s = 0;          // of the clock: then one is
};

// The first call warms up, the second too unless it takes long; at least one sample.
SampleSummary repeat(Repeatable& thing, const RepeatUntil& until, const GpuClock& clock);

}  // namespace forescale
