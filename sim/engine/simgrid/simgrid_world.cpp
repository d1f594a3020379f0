#include "sim/engine/simgrid/simgrid_module.hpp"

#include <xbt/log.h>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <queue>
#include <typeinfo>

#include "base/error.hpp"

namespace forescale {
namespace {

namespace sg = simgrid::s4u;
using simgrid::kernel::routing::NetPoint;
using simgrid::kernel::routing::NetZoneImpl;
using simgrid::kernel::routing::Route;
using simgrid::kernel::timer::Timer;

// Linux maps 65,530 areas for a process: two for a stack with its guard.
constexpr int kGuardedThreadsMax = 16384;

// A zone whose route is the one of the flow being started.
class FlowZone : public NetZoneImpl {
 public:
  explicit FlowZone(const std::string& name) : NetZoneImpl(name) {}
  void get_local_route(const NetPoint*, const NetPoint*, ::simgrid::kernel::routing::Route* into,
                       double* /*latency*/) override {
    into->link_list_.insert(into->link_list_.end(), current->begin(), current->end());
  }
  const std::vector<SimLink>* current = nullptr;
};

struct TimedAction {
  double time_s = 0;
  std::uint64_t order = 0;
  mutable std::function<void()> action;  // moved out of the queue's const top()
  bool operator>(const TimedAction& other) const {
    return time_s != other.time_s ? time_s > other.time_s : order > other.order;
  }
};

bool in_kernel_context() { return sg::Actor::is_maestro(); }

class SimGridSemaphore final : public Semaphore {
 public:
  void acquire() override { handle_->acquire(); }
  void release() override { handle_->release(); }

 private:
  sg::SemaphorePtr handle_ = sg::Semaphore::create(0);
};

class SimGridWorld final : public World {
 public:
  SimGridWorld(SharingSolver solver, int threads);
  ~SimGridWorld() override;
  SimGridWorld(const SimGridWorld&) = delete;
  SimGridWorld& operator=(const SimGridWorld&) = delete;

  SimLink add_link(const std::string& name, double bandwidth_bytes_per_s) override;
  int add_processor(const std::string& name, int cores) override;
  double now_s() const override { return sg::Engine::get_clock(); }
  void after(double delay_s, std::function<void()> action) override;
  void in_kernel(std::function<void()> action) override;
  void start_flow(const std::vector<SimLink>& route, double bytes, Completion* completion) override;
  void start_task(int processor, double work_s, Completion* completion) override;
  void observe_flows(FlowObserver observer) override { flow_observer_ = std::move(observer); }
  void fail_link(SimLink link, double delay_s) override;
  void spawn(const std::string& name, std::function<void()> body) override;
  void stop(const std::string& reason) override;
  void run(const std::function<std::string()>& describe_stuck) override;

 private:
  struct Running {
    sg::ActivityPtr activity;
    Completion* completion = nullptr;
    // Of a flow that is observed.
    const std::vector<SimLink>* route = nullptr;
    double bytes = 0;
    double begin_s = 0;
  };

  std::unique_ptr<sg::Engine> engine_;
  FlowZone* zone_ = nullptr;  // the root; owned by the engine
  // Links and processors, made when they are first used: SimGrid seals the root and what is below
  // it when the simulation begins, so this one is beside it, with the root's models.
  FlowZone* things_ = nullptr;
  sg::Host* from_ = nullptr;  // ends of every flow: routes are ours
  sg::Host* to_ = nullptr;
  std::vector<sg::Host*> processors_;
  std::map<SimLink, sg::Link*> links_;
  // Actions by time, those of equal time in the order of the calls; SimGrid's timer is armed for
  // the first.
  std::priority_queue<TimedAction, std::vector<TimedAction>, std::greater<>> actions_;
  std::uint64_t next_order_ = 0;
  double armed_s_ = std::numeric_limits<double>::infinity();
  bool running_actions_ = false;
  // Never release the last pointer to an activity inside its own callback.
  sg::ActivityPtr parked_;
  std::vector<std::unique_ptr<Running>> running_pool_;
  std::vector<Running*> free_running_;
  int actors_alive_ = 0;
  std::string stop_reason_;
  bool deadlock_ = false;
  std::function<std::string()> describe_stuck_;
  std::string stuck_;
  FlowObserver flow_observer_;

