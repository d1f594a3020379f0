// The three numbers of a kernel roofline from timed kernels of one kind; see fit_gpu_kernels.hpp.
#pragma once

#include <span>

#include "models/compute/kernel_time.hpp"

namespace forescale {

struct TimedKernel {
  GpuKernel kernel;
  double time_s = 0;
};

// At least one kernel.
KernelRoofline fit_roofline(std::span<const TimedKernel> kernels);

}  // namespace forescale
