#include "calibrate/bench/gpu/cuda_kernels.hpp"
#include "calibrate/bench/gpu/cuda_patterns.hpp"
#include "calibrate/bench/gpu/gated_work.hpp"

namespace forescale {
namespace {

// Many in a row, fewer than a stream takes without waiting.
class Launches : public Repeatable {
 public:
  double mean_s(int count) override {
    const double begin_s = host_s();
    for (int i = 0; i < count; ++i) enqueue_empty(stream_.get());
    const double took_s = host_s() - begin_s;
    check_enqueued("an empty kernel");
    stream_.wait();
    return took_s / count;
  }

 private:
  Stream stream_;
};

// From the return of the launch until the host knows that the kernel has ended.
class Synchronizations : public Repeatable {
 public:
  double mean_s(int count) override {
    double waited_s = 0;
    for (int i = 0; i < count; ++i) {
      enqueue_empty(stream_.get());
      const double begin_s = host_s();
      stream_.wait();
      waited_s += host_s() - begin_s;
    }
    return waited_s / count;
  }

 private:
  Stream stream_;
};

}  // namespace

void warm_up_gpu() {
  constexpr double kLasts_s = 0.5;
  constexpr double kBlock_s = 20e-6;
  constexpr int kWaves = 500;
  const Stream stream;
  const DeviceMemory stop(sizeof(int));
  const DeviceMemory sink(sizeof(float));
  check_cuda(cudaMemset(stop.get(), 0, sizeof(int)), "a fill");
  check_cuda(cudaDeviceSynchronize(), "a fill");
  const int blocks = kWaves * resident_compute_blocks();
  const auto cycles = static_cast<std::int64_t>(kBlock_s * gpu_clock_hz());
  for (const double begin_s = host_s(); host_s() - begin_s < kLasts_s;) {
    enqueue_compute(blocks, cycles, static_cast<const int*>(stop.get()), sink.floats(),
                    stream.get());
    check_enqueued("a compute kernel");
    stream.wait();
  }
}

std::unique_ptr<Repeatable> start_launch(const std::string& pattern) {
  if (pattern == "launch") return std::make_unique<Launches>();
  return std::make_unique<Synchronizations>();
}

}  // namespace forescale
