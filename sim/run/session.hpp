// One simulation: ranks with their threads, communicators and GPUs, on a machine.
//
// Used once: construct, start threads, run(). Errors: SimulationStuck (who waits for whom) from
// run(); InputError from run() when a stack has no rule for what a schedule asks.
#pragma once

#include <array>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "algorithms/plan_choice.hpp"
#include "algorithms/worker.hpp"
#include "sim/engine/machine.hpp"
#include "sim/engine/transport.hpp"
#include "sim/resolved_call.hpp"
#include "sim/run/collective_run.hpp"
#include "sim/run/compute_noise.hpp"
#include "sim/run/data_reading.hpp"
#include "sim/run/priced_collectives.hpp"
#include "traces/timeline/cause_log.hpp"
#include "traces/timeline/link_use.hpp"

namespace forescale {

struct SessionOptions {
  int workers = 0;                             // ranks that train; 0: all. The others are servers
  std::map<CollectiveOp, PlanChoice> choices;  // instead of the stack's own, by operation
  std::optional<RulesOf> rules_of = {};        // of all collectives; nothing: each one's own
  std::int64_t value_bytes = 4;                // of what collectives carry that are no control
  bool has_slowed_kernels = false;             // by what collectives beside them bring
  // Of the only collective: some members stand for all. Null: all are simulated.
  const AlikeMembers* alike = nullptr;
  // Of the only collective, around a ring: so many steps of each pass. Empty: all.
  std::vector<int> few_steps = {};
  SharingSolver solver = SharingSolver::kLazy;
  // What is written down; null: nothing. Of causes and links the last two iterations stay, or all
  // from the one before `keeps_from` on.
  Timeline* timeline = nullptr;
  CauseLog* causes = nullptr;
  LinkUse* links = nullptr;
  std::size_t keeps_from = std::numeric_limits<std::size_t>::max();
  bool explicit_staging = false;
  ComputeNoise noise = {};
  MessageNoise message_noise = {};
  // Training data: where from, and per rank the images of a batch (0 for servers). Null: costs
  // nothing.
  const DataSource* data = nullptr;
  std::vector<std::int64_t> images_per_rank = {};
  std::int64_t batches = 0;  // that every rank takes that takes any
  // What a collective takes from when the last of the `priced_ranks` workers calls it that are
  // started and stand for all. Null: collectives are simulated.
  std::function<CollectivePrice(const CollectiveStep&)> price = nullptr;
  int priced_ranks = 1;
};

// Where a rank's time went: while its GPU computes, to that phase; else to what its threads wait
// for; else idle.
struct Attribution {
  std::array<double, kPhaseCount> phase_s{};
  double idle_s = 0;
  // While a collective or message of the rank was under way, from its call until it was complete;
  // and of that, while the GPU computed.
  double communication_s = 0;
  double hidden_s = 0;
};

class Session : private ProgressGate {
 public:
  Session(const Platform& platform, const Stack& stack, int rank_count, SessionOptions options);
  ~Session();

  // The main thread of a rank.
  void start_rank(int rank, std::function<void(Worker&)> main_thread);
  // A collective of each of these ranks, called when the simulation begins: as by main threads that
  // do nothing else, but that one thread of control does for all. `on_done` at the end of each.
  struct Call {
    int rank = 0;
    const CollectiveStep* step = nullptr;
  };
  void start_calls(std::vector<Call> calls, std::function<void()> on_done);
  void fail_link(const Resource& resource, double at_s);
  void run();

  double finished_s() const { return finished_s_; }
  // Per rank, the time at which each iteration ended.
  const std::vector<std::vector<double>>& iteration_ends() const { return iteration_ends_; }
  // Per rank, what each iteration ended with; kStart without a log.
  const std::vector<std::vector<CauseLog::Moment>>& iteration_moments() const {
    return iteration_moments_;
  }
  // Per rank, of each iteration.
  const std::vector<std::vector<Attribution>>& attributions() const { return attributions_; }
  const Machine& machine() const { return machine_; }
  const Transport& transport() const { return transport_; }

 private:
  class Thread;
  struct Done;
  class UnderWay;
  struct KernelRequest;
  struct LocalRequest;
  struct MessageRequest;
  struct Arrival;
  struct Mailbox;
  struct CollectiveRequest;
  struct Operation;
  struct Rank;
  struct Communicator;

