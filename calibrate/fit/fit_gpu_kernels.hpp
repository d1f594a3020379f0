// Kernels of a measurement to KernelFits, one a kind (models/compute/kernel_time.hpp).
//
// The roofline's three numbers by Huber's loss on the logarithms, with weak priors that decide
// only where the shapes do not: a launch of 10 us within a factor of 2, and 15 FLOP a byte between
// compute and memory, within a factor of e. The shape factor's amplitude, noise and lengths by
// their marginal likelihood (of at most 200 shapes), coordinate by coordinate. A shape that was
// timed several times counts once, by the geometric mean of its times. Intervals: roofline by
// resampling the kernels (bootstrap); the ratio of the whole by resampling the errors that each
// kernel has when it is left out (Rasmussen and Williams, eq. 5.10).
#pragma once

#include <cstdint>
#include <vector>

#include "calibrate/measure/measured_kernel.hpp"
#include "models/compute/kernel_time.hpp"

namespace forescale {

struct KernelFitOptions {
  int bootstrap_samples = 200;  // 0: no intervals
  std::uint64_t seed = 1;
};

// Kinds in order; a kind with few kernels still has its roofline. Empty without kernels. Layers
// of which no bytes are known are left out.
std::vector<KernelFit> fit_kernels(const std::vector<MeasuredKernel>& kernels,
                                   const KernelFitOptions& options);

}  // namespace forescale
