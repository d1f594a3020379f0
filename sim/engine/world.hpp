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
//
// SimGrid comes in with the first World: it is half of the time and two thirds of the memory of the
// program's start (docs/performance.md), and much is answered without it. simgrid/ is a library of
// its own for that.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace forescale {

struct SharedCapacity;
using SimLink = SharedCapacity*;

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

// Where actors stand still.
class Semaphore {
 public:
  Semaphore() = default;
  virtual ~Semaphore() = default;
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;
  virtual void acquire() = 0;
  virtual void release() = 0;
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
  std::unique_ptr<Semaphore> semaphore_;        // made when somebody waits
  std::vector<std::weak_ptr<Gate>> followers_;  // opened with this one
};

enum class SharingSolver { kLazy, kFull };

class World {
 public:
  World() = default;
  virtual ~World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Before run(), or in kernel context.
  virtual SimLink add_link(double bandwidth_bytes_per_s) = 0;
  // Does 1 s of work a second on each core; a task runs on one.
  virtual int add_processor(int cores) = 0;

  virtual double now_s() const = 0;

  // Runs `action` after `delay_s` (>= 0); equal times keep the order of the calls.
  virtual void after(double delay_s, std::function<void()> action) = 0;
  // Runs `action` in kernel context: at once if there already, else at this very instant, in order.
  virtual void in_kernel(std::function<void()> action) = 0;
  // Actions by these two so far: as long as nobody has added one, one more would come right behind.
  virtual std::uint64_t actions_added() const = 0;

  // Kernel context only. The route's vector must live until completion.
  virtual void start_flow(const std::vector<SimLink>& route, double bytes,
                          Completion* completion) = 0;
  virtual void start_task(int processor, double work_s, Completion* completion) = 0;

  // Whether some flow or task was slowed by another so far.
  virtual bool has_shared() const = 0;

  // Calls `observer` with the route, the bytes and the beginning of every flow that ends well.
  using FlowObserver =
      std::function<void(std::span<const SimLink> route, double bytes, double begin_s)>;
  virtual void observe_flows(FlowObserver observer) = 0;

  // Takes a link down after `delay_s`.
  virtual void fail_link(SimLink link, double delay_s) = 0;

  // A thread of control. Its function must not throw.
  virtual void spawn(const std::string& name, std::function<void()> body) = 0;

  // Stops the simulation with a reason; the first one counts.
  virtual void stop(const std::string& reason) = 0;

  // Runs until nothing is left to do. Throws SimulationStuck with the reason given to stop(), or
  // with `describe_stuck()` (asked while the stuck actors still exist) when actors are left over.
  virtual void run(const std::function<std::string()>& describe_stuck) = 0;
};

// For about so many threads: the stacks of very many have no guard pages, of which the kernel maps
// too few.
std::unique_ptr<World> make_world(SharingSolver solver = SharingSolver::kLazy, int threads = 0);

// Before processes are forked that each make one: they share it then. InputError where the library
// is not there.
void load_simgrid();

}  // namespace forescale
