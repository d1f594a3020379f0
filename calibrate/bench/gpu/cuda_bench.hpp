// The GPU behind the measuring loop.
#pragma once

#include <memory>
#include <string>

#include "calibrate/bench/gpu/gpu_bench.hpp"

namespace forescale {

// GpuTrouble (kUnusable) where there is no driver, one that is too old, no GPU, or none of the
// number that is asked for; kFault where a reduction's result is wrong. `layout` of convolutions is
// "nchw" or "nhwc".
std::unique_ptr<GpuBench> open_cuda_bench(int device, const std::string& layout);

}  // namespace forescale
