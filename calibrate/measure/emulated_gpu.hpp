// A GPU that takes time and does nothing: kernels of a stream run in order, streams that have one
// share the GPU evenly, as in the simulator.
//
// Knows no clock and no threads: times are handed in, never going back; the caller's lock guards
// it. Driven either by advance(), where time itself is the work, or by work(), where somebody
// does it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "algorithms/worker.hpp"

namespace forescale {

class EmulatedGpu {
 public:
  // Told when a kernel begins (+1) and ends (-1), in the order of time.
  using Change = std::function<void(double at_s, Phase phase, int change)>;

  explicit EmulatedGpu(Change change) : change_(std::move(change)) {}

  // Queues; `finished` is called by advance() or work().
  void launch(double now_s, const Kernel& kernel, std::function<void()> finished);

  // Lets everything happen that ends until then.
  void advance(double now_s);
  // When the next kernel ends if none is added; nothing: the GPU is idle.
  std::optional<double> next_end_s() const;

  // Streams with a kernel.
  std::vector<int> busy_streams() const;
  // `done_s` of the work of the stream's kernel have been done; more or less than it had left
  // counts for the next one.
  void work(double now_s, int stream, double done_s);

  bool is_idle() const { return streams_.empty(); }

 private:
  struct Item {
    double left_s = 0;
    Phase phase = Phase::kForward;
    std::function<void()> finished;
  };
  struct Stream {
    std::deque<Item> queue;  // never empty
  };
  double least_left_s() const;
  // The first kernel of the stream ends; its successor begins. True when the stream is empty now.
  bool end_first(double at_s, Stream& stream);

  Change change_;
  std::map<int, Stream> streams_;  // those that have a kernel
  double at_s_ = 0;                // until which advance() has gone
};

}  // namespace forescale
