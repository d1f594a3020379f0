#include "calibrate/bench/gpu/gated_work.hpp"

#include <algorithm>

#include "calibrate/bench/gpu/cuda_kernels.hpp"

namespace forescale {
namespace {

constexpr double kHoldMost_s = 20e-3;

}  // namespace

double gpu_clock_hz() {
  int device = 0;
  int kilohertz = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  check_cuda(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device), "the clock rate");
  return 1e3 * std::max(kilohertz, 1000);
}

int resident_compute_blocks() {
  int device = 0;
  int multiprocessors = 0;
  int blocks = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
             "the number of multiprocessors");
  check_cuda(compute_blocks_per_multiprocessor(&blocks), "the occupancy");
  return multiprocessors * std::max(blocks, 1);
}

void StreamGate::time(const Stream& stream, const std::function<void()>& enqueue,
                      const std::function<void()>& wait) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    enqueue_gate(static_cast<std::int64_t>(hold_s_ * clock_hz_), stream.get());
    check_enqueued("a gate");
    const double begin_s = host_s();
    enqueue();
    const double took_s = host_s() - begin_s;
    wait();
    const bool was_in_time = took_s < hold_s_;
    // Twice what it took; shorter again only slowly, since the host's times scatter.
    hold_s_ = std::min(kHoldMost_s, std::max(2 * took_s + 10e-6, 0.9 * hold_s_));
    if (was_in_time || hold_s_ < took_s) return;
  }
}

double GatedWork::mean_s(int count) {
  double seconds = 0;
  gate_.time(
      stream_,
      [&] {
        begin_.record(stream_);
        for (int i = 0; i < count; ++i) enqueue_(stream_);
        end_.record(stream_);
      },
      [&] { seconds = end_.seconds_since(begin_); });
  return seconds / count;
}

}  // namespace forescale
