#include <cuda_fp16.h>

#include "calibrate/bench/gpu/cuda_kernels.hpp"

namespace forescale {
namespace {

constexpr int kThreads = 256;

__global__ void empty_kernel() {}

__global__ void gate_kernel(long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

__global__ void add_kernel(float* a, const float* b, std::size_t count) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::size_t quads = count / 4;
  if (i < quads) {
    float4 sum = reinterpret_cast<float4*>(a)[i];
    const float4 term = reinterpret_cast<const float4*>(b)[i];
    sum.x += term.x;
    sum.y += term.y;
    sum.z += term.z;
    sum.w += term.w;
    reinterpret_cast<float4*>(a)[i] = sum;
  }
  const std::size_t rest = 4 * quads + i;
  if (rest < count) a[rest] += b[rest];
}

// A mixing function of 32 bits.
__device__ std::uint32_t mixed(std::uint32_t value) {
  value ^= value >> 16;
  value *= 0x7feb352dU;
  value ^= value >> 15;
  value *= 0x846ca68bU;
  return value ^ (value >> 16);
}

__device__ void store(float* place, float value) { *place = value; }
__device__ void store(__half* place, float value) { *place = __float2half(value); }
// BF16 is the upper half of FP32.
__device__ void store(std::uint16_t* place, float value) {
  *place = static_cast<std::uint16_t>(__float_as_uint(value) >> 16);
}

template <class Value>
__global__ void random_kernel(Value* values, std::size_t count, std::uint32_t seed) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    const std::uint32_t bits = mixed(static_cast<std::uint32_t>(i) ^ seed);
    store(values + i, static_cast<float>(bits >> 8) / 16777216.0F - 0.5F);
  }
}

__global__ void compute_kernel(long long cycles, const int* stop, float* sink) {
  if (*static_cast<const volatile int*>(stop) != 0) return;
  // Of different lengths, so that blocks end one after the other and not in waves.
  const long long own = cycles / 2 + mixed(blockIdx.x) % static_cast<std::uint32_t>(cycles);
  const long long begin = clock64();
  float a = static_cast<float>(threadIdx.x);
  float b = a + 1.0F;
  while (clock64() - begin < own)
#pragma unroll 32
    for (int i = 0; i < 256; ++i) {
      a = a * 0.999F + b;
      b = b * 0.998F + a;
    }
  if (a + b == -1.0F) *sink = a;  // never, but the compiler does not know
}

unsigned blocks_for(std::size_t threads) {
  const std::size_t blocks = (threads + kThreads - 1) / kThreads;
  return static_cast<unsigned>(blocks > 0 ? blocks : 1);
}

}  // namespace

void enqueue_empty(cudaStream_t stream) { empty_kernel<<<1, 1, 0, stream>>>(); }

void enqueue_gate(std::int64_t cycles, cudaStream_t stream) {
  gate_kernel<<<1, 1, 0, stream>>>(cycles);
}

void enqueue_add(float* a, const float* b, std::size_t count, cudaStream_t stream) {
  // At least four threads for what is left over.
  add_kernel<<<blocks_for(count / 4 + 4), kThreads, 0, stream>>>(a, b, count);
}

void enqueue_random(void* values, ValueType type, std::size_t count, std::uint32_t seed,
                    cudaStream_t stream) {
  constexpr std::size_t kBlocksMax = 4096;
  const std::size_t wanted = blocks_for(count);
  const auto blocks = static_cast<unsigned>(wanted < kBlocksMax ? wanted : kBlocksMax);
  if (type == ValueType::kFp32)
    random_kernel<<<blocks, kThreads, 0, stream>>>(static_cast<float*>(values), count, seed);
  else if (type == ValueType::kFp16)
    random_kernel<<<blocks, kThreads, 0, stream>>>(static_cast<__half*>(values), count, seed);
  else
    random_kernel<<<blocks, kThreads, 0, stream>>>(static_cast<std::uint16_t*>(values), count,
                                                   seed);
}

void enqueue_compute(int blocks, std::int64_t cycles, const int* stop, float* sink,
                     cudaStream_t stream) {
  compute_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(cycles, stop, sink);
}

cudaError_t compute_blocks_per_multiprocessor(int* blocks) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, compute_kernel, kThreads, 0);
}

}  // namespace forescale
