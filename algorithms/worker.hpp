// A training schedule's view of its rank: one thread of one rank, on whatever runs it.
//
// The simulator and the MPI executor stand behind this interface; a schedule knows neither. All
// calls come from the thread that the Worker belongs to. Times are seconds since the start.
//
// Threads of one rank never run at the same time. One runs until it ends or calls wait(),
// wait_any(), test(), run(), set() or spawn(): there others of its rank may run before it goes on.
// All other calls return to it at once. What a schedule does between two of those six is
// therefore one step for the other threads: schedules hold no locks and share plain variables.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/collective.hpp"
#include "algorithms/phase.hpp"
#include "models/compute/gpu_kernel.hpp"

namespace forescale {

// Something that will be complete: a kernel, a collective, a message, a thread, a signal.
class Pending {
 public:
  virtual ~Pending() = default;
};
using Request = std::shared_ptr<Pending>;

// What the operator asked for that launched a kernel: one shape, or those of both gradients.
using KernelWork = std::vector<GpuKernel>;

struct Kernel {
  int stream = 0;  // kernels of one stream run in order; streams share the GPU
  double duration_s = 0;
  Phase phase = Phase::kForward;
  std::string label;
  std::shared_ptr<const KernelWork> work = nullptr;  // nothing: not known
};

// Ranks of the world in the order of a communicator; nothing: all workers.
using RankGroup = std::shared_ptr<const std::vector<int>>;

struct CollectiveStep {
  CollectiveOp op = CollectiveOp::kReduce;
  std::int64_t bytes = 0;
  int root = 0;  // index in the group
  // Which duplicate of the group's communicator. Operations on one communicator match in the order
  // in which each rank starts them, as in MPI.
  int communicator = 0;
  Phase phase = Phase::kAggregation;
  std::string label;
  RankGroup group = nullptr;
  bool on_host = false;    // buffers in host memory
  std::int64_t value = 0;  // a number that rides along; value() of the request is the least
  bool control = false;    // negotiation: not counted as payload
  // A send with its receive that GPUs carry out in their streams' order, as the broadcast of two
  // ranks that it is.
  bool is_message = false;
};

// One message between two ranks. Matched first in, first out by (source, destination, tag).
struct MessageStep {
  int peer = 0;
  std::int64_t bytes = 0;
  int tag = 0;
  Phase phase = Phase::kAggregation;
  std::string label;
  bool on_host = false;    // buffers in host memory; a server's always are
  std::int64_t value = 0;  // a number that rides along
  bool control = false;    // request, notification: not counted as payload
};

// Work of one CPU thread: at least `duration_s`, and `memory_bytes` read and written, which all
// that runs on the host share.
struct HostWork {
  double duration_s = 0;
  double memory_bytes = 0;
  Phase phase = Phase::kAggregation;
  std::string label;
};

// A copy between the rank's GPU and its host, on the copy engine of that direction.
struct HostCopy {
  std::int64_t bytes = 0;
  bool to_host = true;
  Phase phase = Phase::kAggregation;
  std::string label;
};

// Time that passes whatever else happens, and what it stands for where a trace says so.
struct Timer {
  enum class For : std::uint8_t {
    kTimer,
    kCopy,           // between GPU and host, as measured
    kLaunch,         // from the host's call to the beginning of what it launched
    kGap,            // between two tasks of a stream
    kCommunication,  // as measured, where nothing says how much was moved
    kCorrection,     // of a collective that took longer than the stack says (--calibrate)
    kOtherRanks,     // of a collective, in the trace of one rank (--traced-platform)
    kUnexplained     // nothing in the trace says what was waited for
  };
  double delay_s = 0;
  For what = For::kTimer;
};
inline constexpr std::array kTimersFor{Timer::For::kTimer,         Timer::For::kCopy,
                                       Timer::For::kLaunch,        Timer::For::kGap,
                                       Timer::For::kCommunication, Timer::For::kCorrection,
                                       Timer::For::kOtherRanks,    Timer::For::kUnexplained};
const char* name_of(Timer::For what);  // "launch latency"

class Worker {
 public:
  virtual ~Worker() = default;

  // Ranks [0, worker_count()) train; those from there on are the schedule's servers, without GPU.
  virtual int rank() const = 0;
  virtual int rank_count() const = 0;
  virtual int worker_count() const = 0;
  virtual int node(int rank) const = 0;  // equal numbers share a node
  virtual double now_s() const = 0;

  // Queue a kernel on the rank's GPU; returns at once.
  virtual Request launch(const Kernel& kernel) = 0;
  // Start a non-blocking collective on the rank's buffers; returns at once.
  virtual Request start(const CollectiveStep& step) = 0;
  // Start a message; returns at once. A send is complete when its buffer may be used again.
  virtual Request send(const MessageStep& step) = 0;
  virtual Request receive(const MessageStep& step) = 0;
  // One-sided write with notification: the target takes no part; its receive() of the same tag is
  // the wait for the notification.
  virtual Request put(const MessageStep& step) = 0;
  virtual Request start(const HostWork& work) = 0;
  virtual Request start(const HostCopy& copy) = 0;
  virtual Request start(const Timer& timer) = 0;
  Request timer(double delay_s) { return start(Timer{.delay_s = delay_s}); }
  // The rank's share of the next iteration's training data. Called at most once an iteration,
  // before its first forward kernel; a rank that never calls it (a pipeline's stages but the
  // first) has no data read for it.
  virtual Request next_batch() = 0;

  // Block this thread until done. Waiting for a collective or a message is a communication call:
  // where a stack progresses only inside calls, this is when it does. Waiting for anything else is
  // not.
  virtual void wait(const Request& request) = 0;
  // Block until one of them is done; at least one request. Counts as a wait for the first.
  virtual void wait_any(const std::vector<Request>& requests) = 0;
  // Whether it is complete; a moment of progress where a stack progresses only inside calls.
  virtual bool test(const Request& request) = 0;
  // What rode along: the sender's value of a complete receive, the least of a complete collective.
  virtual std::int64_t value(const Request& request) const = 0;

  // A helper thread of the same rank; the request is complete when its function returns.
  virtual Request spawn(std::function<void(Worker&)> thread) = 0;
  // A flag between the threads of a rank: wait(signal) returns once set(signal) was called.
  virtual Request make_signal() = 0;
  virtual void set(const Request& signal) = 0;

  // The main thread has finished a training iteration.
  virtual void end_iteration() = 0;

  void run(const Kernel& kernel) { wait(launch(kernel)); }
  void run(const CollectiveStep& step) { wait(start(step)); }
  void run(const HostWork& work) { wait(start(work)); }
  void run(const HostCopy& copy) { wait(start(copy)); }
};

}  // namespace forescale
