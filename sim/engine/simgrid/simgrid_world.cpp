#include "sim/engine/simgrid/simgrid_module.hpp"

#include <xbt/log.h>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <limits>
#include <optional>
#include <typeinfo>
#include <utility>

#include "base/error.hpp"
#include "sim/engine/simgrid/flow_zone.hpp"
#include "sim/engine/simgrid/shared_capacity.hpp"
#include "sim/engine/simgrid/shared_flows.hpp"
#include "sim/engine/simgrid/timed_actions.hpp"

namespace forescale {
namespace {

namespace sg = simgrid::s4u;
using simgrid::kernel::timer::Timer;

// Linux maps 65,530 areas for a process: two for a stack with its guard.
constexpr int kGuardedThreadsMax = 16384;

constexpr double kClockRounding = 1e-11;  // relative: SimGrid's clock is off by less

bool in_kernel_context() { return sg::Actor::is_maestro(); }

class SimGridWorld final : public World {
 public:
  SimGridWorld(SharingSolver solver, int threads);
  ~SimGridWorld() override;
  SimGridWorld(const SimGridWorld&) = delete;
  SimGridWorld& operator=(const SimGridWorld&) = delete;

  SimLink add_link(double bandwidth_bytes_per_s) override;
  int add_processor(int cores) override;
  double now_s() const override { return std::max(ahead_s_, sg::Engine::get_clock()); }
  void after(double delay_s, std::function<void()> action) override;
  void in_kernel(std::function<void()> action) override;
  std::uint64_t actions_added() const override { return actions_added_; }
  void start_flow(const std::vector<SimLink>& route, double bytes, Completion* completion) override;
  void start_task(int processor, double work_s, Completion* completion) override;
  bool has_shared() const override { return has_shared_; }
  void observe_flows(FlowObserver observer) override { flow_observer_ = std::move(observer); }
  void fail_link(SimLink link, double delay_s) override;
  void spawn(const std::string& name, std::function<void()> body) override;
  void stop(const std::string& reason) override;
  void run(const std::function<std::string()>& describe_stuck) override;

  // Does what SimGrid has to hear of at this time: when its clock is there.
  void tell(std::function<void()> what);

  static SimGridWorld* the_one;  // a process has one engine

 private:
  std::unique_ptr<sg::Engine> engine_;
  FlowZone* zone_ = nullptr;  // the root; owned by the engine
  // Links and processors: SimGrid seals the root and what is below it when the simulation begins,
  // so this one is beside it, with the root's models.
  FlowZone* things_ = nullptr;
  std::unique_ptr<SharedFlows> flows_;
  bool frees_uses_;  // else SimGrid is given all
  bool has_shared_ = false;
  std::deque<SharedCapacity> capacities_;
  std::deque<SharedCapacity*> processors_;
  // Actions by time, those of equal time in the order of the calls; SimGrid's timer is armed for
  // the first.
  TimedActions actions_;
  std::uint64_t actions_added_ = 0;  // by after()
  double armed_s_ = std::numeric_limits<double>::infinity();
  bool running_actions_ = false;
  // Where nothing is over in SimGrid and no actor can run, time goes on without its clock.
  double ahead_s_ = 0;  // to here, if it has not followed
  double told_s_ = -1;  // SimGrid's clock when it was last told something: actors may run there
  bool waits_ = false;  // for its clock
  std::vector<std::function<void()>> to_tell_;
  int in_simgrid_ = 0;  // uses
  int hosts_ = 0;
  // Never release the last pointer to an activity inside its own callback.
  sg::ActivityPtr parked_;
  std::vector<std::unique_ptr<Use>> uses_;
  std::vector<Use*> unused_;
  std::vector<Use*> slowed_;  // by what is happening
  int actors_alive_ = 0;
  std::string stop_reason_;
  bool deadlock_ = false;
  std::function<std::string()> describe_stuck_;
  std::string stuck_;
  FlowObserver flow_observer_;

  void begin(std::span<SharedCapacity* const> way, double amount, Completion* completion);
  void go_free(Use& use);
  void hand_over(Use& use);
  void hand_over_slowed();
  void slow_on_processor(Use& use);
  void time_first_of(SharedCapacity& processor);
  void let_go(Use& use);
  void share(Use& use);
  void start_exec(Use& use);
  void comm_ended(SharedFlow& flow, bool ok);
  void ended(Use& use, bool ok);
  void tell_end(Use& use, bool ok);

  void arm() {
    if (running_actions_ || actions_.empty() || actions_.first_s() >= armed_s_) return;
    armed_s_ = actions_.first_s();
    Timer::set(armed_s_, [this, time_s = armed_s_] {
      if (time_s == armed_s_) run_actions();  // else an earlier timer has taken its place
    });
  }

  // Before this nothing is over in SimGrid, for all that it has been told.
  double next_in_simgrid_s() {
    if (in_simgrid_ == 0) return std::numeric_limits<double>::infinity();
    if (!frees_uses_) return 0;
    return flows_->next_end_s() * (1 - kClockRounding);
  }

