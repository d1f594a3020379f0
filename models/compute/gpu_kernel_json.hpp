// What a GPU is asked to do for one kernel (gpu_kernel.hpp) as JSON.
//
// {"operation": "gemm", "m", "n", "k", "count", "transposes": "NN" | "NT" | "TN" | "TT", ...}
// {"operation": "convolution", "batch", "channels", "height", "width", "filters", "filter_height",
//  "filter_width", "pad_height", "pad_width", "stride_height", "stride_width", "groups", ...}
// {"operation": "attention", "batch", "sequence", "heads", "kv_heads", "head_size", "causal", ...}
// {"operation": "layer", "type": "pooling", "batch", "input_bytes", "output_bytes",
//  "parameter_bytes", "flops", ...}; what is left out is not known
// all with "pass" and "precision". "transposes" is "NN", pads are 0, "count", strides and "groups"
// are 1 where they are left out.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/json_input.hpp"
#include "models/compute/gpu_kernel.hpp"

namespace forescale {

// `more`: keys that the object may have beside. InputError with file, JSON pointer, value and
// constraint: unknown keys, sizes below 1, a filter larger than its padded input, groups that do
// not divide channels and filters.
GpuKernel read_gpu_kernel(const JsonInput& in, const std::vector<std::string>& more = {});
nlohmann::json to_json(const GpuKernel& kernel);

}  // namespace forescale
