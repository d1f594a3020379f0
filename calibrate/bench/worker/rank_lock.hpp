// The one lock of a rank: whoever runs a schedule's code or calls MPI holds it, so that threads of
// a rank change places only where they wait, as in the simulator, and MPI sees one thread at a
// time.
//
// First come, first served: a thread that polls in a loop cannot starve the others. Meets what
// std::condition_variable_any asks of a lock.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace forescale {

class RankLock {
 public:
  void lock() {
    std::unique_lock<std::mutex> guard(mutex_);
    const std::uint64_t ticket = next_++;
    turn_.wait(guard, [&] { return serving_ == ticket; });
  }
  void unlock() {
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      ++serving_;
    }
    turn_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable turn_;
  std::uint64_t next_ = 0;
  std::uint64_t serving_ = 0;
};

}  // namespace forescale
