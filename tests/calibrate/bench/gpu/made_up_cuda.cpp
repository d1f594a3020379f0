// A CUDA runtime and a cuBLAS without a GPU, for the host's side of forescale-gpu: memory is the
// host's, everything is done at once in the caller's thread, events are the host's clock. What the
// variables MADE_UP_... say goes wrong.
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

#include "calibrate/bench/gpu/cuda_kernels.hpp"

namespace {

double number(const char* variable, double otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atof(text);
}

struct MadeUpCuda {
  const double gpus = number("MADE_UP_GPUS", 1);
  const double memory_bytes = number("MADE_UP_MEMORY_BYTES", 1e9);
  const double capability = number("MADE_UP_CAPABILITY", 9);
  const double fault_at_product = number("MADE_UP_FAULT_AT_PRODUCT", -1);
  const double wrong_sums_of = number("MADE_UP_WRONG_SUMS_OF", -1);

  std::map<void*, std::size_t> memory;
  std::size_t used_bytes = 0;
  double products = 0;
  int device = 0;
  bool has_fault = false;  // stays, as a real one does
  cudaError_t last = cudaSuccess;
};

MadeUpCuda& cuda() {
  static MadeUpCuda one;
  return one;
}

cudaError_t done(cudaError_t status = cudaSuccess) {
  if (cuda().has_fault) status = cudaErrorIllegalAddress;
  if (status != cudaSuccess) cuda().last = status;
  return status;
}

double& time_of(cudaEvent_t event) { return *reinterpret_cast<double*>(event); }

template <class Handle>
Handle made(void* place) {
  return static_cast<Handle>(place);
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** place, std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  if (static_cast<double>(cuda().used_bytes + bytes) > cuda().memory_bytes)
    return done(cudaErrorMemoryAllocation);
  *place = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  cuda().memory[*place] = bytes;
  cuda().used_bytes += bytes;
  return done();
}
cudaError_t cudaFree(void* place) {
  if (place != nullptr) {
    cuda().used_bytes -= cuda().memory.at(place);
    cuda().memory.erase(place);
    std::free(place);
  }
  return done();
}
cudaError_t cudaHostAlloc(void** place, std::size_t bytes, unsigned) {
  *place = std::malloc(bytes);
  return done();
}
cudaError_t cudaFreeHost(void* place) {
  std::free(place);
  return done();
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return done();
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  std::memcpy(to, from, bytes);
  return done();
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes,
                                cudaStream_t) {
  std::memcpy(to, from, bytes);
  return done();
}
cudaError_t cudaMemset(void* place, int value, std::size_t bytes) {
  std::memset(place, value, bytes);
  return done();
}
cudaError_t cudaMemsetAsync(void* place, int value, std::size_t bytes, cudaStream_t) {
  std::memset(place, value, bytes);
  return done();
}

cudaError_t cudaGetLastError() {
  const cudaError_t last = cuda().last;
  cuda().last = cuda().has_fault ? cudaErrorIllegalAddress : cudaSuccess;
  return last;
}
const char* cudaGetErrorString(cudaError_t) { return "an illegal memory access was encountered"; }
const char* cudaGetErrorName(cudaError_t) { return "cudaErrorIllegalAddress"; }

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(cuda().gpus);
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = cuda().device;
  return done();
}
cudaError_t cudaSetDevice(int device) {
  cuda().device = device;
  return done();
}
cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int) {
  std::snprintf(text, static_cast<std::size_t>(length), "made-up");
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int) {
  *value = 0;
  if (which == cudaDevAttrClockRate) *value = 1'000'000;
  if (which == cudaDevAttrMultiProcessorCount) *value = 4;
  if (which == cudaDevAttrComputeCapabilityMajor) *value = static_cast<int>(cuda().capability);
  return done();
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "made-up");
  return done();
}
cudaError_t cudaDeviceSynchronize() { return done(); }
cudaError_t cudaDeviceCanAccessPeer(int* can_access, int, int) {
  *can_access = 1;
  return done();
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  return done(cudaErrorPeerAccessAlreadyEnabled);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -1;
  return done();
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int) {
  *stream = made<cudaStream_t>(std::malloc(1));
  return done();
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  std::free(stream);
  return done();
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return done(); }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return done(); }
// What only computes never ends by itself.
cudaError_t cudaStreamQuery(cudaStream_t) { return done(cudaErrorNotReady); }

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = made<cudaEvent_t>(std::calloc(1, sizeof(double)));
  return done();
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  std::free(event);
  return done();
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  time_of(event) =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  return done();
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return done(); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = static_cast<float>(1e3 * (time_of(end) - time_of(begin)));
  return done();
}

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = made<cublasHandle_t>(std::malloc(1));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  std::free(handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t) { return CUBLAS_STATUS_SUCCESS; }

// Refuses, as the real one does, rows that are longer than they are said to be apart, and matrices
// that are larger than their memory.
cublasStatus_t cublasGemmEx(cublasHandle_t, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                            int n, int k, const void*, const void* a, cudaDataType type,
                            int apart_a, const void* b, cudaDataType, int apart_b, const void*,
                            void* c, cudaDataType, int apart_c, cublasComputeType_t,
                            cublasGemmAlgo_t) {
  const std::size_t width = type == CUDA_R_32F ? 4 : 2;
  const auto fits = [&](const void* matrix, int rows, int columns, int apart) {
    const std::size_t bytes =
        width * static_cast<std::size_t>(apart) * static_cast<std::size_t>(columns);
    return apart >= rows && cuda().memory.at(const_cast<void*>(matrix)) >= bytes;
  };
  const bool a_fits = op_a == CUBLAS_OP_N ? fits(a, m, k, apart_a) : fits(a, k, m, apart_a);
  const bool b_fits = op_b == CUBLAS_OP_N ? fits(b, k, n, apart_b) : fits(b, n, k, apart_b);
  if (!a_fits || !b_fits || !fits(c, m, n, apart_c)) return CUBLAS_STATUS_INVALID_VALUE;
  if (++cuda().products == cuda().fault_at_product) cuda().has_fault = true;
  std::this_thread::sleep_for(std::chrono::microseconds(20));
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"

namespace forescale {

void enqueue_empty(cudaStream_t) {}
void enqueue_gate(std::int64_t, cudaStream_t) {}
void enqueue_add(float* a, const float* b, std::size_t count, cudaStream_t) {
  for (std::size_t i = 0; i < count; ++i) a[i] += b[i];
  if (static_cast<double>(count) == cuda().wrong_sums_of) a[count - 1] += 1;
}
void enqueue_random(void* values, ValueType type, std::size_t count, std::uint32_t, cudaStream_t) {
  std::memset(values, 0, count * (type == ValueType::kFp32 ? 4 : 2));
}
void enqueue_compute(int, std::int64_t, const int*, float*, cudaStream_t) {
  std::this_thread::sleep_for(std::chrono::microseconds(50));
}
cudaError_t compute_blocks_per_multiprocessor(int* blocks) {
  *blocks = 8;
  return cudaSuccess;
}

}  // namespace forescale
