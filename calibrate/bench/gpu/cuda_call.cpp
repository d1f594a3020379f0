#include "calibrate/bench/gpu/cuda_call.hpp"

#include <fmt/format.h>

#include "calibrate/bench/gpu/gpu_bench.hpp"

namespace forescale {
namespace {

GpuTrouble::Kind kind_of(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return GpuTrouble::Kind::kOutOfMemory;
    case cudaErrorNotSupported:
      return GpuTrouble::Kind::kUnsupported;
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorDevicesUnavailable:
      return GpuTrouble::Kind::kUnusable;
    default:
      return GpuTrouble::Kind::kFault;
  }
}

std::string text_of(cudaError_t status, const char* what) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      return "forescale-gpu was not built for this GPU; build again where nvidia-smi shows it, or "
             "with CMAKE_CUDA_ARCHITECTURES set to its compute capability";
    case cudaErrorDevicesUnavailable:
      return "another process has this GPU for itself (its compute mode is exclusive)";
    default:
      return fmt::format("{} failed: {} ({})", what, cudaGetErrorString(status),
                         cudaGetErrorName(status));
  }
}

}  // namespace

void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // forgets it, unless it is one that stays
  throw GpuTrouble(kind_of(status), text_of(status, what));
}

void check_enqueued(const char* what) { check_cuda(cudaGetLastError(), what); }

void library_failed(const std::string& why, bool is_out_of_memory) {
  cudaGetLastError();
  check_cuda(cudaDeviceSynchronize(), why.c_str());
  if (is_out_of_memory) throw GpuTrouble(GpuTrouble::Kind::kOutOfMemory, "out of memory");
  throw GpuTrouble(GpuTrouble::Kind::kUnsupported, why);
}

}  // namespace forescale
