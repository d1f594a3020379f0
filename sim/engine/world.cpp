#include "sim/engine/world.hpp"

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

}  // namespace

struct Gate::Semaphore {
  sg::SemaphorePtr handle = sg::Semaphore::create(0);
};

Gate::Gate() = default;
Gate::~Gate() = default;

void Gate::open() {
  if (open_) return;
  open_ = true;
  if (semaphore_) semaphore_->handle->release();
  for (const std::weak_ptr<Gate>& follower : followers_)
    if (const auto other = follower.lock()) other->open();
  followers_.clear();
}

void Gate::also_open(const std::shared_ptr<Gate>& other) {
  std::erase_if(followers_, [](const std::weak_ptr<Gate>& follower) { return follower.expired(); });
  followers_.push_back(other);
}

void Gate::wait() {
  if (open_) return;
  if (!semaphore_) semaphore_ = std::make_unique<Semaphore>();
  semaphore_->handle->acquire();
  semaphore_->handle->release();  // for the next one waiting
}

struct World::Impl {
  std::unique_ptr<sg::Engine> engine;
  FlowZone* zone = nullptr;  // the root; owned by the engine
  // Links and processors, made when they are first used: SimGrid seals the root and what is below
  // it when the simulation begins, so this one is beside it, with the root's models.
  FlowZone* things = nullptr;
  sg::Host* from = nullptr;  // ends of every flow: routes are ours
  sg::Host* to = nullptr;
  std::vector<sg::Host*> processors;
  std::map<SimLink, sg::Link*> links;
  // Actions by time, those of equal time in the order of the calls; SimGrid's timer is armed for
  // the first.
  std::priority_queue<TimedAction, std::vector<TimedAction>, std::greater<>> actions;
  std::uint64_t next_order = 0;
  double armed_s = std::numeric_limits<double>::infinity();
  bool running_actions = false;
  // Never release the last pointer to an activity inside its own callback.
  sg::ActivityPtr parked;
  struct Running {
    sg::ActivityPtr activity;
    Completion* completion = nullptr;
    // Of a flow that is observed.
    const std::vector<SimLink>* route = nullptr;
    double bytes = 0;
    double begin_s = 0;
  };
  std::vector<std::unique_ptr<Running>> running_pool;
  std::vector<Running*> free_running;
  int actors_alive = 0;
  std::string stop_reason;
  bool deadlock = false;
  std::function<std::string()> describe_stuck;
  std::string stuck;
  FlowObserver flow_observer;

  Running* new_running(sg::ActivityPtr activity, Completion* completion) {
    if (free_running.empty()) {
      running_pool.push_back(std::make_unique<Running>());
      free_running.push_back(running_pool.back().get());
    }
    Running* running = free_running.back();
    free_running.pop_back();
    running->activity = std::move(activity);
    running->completion = completion;
    running->route = nullptr;
    return running;
  }

  void finished(Running* running, bool ok) {
    parked = std::move(running->activity);
    Completion* completion = running->completion;
    if (ok && running->route != nullptr)
      flow_observer(*running->route, running->bytes, running->begin_s);
    free_running.push_back(running);
    if (ok)
      completion->complete();
    else
      completion->failed();
  }

  void arm() {
    if (running_actions || actions.empty() || actions.top().time_s >= armed_s) return;
    armed_s = actions.top().time_s;
    Timer::set(armed_s, [this, time_s = armed_s] {
      if (time_s == armed_s) run_actions();  // else an earlier timer has taken its place
    });
  }

  // Actions may add others for this same instant: they run in this loop.
  void run_actions() {
    running_actions = true;
    // SimGrid may fire a timer a rounding error before its time.
    const double now_s = std::max(sg::Engine::get_clock(), armed_s);
    armed_s = std::numeric_limits<double>::infinity();
    while (!actions.empty() && actions.top().time_s <= now_s) {
      const auto action = std::move(actions.top().action);
      actions.pop();
      action();
    }
    running_actions = false;
    arm();
  }
};

