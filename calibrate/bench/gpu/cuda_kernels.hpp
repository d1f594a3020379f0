// The kernels that the measurements launch: all device code of the project.
//
// Each call enqueues one kernel; errors are left to cudaGetLastError().
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace forescale {

void enqueue_empty(cudaStream_t stream);

// Holds the stream for about so many clock cycles, so that what is enqueued behind it runs without
// waiting for the host.
void enqueue_gate(std::int64_t cycles, cudaStream_t stream);

// a[i] += b[i]; both aligned to 16 bytes.
void enqueue_add(float* a, const float* b, std::size_t count, cudaStream_t stream);

// Values in [-0.5, 0.5), the same for the same seed. Real data: a multiplier of zeros draws less
// power, and runs at a higher clock.
enum class ValueType { kFp32, kFp16, kBf16 };
void enqueue_random(void* values, ValueType type, std::size_t count, std::uint32_t seed,
                    cudaStream_t stream);

// Keeps every multiprocessor full of arithmetic: `blocks` blocks of about `cycles` clock cycles
// each (half as many to one and a half times), as many at a time as fit. Blocks that begin after
// *stop has become 1 end at once.
void enqueue_compute(int blocks, std::int64_t cycles, const int* stop, float* sink,
                     cudaStream_t stream);
// How many blocks of it are resident on a multiprocessor at a time.
cudaError_t compute_blocks_per_multiprocessor(int* blocks);

}  // namespace forescale
