// What forescale-gpu is asked to measure, as JSON:
//   forescale-gpu REQUEST.json ANSWER.json
// {"format": "forescale-gpu-request-1", "device": number, "budget_s": for all of it,
//  "relative_interval": wanted half width of the median's 95 % interval, "samples_max",
//  "layout": "nchw" | "nhwc" of convolutions, "machine", "provenance": {name: text},
//  "series": [{"pattern", "bytes": [growing sizes], "op"}], in the order of importance,
//  "kernels": [as in calibrate/measure/measured_kernel.hpp, without times], likewise}
// The answer is a "forescale-measurement-1" (calibrate/measure/measurement.hpp), written anew as it
// goes.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json_input.hpp"
#include "models/compute/gpu_kernel.hpp"

namespace forescale {

struct GpuSeriesRequest {
  std::string pattern;  // name_of(Pattern)
  std::string op;       // of "collective"
  std::vector<std::int64_t> bytes;
};

struct GpuKernelRequest {
  GpuKernel kernel;
  nlohmann::json entry;  // as it was asked for, to be completed by its time
};

struct GpuRequest {
  int device = 0;
  double budget_s = 60;
  double relative_interval = 0.03;
  int samples_max = 50;
  std::string layout = "nchw";
  std::string machine;
  std::map<std::string, std::string> provenance;
  std::vector<GpuSeriesRequest> series;
  std::vector<GpuKernelRequest> kernels;
};

// InputError with file, JSON pointer, value and constraint.
GpuRequest read_gpu_request(const JsonInput& in);

}  // namespace forescale
