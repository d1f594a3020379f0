// Why no GPU can be used, in words that say what to do.
#pragma once

#include <string>

namespace forescale {

// What the CUDA runtime said when it was asked for GPUs first.
struct GpuSearch {
  std::string error_name = {};  // "cudaErrorNoDevice"; empty: none
  std::string error_text = {};
  int driver_version = 0;  // the newest CUDA that the driver supports, 1000 major + 10 minor; 0: no
                           // driver was found
  int runtime_version = 0;  // of the CUDA that this program was built with
  int device_count = 0;
  int device = 0;  // the one that is wanted
};

// Empty if there is none.
std::string gpu_obstacle(const GpuSearch& search);

std::string cuda_version_text(int version);  // 11080 -> "11.8"

}  // namespace forescale
