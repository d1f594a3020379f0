#include "calibrate/bench/patterns/memory_sweeps.hpp"

#include <algorithm>
#include <cstring>

namespace forescale {
namespace {

// From and to: together more than a core's share of the caches.
constexpr size_t kBlock = 8 << 20;

}  // namespace

MemorySweeps::~MemorySweeps() {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    is_over_ = true;
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void MemorySweeps::submit(double bytes, std::function<void()> finished) {
  const std::lock_guard<std::mutex> guard(mutex_);
  waiting_.push_back({.bytes = bytes, .finished = std::move(finished)});
  if (waiting_.size() > idle_) threads_.emplace_back([this] { serve(); });
  has_work_.notify_one();
}

void MemorySweeps::serve() {
  std::vector<char> from(kBlock, 1);
  std::vector<char> to(kBlock, 2);
  std::unique_lock<std::mutex> guard(mutex_);
  for (;;) {
    ++idle_;
    has_work_.wait(guard, [this] { return is_over_ || !waiting_.empty(); });
    --idle_;
    if (waiting_.empty()) return;
    const Sweep sweep = std::move(waiting_.front());
    waiting_.pop_front();
    guard.unlock();
    for (double left = sweep.bytes / 2; left > 0; left -= static_cast<double>(kBlock))
      std::memcpy(to.data(), from.data(),
                  static_cast<size_t>(std::min(left, static_cast<double>(kBlock))));
    sweep.finished();
    guard.lock();
  }
}

}  // namespace forescale
