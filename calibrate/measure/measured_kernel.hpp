// One timed GPU kernel (GEMM, convolution) or layer: an entry of a measurement's "kernels".
//
// The kernel's keys (models/compute/gpu_kernel_json.hpp) with "time_s", and optionally "low_s" and
// "high_s" (95 % interval of the median), "samples", "network" and "layer" (names of
// models/workload/zoo), "algorithm" (the library's).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/json_input.hpp"
#include "models/compute/gpu_kernel.hpp"

namespace forescale {

struct MeasuredKernel {
  GpuKernel kernel;
  double time_s = 0;  // median
  double low_s = 0;
  double high_s = 0;
  int samples = 1;
  std::string network = {};
  std::string layer = {};
  std::string algorithm = {};
};

// InputError with file, JSON pointer, value and constraint: what read_gpu_kernel() refuses, times
// that are not positive or outside their interval.
MeasuredKernel read_measured_kernel(const JsonInput& in);
nlohmann::json to_json(const MeasuredKernel& measured);

}  // namespace forescale
