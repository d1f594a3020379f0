// Calls into CUDA: a failed one becomes a GpuTrouble.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace forescale {

// `what` was tried. Throws unless `status` is cudaSuccess.
void check_cuda(cudaError_t status, const char* what);
// After kernels were enqueued.
void check_enqueued(const char* what);

// A library (cuBLAS, cuDNN, NCCL) said `why`: a fault if the GPU does not answer any more, else out
// of memory where `is_out_of_memory`, else unsupported.
[[noreturn]] void library_failed(const std::string& why, bool is_out_of_memory);

}  // namespace forescale
