// From a measurement of one GPU to its model (models/compute/fitted_gpu.hpp).
//
//   copies    segmented alpha-beta of each path's times by size (segmented_fit.hpp)
//   launch, synchronize   the measured medians
//   kernels   fit_gpu_kernels.hpp
//   layers    t0 + batch * t1 of what names a network and a layer; with one batch t0 is 0. The
//             interval: the same line through the low and through the high ends of the medians
// What cannot be fitted is a note, not an error.
#pragma once

#include <string>

#include "calibrate/measure/measurement.hpp"
#include "models/compute/fitted_gpu.hpp"

namespace forescale {

struct GpuFitOptions {
  std::string name = "measured";
  std::uint64_t seed = 1;
  int bootstrap_samples = 200;
};

// Whether a measurement is of a GPU: it has kernels, or patterns that only a GPU has.
bool is_gpu_measurement(const Measurement& measurement);

// InputError naming `source` where there is nothing to fit.
FittedGpu fit_gpu(const Measurement& measurement, const std::string& source,
                  const GpuFitOptions& options);

}  // namespace forescale