World::World(SharingSolver solver) : impl_(std::make_unique<Impl>()) {
  const char* context = std::getenv("FORESCALE_SIMGRID_CONTEXT");
  const std::string factory =
      std::string("--cfg=contexts/factory:") + (context != nullptr ? context : "raw");
  std::vector<std::string> words{
      "forescale",
      factory,
      "--cfg=contexts/stack-size:256",
      "--cfg=network/model:CM02",
      "--cfg=network/crosstraffic:0",
      "--cfg=network/TCP-gamma:1e15",
      "--cfg=surf/precision:1e-12",
      solver == SharingSolver::kFull ? "--cfg=network/optim:Full" : "--cfg=network/optim:Lazy",
      "--log=root.threshold:critical"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  int count = static_cast<int>(arguments.size());
  impl_->engine = std::make_unique<sg::Engine>(&count, arguments.data());
  // The first zone made becomes the root; asking for the root gives it its resource models.
  impl_->zone = new FlowZone("flows");
  impl_->engine->get_netzone_root();
  impl_->things = new FlowZone("things");
  impl_->things->set_network_model(impl_->zone->get_network_model());
  impl_->things->set_cpu_pm_model(impl_->zone->get_cpu_pm_model());
  impl_->things->set_cpu_vm_model(impl_->zone->get_cpu_vm_model());
  impl_->things->set_host_model(impl_->zone->get_host_model());
  impl_->things->set_disk_model(impl_->zone->get_disk_model());
  impl_->from = impl_->zone->create_host("from", {1.0})->seal();
  impl_->to = impl_->zone->create_host("to", {1.0})->seal();
  sg::Activity::on_completion_cb([this](const sg::Activity& activity) {
    // Every activity of this world is a Comm or an Exec.
    auto* running = typeid(activity) == typeid(sg::Comm)
                        ? static_cast<const sg::Comm&>(activity).get_data<Impl::Running>()
                        : static_cast<const sg::Exec&>(activity).get_data<Impl::Running>();
    if (running != nullptr)
      impl_->finished(running, activity.get_state() == sg::Activity::State::FINISHED);
  });
  sg::Engine::on_deadlock_cb([this] {
    impl_->deadlock = true;
    impl_->stuck = impl_->describe_stuck();
  });
}

// An error leaves flows under way, and SimGrid prints a backtrace for each that is let go of: they
// are not, as a process has one engine.
World::~World() {
  for (const std::unique_ptr<Impl::Running>& running : impl_->running_pool)
    running->activity.detach();
}

SimLink World::add_link(const std::string& name, double bandwidth_bytes_per_s) {
  FORESCALE_CHECK(in_kernel_context(), "links are made in kernel context");
  sg::Link* link = impl_->things->create_link(name, {bandwidth_bytes_per_s})->seal();
  impl_->links.emplace(link->get_impl(), link);
  return link->get_impl();
}

int World::add_processor(const std::string& name, int cores) {
  FORESCALE_CHECK(in_kernel_context(), "processors are made in kernel context");
  impl_->processors.push_back(
      impl_->things->create_host(name, {1.0})->set_core_count(cores)->seal());
  return static_cast<int>(impl_->processors.size()) - 1;
}

double World::now_s() const { return sg::Engine::get_clock(); }

void World::after(double delay_s, std::function<void()> action) {
  impl_->actions.push({now_s() + delay_s, impl_->next_order++, std::move(action)});
  impl_->arm();
}

void World::in_kernel(std::function<void()> action) {
  if (in_kernel_context())
    action();
  else
    after(0, std::move(action));
}

void World::start_flow(const std::vector<SimLink>& route, double bytes, Completion* completion) {
  if (bytes <= 0 || route.empty()) {
    after(0, [completion] { completion->complete(); });
    return;
  }
  sg::CommPtr flow = sg::Comm::sendto_init();
  Impl::Running* running = impl_->new_running(flow, completion);
  if (impl_->flow_observer) {
    running->route = &route;
    running->bytes = bytes;
    running->begin_s = now_s();
  }
  flow->set_data(running);
  flow->set_payload_size(static_cast<uint64_t>(bytes));
  impl_->zone->current = &route;
  flow->set_source(impl_->from);
  flow->set_destination(impl_->to);  // starts it
}

void World::start_task(int processor, double work_s, Completion* completion) {
  if (work_s <= 0) {
    after(0, [completion] { completion->complete(); });
    return;
  }
  sg::ExecPtr task = sg::Exec::init();
  task->set_data(impl_->new_running(task, completion));
  task->set_host(impl_->processors[static_cast<size_t>(processor)]);
  task->set_flops_amount(work_s);
  task->start();
}

void World::observe_flows(FlowObserver observer) { impl_->flow_observer = std::move(observer); }

void World::fail_link(SimLink link, double delay_s) {
  after(delay_s, [this, link] { impl_->links.at(link)->turn_off(); });
}

void World::spawn(const std::string& name, std::function<void()> body) {
  ++impl_->actors_alive;
  sg::Actor::create(name, impl_->from, [this, body = std::move(body)] {
    body();
    --impl_->actors_alive;
  });
}

void World::stop(const std::string& reason) {
  if (!impl_->stop_reason.empty()) return;
  impl_->stop_reason = reason;
  in_kernel([] { sg::Actor::kill_all(); });
}

void World::run(const std::function<std::string()>& describe_stuck) {
  impl_->describe_stuck = describe_stuck;
  impl_->engine->run();
  if (!impl_->stop_reason.empty()) throw SimulationStuck(impl_->stop_reason);
  if (impl_->deadlock) throw SimulationStuck(impl_->stuck);
  if (impl_->actors_alive > 0) throw SimulationStuck(describe_stuck());
}

}  // namespace forescale
