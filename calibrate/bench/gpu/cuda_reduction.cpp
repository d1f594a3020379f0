#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/bench/gpu/cuda_kernels.hpp"
#include "calibrate/bench/gpu/cuda_patterns.hpp"
#include "calibrate/bench/gpu/gated_work.hpp"
#include "calibrate/bench/gpu/reduction_check.hpp"

namespace forescale {
namespace {

// Larger reductions are compared in so many values at each end.
constexpr std::size_t kComparedMax = std::size_t{1} << 19;

class Sum {
 public:
  explicit Sum(std::size_t count)
      : count_(count), a_(count * sizeof(float)), b_(count * sizeof(float)) {
    enqueue_random(a_.get(), ValueType::kFp32, count, 1, nullptr);
    enqueue_random(b_.get(), ValueType::kFp32, count, 2, nullptr);
    check_enqueued("random numbers");
    check_cuda(cudaDeviceSynchronize(), "random numbers");
  }
  void enqueue(const Stream& stream) const {
    enqueue_add(a_.floats(), b_.floats(), count_, stream.get());
  }

  // One sum of known values, compared with the CPU's.
  void check() const {
    const std::size_t compared = std::min(count_, kComparedMax);
    const std::vector<float> a = reduction_values(compared, 17);
    const std::vector<float> b = reduction_values(compared, 29);
    for (const std::size_t begin : {std::size_t{0}, count_ - compared}) {
      put(a, a_.floats() + begin);
      put(b, b_.floats() + begin);
      const Stream stream;
      enqueue(stream);
      check_enqueued("a reduction");
      stream.wait();
      std::vector<float> sums(compared);
      check_cuda(cudaMemcpy(sums.data(), a_.floats() + begin, compared * sizeof(float),
                            cudaMemcpyDeviceToHost),
                 "a copy");
      const std::string wrong = wrong_sum(a, b, sums);
      if (!wrong.empty())
        throw GpuTrouble(
            GpuTrouble::Kind::kFault,
            fmt::format("the reduction of {} values is wrong at {}: {}", count_, begin, wrong));
    }
  }

 private:
  static void put(const std::vector<float>& values, float* place) {
    check_cuda(
        cudaMemcpy(place, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice),
        "a copy");
  }

  std::size_t count_;
  DeviceMemory a_;
  DeviceMemory b_;
};

class Reduction : public GatedWork {
 public:
  explicit Reduction(std::size_t count) : sum_(count) {
    sum_.check();
    set_work([this](const Stream& stream) { sum_.enqueue(stream); });
  }

 private:
  Sum sum_;
};

// The reductions' blocks go first wherever one of the compute kernel's ends; in a stream of the
// same priority they would wait until that kernel has no more blocks to start.
class BusyReduction : public Repeatable {
 public:
  explicit BusyReduction(std::size_t count)
      : sum_(count),
        stop_value_(sizeof(int)),
        stop_(sizeof(int)),
        sink_(sizeof(float)),
        reductions_(Stream::Priority::kHighest) {
    sum_.check();
  }

  double mean_s(int count) override {
    while (true) {
      const bool is_last = lasts_s_ >= kLastsMost_s;
      const auto seconds = attempt(count);
      if (seconds >= 0) return seconds / count;
      if (is_last)
        throw GpuTrouble(GpuTrouble::Kind::kUnsupported,
                         "the compute kernel always ended before the reductions beside it");
      lasts_s_ = std::min(kLastsMost_s, 4 * lasts_s_);
    }
  }
  int count_max() const override { return 64; }

 private:
  static constexpr double kBlock_s = 20e-6;  // as long as those of matrix products
  static constexpr double kLastsMost_s = 4;

  // Negative where the compute kernel ended first.
  double attempt(int count) {
    set_stop(0);
    const auto blocks = static_cast<int>(std::min(lasts_s_ / kBlock_s * resident_blocks_, 2e9));
    enqueue_compute(blocks, static_cast<std::int64_t>(kBlock_s * gpu_clock_hz()),
                    static_cast<const int*>(stop_.get()), sink_.floats(), compute_.get());
    check_enqueued("a compute kernel");
    double seconds = 0;
    gate_.time(
        reductions_,
        [&] {
          begin_.record(reductions_);
          for (int i = 0; i < count; ++i) sum_.enqueue(reductions_);
          end_.record(reductions_);
        },
        [&] { seconds = end_.seconds_since(begin_); });
    const bool still_computes = cudaStreamQuery(compute_.get()) == cudaErrorNotReady;
    check_enqueued_or_not_ready();
    set_stop(1);
    compute_.wait();
    return still_computes ? seconds : -1;
  }

  // By a copy engine, which the compute kernel leaves free.
  void set_stop(int value) {
    *static_cast<int*>(stop_value_.get()) = value;
    check_cuda(cudaMemcpyAsync(stop_.get(), stop_value_.get(), sizeof(int), cudaMemcpyHostToDevice,
                               control_.get()),
               "a copy");
    control_.wait();
  }

  static void check_enqueued_or_not_ready() {
    const cudaError_t status = cudaGetLastError();
    if (status != cudaErrorNotReady) check_cuda(status, "reductions beside a kernel");
  }

  Sum sum_;
  PinnedMemory stop_value_;
  DeviceMemory stop_;
  DeviceMemory sink_;
  Stream control_;
  Stream compute_;
  Stream reductions_;
  Event begin_;
  Event end_;
  StreamGate gate_;
  double lasts_s_ = 5e-3;
  int resident_blocks_ = resident_compute_blocks();
};

}  // namespace

std::unique_ptr<Repeatable> start_reduction(std::size_t bytes, bool beside_kernel) {
  const std::size_t count = bytes / sizeof(float);
  if (beside_kernel) return std::make_unique<BusyReduction>(count);
  return std::make_unique<Reduction>(count);
}

void check_odd_reductions() {
  for (const std::size_t count : {1, 2, 3, 5, 255, 1023, 1025, 4097, 1048579}) Sum(count).check();
}

}  // namespace forescale