  // Actions may add others for this same instant: they run in this loop.
  void run_actions() {
    running_actions_ = true;
    waits_ = told_s_ == sg::Engine::get_clock();
    // SimGrid may fire a timer a rounding error before its time.
    double now_s = std::max(sg::Engine::get_clock(), armed_s_);
    armed_s_ = std::numeric_limits<double>::infinity();
    std::optional<double> followed_s;  // by SimGrid
    while (!actions_.empty()) {
      if (actions_.first_s() > now_s) {
        if (waits_) break;
        if (!followed_s) followed_s = next_in_simgrid_s();
        if (actions_.first_s() >= *followed_s) break;
        now_s = ahead_s_ = actions_.first_s();
      }
      const TimedAction first = actions_.take_first();
      if (first.ends == nullptr)
        first.action();
      else if (first.ends->number == first.number)
        ended(*first.ends, true);
    }
    running_actions_ = false;
    arm();
  }
};

SimGridWorld* SimGridWorld::the_one = nullptr;

class SimGridSemaphore final : public Semaphore {
 public:
  void acquire() override { handle_->acquire(); }
  void release() override {
    SimGridWorld::the_one->tell([handle = handle_] { handle->release(); });
  }

 private:
  sg::SemaphorePtr handle_ = sg::Semaphore::create(0);
};

SimGridWorld::SimGridWorld(SharingSolver solver, int threads)
    : frees_uses_(solver != SharingSolver::kFull) {
  the_one = this;
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
  flows_ = std::make_unique<SharedFlows>(*zone_, *things_, frees_uses_);
  sg::Activity::on_completion_cb([this](const sg::Activity& activity) {
    // Every activity of this world is a Comm or an Exec.
    const bool ok = activity.get_state() == sg::Activity::State::FINISHED;
    if (typeid(activity) == typeid(sg::Comm)) {
      auto* flow = static_cast<const sg::Comm&>(activity).get_data<SharedFlow>();
      if (flow != nullptr) comm_ended(*flow, ok);
    } else {
      ended(*static_cast<const sg::Exec&>(activity).get_data<Use>(), ok);
    }
  });
  sg::Engine::on_deadlock_cb([this] {
    deadlock_ = true;
    stuck_ = describe_stuck_();
  });
}

// As the flows: an error leaves tasks under way.
SimGridWorld::~SimGridWorld() {
  for (const std::unique_ptr<Use>& use : uses_) use->activity.detach();
}

SimLink SimGridWorld::add_link(double bandwidth_bytes_per_s) {
  return &capacities_.emplace_back(
      SharedCapacity{.per_s = bandwidth_bytes_per_s, .pace_per_s = bandwidth_bytes_per_s});
}

int SimGridWorld::add_processor(int cores) {
  processors_.push_back(&capacities_.emplace_back(
      SharedCapacity{.per_s = static_cast<double>(cores), .pace_per_s = 1, .is_processor = true}));
  return static_cast<int>(processors_.size()) - 1;
}

void SimGridWorld::after(double delay_s, std::function<void()> action) {
  ++actions_added_;
  actions_.add(now_s() + delay_s, std::move(action));
  arm();
}

void SimGridWorld::in_kernel(std::function<void()> action) {
  if (in_kernel_context())
    action();
  else
    after(0, std::move(action));
}

void SimGridWorld::tell(std::function<void()> what) {
  waits_ = true;
  if (ahead_s_ <= sg::Engine::get_clock()) {
    told_s_ = sg::Engine::get_clock();
    what();
    return;
  }
  if (to_tell_.empty())
    Timer::set(ahead_s_, [this] {
      told_s_ = sg::Engine::get_clock();
      const std::vector<std::function<void()>> now = std::exchange(to_tell_, {});
      for (const std::function<void()>& each : now) each();
    });
  to_tell_.push_back(std::move(what));
}

void SimGridWorld::start_flow(const std::vector<SimLink>& route, double bytes,
                              Completion* completion) {
  begin(route, bytes, completion);
}

void SimGridWorld::start_task(int processor, double work_s, Completion* completion) {
  begin({&processors_[static_cast<size_t>(processor)], 1}, work_s, completion);
}

void SimGridWorld::begin(std::span<SharedCapacity* const> way, double amount,
                         Completion* completion) {
  if (amount <= 0 || way.empty()) {
    after(0, [completion] { completion->complete(); });
    return;
  }
  if (std::any_of(way.begin(), way.end(), [](const auto* each) { return each->is_down; })) {
    after(0, [completion] { completion->failed(); });  // SimGrid would tell nobody
    return;
  }
  if (unused_.empty()) unused_.push_back(uses_.emplace_back(std::make_unique<Use>()).get());
  Use& use = *unused_.back();
  unused_.pop_back();
  use.way = way;
  use.amount = amount;
  use.completion = completion;
  use.begin_s = now_s();
  use.left = amount;
  const bool is_free = enter(use, slowed_) && frees_uses_;
  hand_over_slowed();
  if (is_free)
    go_free(use);
  else
    hand_over(use);
  if (way.front()->is_processor) time_first_of(*way.front());
}

void SimGridWorld::go_free(Use& use) {
  use.number = actions_.next_number();
  use.free_from_s = now_s();
  for (SharedCapacity* capacity : use.way) note_unslowed(*capacity, use);
  actions_.add_end(use.free_from_s + use.left / use.pace_per_s, use);
  arm();
}

// One that is slowed from now on, whatever it was before.
void SimGridWorld::hand_over(Use& use) {
  has_shared_ = true;
  use.number = 0;
  if (use.way.front()->is_processor && frees_uses_) return slow_on_processor(use);
  if (use.flow == nullptr) ++in_simgrid_;
  tell([this, &use] { share(use); });
}

void SimGridWorld::hand_over_slowed() {
  for (Use* use : std::exchange(slowed_, {})) {
    if (use->flow == nullptr) use->left = left_of(*use, now_s());
    hand_over(*use);
  }
}

void SimGridWorld::slow_on_processor(Use& use) {
  if (use.left <= 0) {
    after(0, [this, &use] { ended(use, true); });
    return;
  }
  SharedCapacity& capacity = *use.way.front();
  if (capacity.shared == nullptr) capacity.shared = std::make_unique<SharedProcessor>();
  use.processor = capacity.shared.get();
  use.processor->add(use, use.left, now_s());
}

// Another number of tasks share it from now on.
void SimGridWorld::time_first_of(SharedCapacity& processor) {
  if (processor.shared == nullptr || processor.shared->empty()) return;
  const auto [ends_s, first] = processor.shared->go_on(
      now_s(), std::min(1.0, processor.per_s / processor.crossing), actions_.next_number());
  actions_.add_end(ends_s, *first);
  arm();
}

void SimGridWorld::let_go(Use& use) {
  leave(use);
  if (use.processor != nullptr) std::exchange(use.processor, nullptr)->remove(use);
  if (use.way.front()->is_processor) time_first_of(*use.way.front());
}

// What slowed it may be over again, at this same time.
void SimGridWorld::share(Use& use) {
  if (use.flow != nullptr) flows_->remove(use);
  if (use.left <= 0) {
    --in_simgrid_;
    after(0, [this, &use] { ended(use, true); });
    return;
  }
  if (use.way.front()->is_processor) return start_exec(use);
  if (frees_uses_ && std::none_of(use.way.begin(), use.way.end(),
                                  [](const auto* capacity) { return is_crowded(*capacity); })) {
    --in_simgrid_;
    return go_free(use);
  }
  use.number = actions_.next_number();
  flows_->add(use);
}

void SimGridWorld::start_exec(Use& use) {
  SharedCapacity& capacity = *use.way.front();
  if (capacity.processor == nullptr)
    capacity.processor = things_->create_host("processor" + std::to_string(++hosts_), {1.0})
                             ->set_core_count(static_cast<int>(capacity.per_s))
                             ->seal();
  sg::ExecPtr task = sg::Exec::init();
  use.activity = task;
  task->set_data(&use);
  task->set_host(capacity.processor);
  task->set_flops_amount(use.left);
  task->start();
}

void SimGridWorld::comm_ended(SharedFlow& flow, bool ok) {
  FORESCALE_CHECK(ahead_s_ * (1 - kClockRounding) <= sg::Engine::get_clock(),
                  "time went on past the end of a flow");
  const std::vector<Use*> over = flows_->ended(flow, ok);
  for (Use* use : over) leave(*use);
  in_simgrid_ -= static_cast<int>(over.size());
  for (Use* use : over) tell_end(*use, ok);
}

void SimGridWorld::ended(Use& use, bool ok) {
  let_go(use);
  tell_end(use, ok);
}

void SimGridWorld::tell_end(Use& use, bool ok) {
  if (use.activity != nullptr) --in_simgrid_;
  parked_ = std::move(use.activity);
  Completion* const completion = use.completion;
  if (ok && flow_observer_ && !use.way.front()->is_processor)
    flow_observer_(use.way, use.amount, use.begin_s);
  unused_.push_back(&use);
  if (ok)
    completion->complete();
  else
    completion->failed();
}

// SimGrid tells those that cross it.
void SimGridWorld::fail_link(SimLink link, double delay_s) {
  after(delay_s, [this, link] {
    link->is_down = true;
    slow_all(*link, slowed_);
    hand_over_slowed();
    tell([this, link] { flows_->turn_off(*link); });
  });
}

void SimGridWorld::spawn(const std::string& name, std::function<void()> body) {
  ++actors_alive_;
  tell([this, name, body] {
    sg::Actor::create(name, flows_->host(), [this, body] {
      body();
      --actors_alive_;
    });
  });
}

void SimGridWorld::stop(const std::string& reason) {
  if (!stop_reason_.empty()) return;
  stop_reason_ = reason;
  in_kernel([this] { tell([] { sg::Actor::kill_all(); }); });
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
