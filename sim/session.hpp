// One simulation: ranks with their threads, communicators and GPUs, on a machine.
//
// Used once: construct, start threads, run(). Errors: SimulationStuck (who waits for whom) from
// run(); InputError from run() when a stack has no rule for what a schedule asks.
#pragma once

#include <array>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "algorithms/worker.hpp"
#include "sim/collective_run.hpp"
#include "sim/compute_noise.hpp"
#include "sim/data_reading.hpp"
#include "sim/machine.hpp"
#include "sim/transport.hpp"

namespace forescale {

// What overrides the stack's own choice for an operation.
struct AlgorithmChoice {
  std::string algorithm;
  CollectiveOptions options;
};

struct SessionOptions {
  int workers = 0;  // ranks that train; 0: all. The others are servers
  std::map<CollectiveOp, AlgorithmChoice> choices;
  SharingSolver solver = SharingSolver::kLazy;
  Timeline* timeline = nullptr;  // null: not recorded
  bool explicit_staging = false;
  ComputeNoise noise;
  // Training data: where from, and per rank the images of a batch (0 for servers). Null: costs
  // nothing.
  const DataSource* data = nullptr;
  std::vector<std::int64_t> images_per_rank = {};
  std::int64_t batches = 0;  // that every rank takes
};

// Where a rank's time went: while its GPU computes, to that phase; else to what its threads wait
// for; else idle.
struct Attribution {
  std::array<double, kPhaseCount> phase_s{};
  double idle_s = 0;
};

class Session : private ProgressGate {
 public:
  Session(const Platform& platform, const Stack& stack, int rank_count, SessionOptions options);
  ~Session();

  // The main thread of a rank.
  void start_rank(int rank, std::function<void(Worker&)> main_thread);
  void fail_link(const Resource& resource, double at_s);
  void run();

  double finished_s() const { return finished_s_; }
  // Per rank, the time at which each iteration ended.
  const std::vector<std::vector<double>>& iteration_ends() const { return iteration_ends_; }
  // Per rank, of each iteration.
  const std::vector<std::vector<Attribution>>& attributions() const { return attributions_; }
  const Machine& machine() const { return machine_; }
  const Transport& transport() const { return transport_; }

 private:
  class Thread;
  struct Done;
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
  void begin_kernel(int rank, int stream);
  void in_call(int rank, std::function<void()> action);
  Request start_collective(int rank, const CollectiveStep& step);
  Communicator& communicator(const CollectiveStep& step);
  std::shared_ptr<CollectiveRequest> join(int rank, const CollectiveStep& step);
  void stop_waiting(Operation& operation);
  CollectiveRun::Settings settings_for(const CollectiveStep& step,
                                       const std::vector<int>& ranks) const;
  void check_peer(int rank, const MessageStep& step) const;
  MessagePost post_of(int source, const MessageStep& sent, std::uint64_t channel);
  Request send(int rank, const MessageStep& step, bool one_sided);
  Request receive(int rank, const MessageStep& step);
  Request work_on_host(int rank, const HostWork& work);
  Request copy(int rank, const HostCopy& copy);
  Request next_batch(int rank);
  void record(int rank, Track track, const std::string& label, double begin_s, std::int64_t bytes);
  void abort(std::exception_ptr error);
  std::string describe_stuck() const;

  const Stack& stack_;
  SessionOptions options_;
  World world_;
  Machine machine_;
  Transport transport_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  // Key: the group's ranks (none: all workers) and the duplicate's number.
  std::map<std::pair<std::vector<int>, int>, std::unique_ptr<Communicator>> communicators_;
  std::map<std::tuple<int, int, int>, Mailbox> mailboxes_;  // key: source, destination, tag
  std::unique_ptr<DataReading> reading_;
  std::uint64_t next_channel_ = 1;
  int worker_count_;
  std::exception_ptr error_;
  double finished_s_ = 0;
  std::vector<std::vector<double>> iteration_ends_;
  std::vector<std::int64_t> batches_taken_;
  std::vector<std::vector<Attribution>> attributions_;
};

}  // namespace forescale
