// What a traced kernel would take on another GPU: a roofline with one side a kernel, by its name.
//
// Kernels that multiply matrices (GEMM, convolution, attention) take as long as the peaks of their
// arithmetic say, all others as memory's bandwidth says: time' = floor + (time - floor) * ratio. A
// kernel is on one side only; what is on both lies between, which is the range. Host work, copies
// and the choice of kernels stay. Source: Williams, Waterman, Patterson, CACM 2009.
#pragma once

#include <string>
#include <string_view>

#include "models/matrix_peaks.hpp"

namespace forescale {

enum class RooflineSide {
  kMemory,
  kMatrix,  // FP32
  kMatrixTf32,
  kMatrixHalf,  // FP16, BF16
};

// By the names of CUDA's, cuBLAS', cuDNN's and CUTLASS' kernels.
RooflineSide side_of_kernel(std::string_view name);

class KernelScaling {
 public:
  // `scenario`: all kernels at their likely, or at the smallest or largest of the four ratios.
  // `traced` and `wanted` are names or files of GPU models.
  KernelScaling(const std::string& traced, const std::string& wanted, Scenario scenario);

  // InputError naming --gpu where a GPU lacks the peak of the kernel's arithmetic.
  double scaled_s(const std::string& kernel, double duration_s) const;

 private:
  double ratio_of(RooflineSide kind) const;

  struct Gpu {
    std::string name;
    double memory_bytes_per_s;
    MatrixPeaks peaks;
  };
  static Gpu load(const std::string& name, const std::string& option);

  Gpu traced_;
  Gpu wanted_;
  Scenario scenario_;
};

// The model among models/hardware/gpus all words of whose name are in what the driver calls the
// GPU, that of most words: "Tesla V100-SXM2-16GB" -> "v100-sxm2". Empty when there is none.
std::string gpu_model_of(const std::string& driver_name);

}  // namespace forescale
