// The simulated world: time, shared capacities and actors, on SimGrid.
//
// Bytes flow over any set of links at exact max-min shares; work runs on processors that their
// tasks share evenly. Links have no latency of their own: every delay is a timer, so that it can
// start when a message has been matched (settings and reasons: docs/simgrid.md). Routes do not live
// in SimGrid: the one zone of this world asks for the route of the flow that is being started, so a
// message may take any set of links, and no routing table grows with the cluster.
//
// One World per process (SimGrid's limit). Kernel context = timers and completion callbacks;
// actors = the threads of ranks. Everything below may be called from both unless stated.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace simgrid::kernel::resource {
class StandardLinkImpl;
}

namespace forescale {

using SimLink = simgrid::kernel::resource::StandardLinkImpl*;

// Told once when a flow or a task has finished.
class Completion {
 public:
  virtual void complete() = 0;
  // A link on the way failed.
  virtual void failed() { complete(); }

 protected:
  ~Completion() = default;
};

// Runs what was last put into `then`, once.
class Continuation final : public Completion {
 public:
  void complete() override {
    const auto next = std::move(then);
    next();
  }
  std::function<void()> then;
};

// What one thread waits for and others set off. Level-triggered: waiting after open() returns at
// once.
class Gate {
 public:
  Gate();
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  bool is_open() const { return open_; }
  void open();
  void also_open(const std::shared_ptr<Gate>& other);  // when this one, which is closed, opens
  void wait();                                         // actors only

 private:
  bool open_ = false;
  struct Semaphore;
  std::unique_ptr<Semaphore> semaphore_;        // made when somebody waits
  std::vector<std::weak_ptr<Gate>> followers_;  // opened with this one
};

enum class SharingSolver { kLazy, kFull };

class World {
 public:
  explicit World(SharingSolver solver = SharingSolver::kLazy);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Before run(), or in kernel context.
  SimLink add_link(const std::string& name, double bandwidth_bytes_per_s);
  // Does 1 s of work a second on each core; a task runs on one.
  int add_processor(const std::string& name, int cores = 1);

  double now_s() const;

  // Runs `action` after `delay_s` (>= 0); equal times keep the order of the calls.
  void after(double delay_s, std::function<void()> action);
  // Runs `action` in kernel context: at once if there already, else at this very instant, in order.
  void in_kernel(std::function<void()> action);

  // Kernel context only. The route's vector must live until completion.
  void start_flow(const std::vector<SimLink>& route, double bytes, Completion* completion);
  void start_task(int processor, double work_s, Completion* completion);

  // Calls `observer` with the route, the bytes and the beginning of every flow that ends well.
  using FlowObserver =
      std::function<void(const std::vector<SimLink>& route, double bytes, double begin_s)>;
  void observe_flows(FlowObserver observer);

  // Takes a link down after `delay_s`.
  void fail_link(SimLink link, double delay_s);

  // A thread of control. Its function must not throw.
  void spawn(const std::string& name, std::function<void()> body);

  // Stops the simulation with a reason; the first one counts.
  void stop(const std::string& reason);

  // Runs until nothing is left to do. Throws SimulationStuck with the reason given to stop(), or
  // with `describe_stuck()` (asked while the stuck actors still exist) when actors are left over.
  void run(const std::function<std::string()>& describe_stuck);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace forescale
