// The thread of a rank that keeps a core busy while the rank's emulated GPU computes: by spinning,
// or by matrix products that do the kernels' work.
#pragma once

#include <condition_variable>
#include <functional>
#include <thread>
#include <vector>

#include "calibrate/bench/worker/rank_lock.hpp"
#include "calibrate/measure/emulated_gpu.hpp"

namespace forescale {

// One single-precision matrix product of a fixed size, and the CPU time that it takes.
class GemmPiece {
 public:
  GemmPiece();  // measures
  void run();
  double cpu_s() const { return cpu_s_; }
  // Whether this program was built with OpenBLAS.
  static bool is_available();

 private:
  std::vector<float> a_;
  std::vector<float> b_;
  std::vector<float> c_;
  double cpu_s_ = 0;
};

class GpuThread {
 public:
  // `lock` guards `gpu`, whose times are those of `now_s`.
  GpuThread(EmulatedGpu& gpu, RankLock& lock, std::function<double()> now_s, bool computes);
  ~GpuThread();
  GpuThread(const GpuThread&) = delete;
  GpuThread& operator=(const GpuThread&) = delete;

  void launched() { has_work_.notify_all(); }  // with the lock held

 private:
  void spin();
  void compute();
  bool wait_for_work();

  EmulatedGpu& gpu_;
  RankLock& lock_;
  std::function<double()> now_s_;
  std::condition_variable_any has_work_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace forescale
