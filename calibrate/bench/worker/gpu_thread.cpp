#include "calibrate/bench/worker/gpu_thread.hpp"

#include <algorithm>
#include <ctime>
#include <mutex>

#include "base/error.hpp"

#ifdef FORESCALE_OPENBLAS
#include <cblas.h>
#endif

namespace forescale {
namespace {

constexpr int kGemmSize = 128;  // 4.2 MFLOP: about 100 us
constexpr std::size_t kGemmElements = std::size_t{kGemmSize} * kGemmSize;

double thread_cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

bool GemmPiece::is_available() {
#ifdef FORESCALE_OPENBLAS
  return true;
#else
  return false;
#endif
}

GemmPiece::GemmPiece() : a_(kGemmElements, 1), b_(kGemmElements, 1), c_(kGemmElements) {
#ifdef FORESCALE_OPENBLAS
  openblas_set_num_threads(1);
#endif
  constexpr int kPieces = 20;
  std::vector<double> times_s;
  for (int repetition = 0; repetition < 5; ++repetition) {
    const double begin_s = thread_cpu_s();
    for (int i = 0; i < kPieces; ++i) run();
    times_s.push_back((thread_cpu_s() - begin_s) / kPieces);
  }
  std::nth_element(times_s.begin(), times_s.begin() + 2, times_s.end());
  cpu_s_ = times_s[2];
}

void GemmPiece::run() {
#ifdef FORESCALE_OPENBLAS
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, kGemmSize, kGemmSize, kGemmSize, 1,
              a_.data(), kGemmSize, b_.data(), kGemmSize, 0, c_.data(), kGemmSize);
#else
  FORESCALE_CHECK(false, "built without OpenBLAS");
#endif
}

GpuThread::GpuThread(EmulatedGpu& gpu, RankLock& lock, std::function<double()> now_s, bool computes)
    : gpu_(gpu), lock_(lock), now_s_(std::move(now_s)), thread_([this, computes] {
        if (computes)
          compute();
        else
          spin();
      }) {}

GpuThread::~GpuThread() {
  {
    const std::lock_guard<RankLock> guard(lock_);
    is_over_ = true;
    has_work_.notify_all();
  }
  thread_.join();
}

// With the lock held; false at the end.
bool GpuThread::wait_for_work() {
  has_work_.wait(lock_, [this] { return is_over_ || !gpu_.is_idle(); });
  return !is_over_;
}

void GpuThread::spin() {
  constexpr double kLook_s = 200e-6;  // kernels may have been added
  const std::lock_guard<RankLock> guard(lock_);
  while (wait_for_work()) {
    const double until_s = std::min(*gpu_.next_end_s(), now_s_() + kLook_s);
    lock_.unlock();
    while (now_s_() < until_s) {
    }
    lock_.lock();
    gpu_.advance(now_s_());
  }
}

// Streams take turns, a piece each.
void GpuThread::compute() {
  GemmPiece piece;
  const std::lock_guard<RankLock> guard(lock_);
  while (wait_for_work()) {
    for (const int stream : gpu_.busy_streams()) {
      lock_.unlock();
      piece.run();
      lock_.lock();
      gpu_.work(now_s_(), stream, piece.cpu_s());
    }
  }
}

}  // namespace forescale
