// `forescale calibrate fit` of measurements of GPUs: a GPU model, and how well kernels are
// predicted from others.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/fit_gpu_hold_out.hpp"
#include "cli/command.hpp"

namespace forescale {

struct GpuFitRequest {
  std::vector<std::string> files;
  std::vector<Measurement> measurements;  // of those files
  std::string name;
  std::string out;  // empty: NAME-gpu.json
  bool force = false;
  bool hold_out = false;  // prints the errors; writes a model only where `out` says where
  HoldOutOptions splits;
  OutputOptions output;
  std::string line;  // as typed
};

// Prints, and writes the model. InputError for what cannot be fitted or replaced.
void fit_gpu_measurements(const GpuFitRequest& request);

}  // namespace forescale
