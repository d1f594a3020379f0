// Work on a stream, timed by events on the GPU.
//
// A gate, a kernel that only waits, goes first: what is timed has all been enqueued when it opens,
// so that a small kernel's time is not that of its launch.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdint>
#include <functional>

#include "calibrate/bench/gpu/cuda_resource.hpp"
#include "calibrate/bench/gpu/gpu_bench.hpp"

namespace forescale {

// Seconds of the host's clock.
inline double host_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The current device's highest clock, by which gates are set.
double gpu_clock_hz();

// How many blocks of the compute kernel fill the current device.
int resident_compute_blocks();

class StreamGate {
 public:
  // Enqueues the gate in front of `enqueue`, and this again behind a longer one where it took
  // longer than the gate. `wait` must leave the stream empty.
  void time(const Stream& stream, const std::function<void()>& enqueue,
            const std::function<void()>& wait);

 private:
  double hold_s_ = 50e-6;
  double clock_hz_ = gpu_clock_hz();
};

class GatedWork : public Repeatable {
 public:
  // Enqueues one repetition.
  using Enqueue = std::function<void(const Stream&)>;
  GatedWork() = default;
  explicit GatedWork(Enqueue enqueue) : enqueue_(std::move(enqueue)) {}

  double mean_s(int count) override;

 protected:
  void set_work(Enqueue enqueue) { enqueue_ = std::move(enqueue); }
  const Stream& stream() const { return stream_; }

 private:
  Stream stream_;
  Event begin_;
  Event end_;
  StreamGate gate_;
  Enqueue enqueue_;
};

}  // namespace forescale
