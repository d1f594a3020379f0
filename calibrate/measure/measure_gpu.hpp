// What `forescale calibrate measure --gpu` asks of forescale-gpu: copies, launches and reductions,
// then every matrix product and convolution of networks; and the measurement that comes back.
//
// In the order of importance, because the budget ends it: launch, pinned copies and reduction come
// first; of the kernels the networks in their order, each in its precisions (the first first), each
// with its batches. Kernels that several layers or networks have are timed once, named after the
// first.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "calibrate/measure/measure.hpp"
#include "models/compute/gpu_kernel.hpp"

namespace forescale {

// How forescale-gpu's error lines begin.
inline constexpr const char* kGpuFailureLine = "forescale-gpu: ";

struct GpuMeasureOptions {
  int device = 0;
  double budget_s = 60;
  std::int64_t bytes_max = 256 << 20;
  bool measures_patterns = true;
  std::vector<Pattern> patterns = {};      // empty: all
  std::vector<std::string> networks = {};  // of measurable_networks()
  std::vector<std::int64_t> batches = {1, 8, 32};
  std::vector<Precision> precisions = {Precision::kFp32, Precision::kTf32, Precision::kFp16,
                                       Precision::kBf16};
  std::string layout = "nchw";      // of convolutions: "nchw" or "nhwc"
  double relative_interval = 0.03;  // half width of the median's interval that is enough
  int samples_max = 50;
  std::string machine = {};                            // for people
  std::map<std::string, std::string> provenance = {};  // besides what the program finds out
};

// The patterns of one GPU or several, in the order in which they are measured.
const std::vector<Pattern>& measurable_patterns();
// The zoo's and those of calibrate/fit/matrix_layers.hpp, those with the fewest distinct kernels
// first.
std::vector<std::string> measurable_networks();

// InputError naming --budget, --max-bytes, --networks or --batches.
std::string gpu_request(const GpuMeasureOptions& options);

// forescale-gpu in the folder of `beside`. InputError saying what it needs to be built when it is
// not there.
std::string gpu_program(const std::string& beside = "/proc/self/exe");

// InputError where no GPU can be used.
MeasureOutcome measure_gpu(const std::vector<std::string>& program,
                           const GpuMeasureOptions& options,
                           const std::function<void(const std::string&)>& on_progress);

}  // namespace forescale
