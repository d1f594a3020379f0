// What CUDA gives and wants back: memory, streams, events.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "calibrate/bench/gpu/cuda_call.hpp"

namespace forescale {

// On the current device. GpuTrouble (kOutOfMemory) where it does not fit.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) {
    check_cuda(cudaMalloc(&place_, bytes > 0 ? bytes : 1), "cudaMalloc");
  }
  ~DeviceMemory() { cudaFree(place_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  void* get() const { return place_; }
  float* floats() const { return static_cast<float*>(place_); }

 private:
  void* place_ = nullptr;
};

// Page-locked memory of the host, which GPUs can read and write too.
class PinnedMemory {
 public:
  explicit PinnedMemory(std::size_t bytes) {
    check_cuda(cudaHostAlloc(&place_, bytes > 0 ? bytes : 1, cudaHostAllocMapped), "cudaHostAlloc");
  }
  ~PinnedMemory() { cudaFreeHost(place_); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  void* get() const { return place_; }

 private:
  void* place_ = nullptr;
};

// On the current device; does not wait for the default stream.
class Stream {
 public:
  enum class Priority { kOrdinary, kHighest };
  explicit Stream(Priority priority = Priority::kOrdinary) {
    int least = 0;
    int greatest = 0;
    check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "stream priorities");
    check_cuda(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking,
                                            priority == Priority::kHighest ? greatest : least),
               "cudaStreamCreate");
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }
  void wait() const { check_cuda(cudaStreamSynchronize(stream_), "a measurement"); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { check_cuda(cudaEventCreate(&event_), "cudaEventCreate"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  cudaEvent_t get() const { return event_; }
  void record(const Stream& stream) const {
    check_cuda(cudaEventRecord(event_, stream.get()), "cudaEventRecord");
  }
  void be_awaited_by(const Stream& stream) const {
    check_cuda(cudaStreamWaitEvent(stream.get(), event_, 0), "cudaStreamWaitEvent");
  }
  // Waits for both.
  double seconds_since(const Event& begin) const {
    check_cuda(cudaEventSynchronize(event_), "a measurement");
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin.event_, event_), "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace forescale
