#include "calibrate/bench/gpu/gpu_obstacle.hpp"

#include <fmt/format.h>

namespace forescale {

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string gpu_obstacle(const GpuSearch& search) {
  const bool has_failed = !search.error_name.empty();
  if (has_failed && search.driver_version == 0)
    return "no NVIDIA driver was found on this machine (libcuda.so.1)";
  if (search.error_name == "cudaErrorInsufficientDriver")
    return fmt::format(
        "the NVIDIA driver is too old: it supports CUDA up to {}, and forescale-gpu was built with "
        "CUDA {}; install a newer driver, or build with an older toolkit",
        cuda_version_text(search.driver_version), cuda_version_text(search.runtime_version));
  if (search.error_name == "cudaErrorNoDevice" || (!has_failed && search.device_count == 0))
    return fmt::format(
        "no GPU was found: a driver for CUDA {} is installed, and no device answers (is there one, "
        "is its kernel module loaded, does CUDA_VISIBLE_DEVICES hide it?)",
        cuda_version_text(search.driver_version));
  if (has_failed)
    return fmt::format("the GPU cannot be used: {} ({})", search.error_text, search.error_name);
  if (search.device >= search.device_count)
    return fmt::format("there is no GPU {}: this machine has {}, numbered from 0", search.device,
                       search.device_count);
  return "";
}

}  // namespace forescale
