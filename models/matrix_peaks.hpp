// What a GPU's matrix units reach by precision, from its file in models/hardware/gpus/.
#pragma once

#include "models/hardware.hpp"

namespace forescale {

struct MatrixPeaks {
  FlopsPerSecond fp32;
  FlopsPerSecond tf32;  // 0: has none
  FlopsPerSecond half;  // FP16 or BF16, summed in FP32; 0: has none
};

MatrixPeaks load_matrix_peaks(const std::string& gpu, const std::string& option,
                              Provenance* provenance);

}  // namespace forescale
