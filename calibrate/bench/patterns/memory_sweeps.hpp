// Work of a host's processor on memory: bytes really read and written, by threads of their own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace forescale {

class MemorySweeps {
 public:
  MemorySweeps() = default;
  ~MemorySweeps();  // finishes what was submitted
  MemorySweeps(const MemorySweeps&) = delete;
  MemorySweeps& operator=(const MemorySweeps&) = delete;

  // Reads half of `bytes` and writes the other half, then calls `finished` on that thread. As many
  // at once as were submitted.
  void submit(double bytes, std::function<void()> finished);

 private:
  struct Sweep {
    double bytes = 0;
    std::function<void()> finished;
  };
  void serve();

  std::mutex mutex_;
  std::condition_variable has_work_;
  std::deque<Sweep> waiting_;
  size_t idle_ = 0;  // threads
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace forescale
