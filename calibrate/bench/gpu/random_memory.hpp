// An operand of a kernel: values of its precision, none of them special.
#pragma once

#include <cstdint>

#include "calibrate/bench/gpu/cuda_kernels.hpp"
#include "calibrate/bench/gpu/cuda_resource.hpp"
#include "models/compute/gpu_kernel.hpp"

namespace forescale {

class RandomMemory {
 public:
  RandomMemory(std::int64_t count, Precision precision, std::uint32_t seed)
      : memory_(static_cast<std::size_t>(count * whole_bytes_a_value(precision))) {
    const ValueType type = precision == Precision::kFp16   ? ValueType::kFp16
                           : precision == Precision::kBf16 ? ValueType::kBf16
                                                           : ValueType::kFp32;
    enqueue_random(memory_.get(), type, static_cast<std::size_t>(count), seed, nullptr);
    check_enqueued("random numbers");
    check_cuda(cudaDeviceSynchronize(), "random numbers");
  }
  void* get() const { return memory_.get(); }

 private:
  DeviceMemory memory_;
};

}  // namespace forescale
