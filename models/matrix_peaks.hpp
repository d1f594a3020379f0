// What a GPU's matrix units reach by precision, from its file in models/hardware/gpus/.
#pragma once

#include "models/compute/gpu_kernel.hpp"
#include "models/hardware.hpp"

namespace forescale {

struct MatrixPeaks {
  FlopsPerSecond fp32;
  FlopsPerSecond tf32;  // 0: has none
  FlopsPerSecond half;  // FP16 or BF16, summed in FP32; 0: has none
  FlopsPerSecond fp8;   // 0: has none
  FlopsPerSecond fp4;   // 0: has none

  // 0: has none. BF16 came with TF32 (NVIDIA A100 Tensor Core GPU Architecture, 2020).
  FlopsPerSecond of(Precision precision) const;
};

MatrixPeaks load_matrix_peaks(const std::string& gpu, const std::string& option,
                              Provenance* provenance);
// FP32's alone of a GPU that has no file.
MatrixPeaks peaks_of(const GpuModel& gpu);

}  // namespace forescale
