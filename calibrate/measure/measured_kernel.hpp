// One timed GPU kernel (GEMM, convolution) or layer: an entry of a measurement's "kernels".
//
// {"operation": "gemm", "m", "n", "k", "transposes": "NN" | "NT" | "TN" | "TT", ...}
// {"operation": "convolution", "batch", "channels", "height", "width", "filters", "filter_height",
//  "filter_width", "pad_height", "pad_width", "stride_height", "stride_width", "groups", ...}
// {"operation": "layer", "type": "pooling", "batch", "input_bytes", "output_bytes",
//  "parameter_bytes", "flops", ...}; what is left out is not known
// all with "pass", "precision", "time_s", and optionally "low_s" and "high_s" (95 % interval of the
// median), "samples", "network" and "layer" (names of models/workload/zoo), "algorithm" (the
// library's). "transposes" is "NN", pads are 0, strides and "groups" are 1 where they are left out.
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

// InputError with file, JSON pointer, value and constraint: unknown keys, sizes below 1, a filter
// larger than its padded input, groups that do not divide channels and filters, times that are not
// positive or outside their interval.
MeasuredKernel read_measured_kernel(const JsonInput& in);
nlohmann::json to_json(const MeasuredKernel& measured);

}  // namespace forescale