  bool can_progress(int rank) const override;
  void when_progressing(int rank, std::function<void()> action) override;
  void enter_call(int rank);
  void leave_call(int rank);
  void account(int rank);
  void account_overlap(int rank);
  void communicates(int rank, int change);
  void end_iteration(int rank, CauseLog::Moment moment);
  // In the log of causes, if there is one: work of `rank` that ends now.
  CauseLog::Moment happened(int rank, CauseLog::Moment after, Cause cause, const std::string& label,
                            double late_s = 0);
  void begin_kernel(int rank, int stream);
  // Runs `action` when all kernels are complete that the rank has launched so far.
  void after_launched(int rank, const std::function<void()>& action);
  void in_call(int rank, std::function<void()> action);
  Request start_collective(int rank, const CollectiveStep& step, CauseLog::Moment moment);
  // `action`, now or, where the rank makes progress inside calls only, in its next one.
  void once_progressing(int rank, std::function<void()> action);
  // Of a rank's part in a collective that it has joined: it begins once it is ready and, where the
  // stack's collectives go in order, those before it on the communicator have ended.
  std::deque<CollectiveRequest*>& line_of(const CollectiveRequest& request);
  void begin_in_order(CollectiveRequest& request);
  void begin_part(CollectiveRequest& request);
  void slow_kernels(const CollectiveRequest& request);
  void part_ended(const CollectiveRequest& request);
  CauseLog::Moment collective_happened(const CollectiveRequest& request);
  Communicator& communicator(const CollectiveStep& step);
  std::shared_ptr<CollectiveRequest> join(int rank, const CollectiveStep& step,
                                          CauseLog::Moment moment);
  void stop_waiting(Operation& operation);
  CollectiveRun::Settings settings_for(const CollectiveStep& step, const SharedGroup& group) const;
  void check_peer(int rank, const MessageStep& step) const;
  MessagePost post_of(int source, const MessageStep& sent, std::uint64_t channel);
  std::shared_ptr<MessageRequest> new_message(int rank, const MessageStep& step,
                                              CauseLog::Moment moment);
  std::shared_ptr<LocalRequest> new_local(int rank, CauseLog::Moment moment, Cause cause,
                                          const std::string& text, std::optional<Phase> phase);
  Request send(int rank, const MessageStep& step, bool one_sided, CauseLog::Moment moment);
  Request receive(int rank, const MessageStep& step, CauseLog::Moment moment);
  Request work_on_host(int rank, const HostWork& work, CauseLog::Moment moment);
  Request copy(int rank, const HostCopy& copy, CauseLog::Moment moment);
  Request next_batch(int rank, CauseLog::Moment moment);
  Request timer(int rank, const Timer& timer, CauseLog::Moment moment);
  void record(int rank, Track track, const std::string& label, double begin_s, std::int64_t bytes);
  void abort(std::exception_ptr error);
  std::string describe_stuck() const;

  const Stack& stack_;
  SessionOptions options_;
  const std::unique_ptr<World> made_world_;
  World& world_;
  Machine machine_;
  Transport transport_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  // Key: the group's handle, and its ranks (none: all workers), and the duplicate's number.
  std::map<std::pair<const void*, int>, std::shared_ptr<Communicator>> communicators_;
  std::map<std::pair<std::vector<int>, int>, std::shared_ptr<Communicator>> communicators_by_ranks_;
  std::map<std::tuple<int, int, int>, Mailbox> mailboxes_;  // key: source, destination, tag
  std::unique_ptr<UnderWay> under_way_;
  std::unique_ptr<DataReading> reading_;
  std::uint64_t next_channel_ = 1;
  int worker_count_;
  std::exception_ptr error_;
  double finished_s_ = 0;
  PricedCollectives priced_;
  std::vector<std::vector<double>> iteration_ends_;
  std::vector<std::vector<CauseLog::Moment>> iteration_moments_;
  std::vector<int> iterations_ended_by_;  // by iteration, ranks
  std::vector<double> all_ended_s_;       // when all workers had ended each iteration
  std::vector<std::vector<Attribution>> attributions_;
};

}  // namespace forescale