  Running* new_running(sg::ActivityPtr activity, Completion* completion) {
    if (free_running_.empty()) {
      running_pool_.push_back(std::make_unique<Running>());
      free_running_.push_back(running_pool_.back().get());
    }
    Running* running = free_running_.back();
    free_running_.pop_back();
    running->activity = std::move(activity);
    running->completion = completion;
    running->route = nullptr;
    return running;
  }

  void finished(Running* running, bool ok) {
    parked_ = std::move(running->activity);
    Completion* completion = running->completion;
    if (ok && running->route != nullptr)
      flow_observer_(*running->route, running->bytes, running->begin_s);
    free_running_.push_back(running);
    if (ok)
      completion->complete();
    else
      completion->failed();
  }

  void arm() {
    if (running_actions_ || actions_.empty() || actions_.top().time_s >= armed_s_) return;
    armed_s_ = actions_.top().time_s;
    Timer::set(armed_s_, [this, time_s = armed_s_] {
      if (time_s == armed_s_) run_actions();  // else an earlier timer has taken its place
    });
  }

  // Actions may add others for this same instant: they run in this loop.
  void run_actions() {
    running_actions_ = true;
    // SimGrid may fire a timer a rounding error before its time.
    const double now_s = std::max(sg::Engine::get_clock(), armed_s_);
    armed_s_ = std::numeric_limits<double>::infinity();
    while (!actions_.empty() && actions_.top().time_s <= now_s) {
      const auto action = std::move(actions_.top().action);
      actions_.pop();
      action();
    }
    running_actions_ = false;
    arm();
  }
};

SimGridWorld::SimGridWorld(SharingSolver solver, int threads) {
  const char* context = std::getenv("FORESCALE_SIMGRID_CONTEXT");
  const std::string factory =
      std::string("--cfg=contexts/factory:") + (context != nullptr ? context : "raw");
  std::vector<std::string> words{
      "forescale",
      factory,
      "--cfg=contexts/stack-size:256",
      std::string("--cfg=contexts/guard-size:") + (threads > kGuardedThreadsMax ? "0" : "1"),
      "--cfg=network/model:CM02",
      "--cfg=network/crosstraffic:0",
      "--cfg=network/TCP-gamma:1e15",
      "--cfg=surf/precision:1e-12",
      solver == SharingSolver::kFull ? "--cfg=network/optim:Full" : "--cfg=network/optim:Lazy",
      "--log=root.threshold:critical"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  engine_ = std::make_unique<sg::Engine>(&count, arguments.data());
  // The first zone made becomes the root; asking for the root gives it its resource models.
  zone_ = new FlowZone("flows");
  engine_->get_netzone_root();
  things_ = new FlowZone("things");
  things_->set_network_model(zone_->get_network_model());
  things_->set_cpu_pm_model(zone_->get_cpu_pm_model());
  things_->set_cpu_vm_model(zone_->get_cpu_vm_model());
  things_->set_host_model(zone_->get_host_model());
  things_->set_disk_model(zone_->get_disk_model());
  from_ = zone_->create_host("from", {1.0})->seal();
  to_ = zone_->create_host("to", {1.0})->seal();
  sg::Activity::on_completion_cb([this](const sg::Activity& activity) {
    // Every activity of this world is a Comm or an Exec.
    auto* running = typeid(activity) == typeid(sg::Comm)
                        ? static_cast<const sg::Comm&>(activity).get_data<Running>()
                        : static_cast<const sg::Exec&>(activity).get_data<Running>();
    if (running != nullptr)
      finished(running, activity.get_state() == sg::Activity::State::FINISHED);
  });
  sg::Engine::on_deadlock_cb([this] {
    deadlock_ = true;
    stuck_ = describe_stuck_();
  });
}

// An error leaves flows under way, and SimGrid prints a backtrace for each that is let go of: they
// are not, as a process has one engine.
SimGridWorld::~SimGridWorld() {
  for (const std::unique_ptr<Running>& running : running_pool_) running->activity.detach();
}

SimLink SimGridWorld::add_link(const std::string& name, double bandwidth_bytes_per_s) {
  FORESCALE_CHECK(in_kernel_context(), "links are made in kernel context");
  sg::Link* link = things_->create_link(name, {bandwidth_bytes_per_s})->seal();
  links_.emplace(link->get_impl(), link);
  return link->get_impl();
}

int SimGridWorld::add_processor(const std::string& name, int cores) {
  FORESCALE_CHECK(in_kernel_context(), "processors are made in kernel context");
  processors_.push_back(things_->create_host(name, {1.0})->set_core_count(cores)->seal());
  return static_cast<int>(processors_.size()) - 1;
}

void SimGridWorld::after(double delay_s, std::function<void()> action) {
  actions_.push({now_s() + delay_s, next_order_++, std::move(action)});
  arm();
}

void SimGridWorld::in_kernel(std::function<void()> action) {
  if (in_kernel_context())
    action();
  else
    after(0, std::move(action));
}

void SimGridWorld::start_flow(const std::vector<SimLink>& route, double bytes,
                              Completion* completion) {
  if (bytes <= 0 || route.empty()) {
    after(0, [completion] { completion->complete(); });
    return;
  }
  sg::CommPtr flow = sg::Comm::sendto_init();
  Running* running = new_running(flow, completion);
  if (flow_observer_) {
    running->route = &route;
    running->bytes = bytes;
    running->begin_s = now_s();
  }
  flow->set_data(running);
  flow->set_payload_size(static_cast<uint64_t>(bytes));
  zone_->current = &route;
  flow->set_source(from_);
  flow->set_destination(to_);  // starts it
}

void SimGridWorld::start_task(int processor, double work_s, Completion* completion) {
  if (work_s <= 0) {
    after(0, [completion] { completion->complete(); });
    return;
  }
  sg::ExecPtr task = sg::Exec::init();
  task->set_data(new_running(task, completion));
  task->set_host(processors_[static_cast<size_t>(processor)]);
  task->set_flops_amount(work_s);
  task->start();
}

void SimGridWorld::fail_link(SimLink link, double delay_s) {
  after(delay_s, [this, link] { links_.at(link)->turn_off(); });
}

void SimGridWorld::spawn(const std::string& name, std::function<void()> body) {
  ++actors_alive_;
  sg::Actor::create(name, from_, [this, body = std::move(body)] {
    body();
    --actors_alive_;
  });
}

void SimGridWorld::stop(const std::string& reason) {
  if (!stop_reason_.empty()) return;
  stop_reason_ = reason;
  in_kernel([] { sg::Actor::kill_all(); });
}

void SimGridWorld::run(const std::function<std::string()>& describe_stuck) {
  describe_stuck_ = describe_stuck;
  engine_->run();
  if (!stop_reason_.empty()) throw SimulationStuck(stop_reason_);
  if (deadlock_) throw SimulationStuck(stuck_);
  if (actors_alive_ > 0) throw SimulationStuck(describe_stuck());
}

}  // namespace
}  // namespace forescale

extern "C" {
extern const forescale::SimGridModule forescale_simgrid;
const forescale::SimGridModule forescale_simgrid{
    .make_world = [](forescale::SharingSolver solver,
                     int threads) -> std::unique_ptr<forescale::World> {
      return std::make_unique<forescale::SimGridWorld>(solver, threads);
    },
    .make_semaphore = []() -> std::unique_ptr<forescale::Semaphore> {
      return std::make_unique<forescale::SimGridSemaphore>();
    }};
}
