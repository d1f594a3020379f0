// Kernels of NVIDIA's libraries: matrix products by cuBLAS, convolutions by cuDNN.
//
// fp32 keeps to FP32 arithmetic, tf32 rounds FP32 operands for tensor cores, fp16 and bf16 are the
// types of all operands with sums in FP32. GpuTrouble (kUnsupported) for what the GPU cannot do.
#pragma once

#include <memory>
#include <string>

#include "calibrate/bench/gpu/gpu_bench.hpp"

namespace forescale {

// One handle of a library, on the current device.
class KernelLibrary {
 public:
  KernelLibrary() = default;
  virtual ~KernelLibrary() = default;
  KernelLibrary(const KernelLibrary&) = delete;
  KernelLibrary& operator=(const KernelLibrary&) = delete;
  virtual std::string version() const = 0;
  virtual std::unique_ptr<Repeatable> start(const GpuKernel& kernel) = 0;
};

std::unique_ptr<KernelLibrary> open_cublas();
// Null where this program was built without cuDNN. `layout` is "nchw" or "nhwc".
std::unique_ptr<KernelLibrary> open_cudnn(const std::string& layout);

// kUnsupported where the current device has no tensor cores for it.
void require_precision(Precision precision);

}  // namespace forescale
