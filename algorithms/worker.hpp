// A training schedule's view of its rank: one thread of one rank, on whatever runs it.
//
// The simulator and the MPI executor stand behind this interface; a schedule knows neither. All
// calls come from the thread that the Worker belongs to. Times are seconds since the start.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "algorithms/collective.hpp"

namespace forescale {

// What a piece of work or a wait is for. Also how an iteration's time is accounted.
enum class Phase { kForward, kBackward, kUpdate, kPropagation, kAggregation };
inline constexpr int kPhaseCount = 5;
const char* name_of(Phase phase);

// Something that will be complete: a kernel, a collective, a thread, a signal.
class Pending {
 public:
  virtual ~Pending() = default;
};
using Request = std::shared_ptr<Pending>;

struct Kernel {
  int stream = 0;  // kernels of one stream run in order; streams share the GPU
  double duration_s = 0;
  Phase phase = Phase::kForward;
  std::string label;
};

struct CollectiveStep {
  CollectiveOp op = CollectiveOp::kReduce;
  std::int64_t bytes = 0;
  int root = 0;
  // Which duplicate of the world communicator. Operations on one communicator match in the order
  // in which each rank starts them, as in MPI.
  int communicator = 0;
  Phase phase = Phase::kAggregation;
  std::string label;
};

class Worker {
 public:
  virtual ~Worker() = default;

  virtual int rank() const = 0;
  virtual int rank_count() const = 0;
  virtual double now_s() const = 0;

  // Queue a kernel on the rank's GPU; returns at once.
  virtual Request launch(const Kernel& kernel) = 0;
  // Start a non-blocking collective on the rank's buffers; returns at once.
  virtual Request start(const CollectiveStep& step) = 0;
  // Block this thread until done. Waiting for a collective is a communication call: where a stack
  // progresses only inside calls, this is when it does. Waiting for anything else is not.
  virtual void wait(const Request& request) = 0;

  // A helper thread of the same rank; the request is complete when its function returns.
  virtual Request spawn(std::function<void(Worker&)> thread) = 0;
  // A flag between the threads of a rank: wait(signal) returns once set(signal) was called.
  virtual Request make_signal() = 0;
  virtual void set(const Request& signal) = 0;

  // The main thread has finished a training iteration.
  virtual void end_iteration() = 0;

  void run(const Kernel& kernel) { wait(launch(kernel)); }
  void run(const CollectiveStep& step) { wait(start(step)); }
};

}  // namespace forescale
