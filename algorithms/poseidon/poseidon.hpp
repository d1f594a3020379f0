// Poseidon's workers and servers: one thread a layer that pushes its gradients and pulls its
// parameters (Algorithms 2 and 3), under a bound on staleness and a bandwidth budget.
//
// Poseidon (arXiv 1512.06216), section 4; what the paper leaves open is as in
// sailing-pmls/pmls-caffe at 4bb4b608 (src/caffe/solver.cpp, svb_worker.cpp,
// sufficient_vector_queue.cpp) and sailing-pmls/bosen at c72480c4: the update value is computed on
// the worker's GPU and the servers only add; a thread for each layer is joined before the next
// forward pass; the servers send new parameters of a clock unasked once all workers' gradients of
// it are in (SSPPush). One thread a worker serialises all factors that leave and parses all that
// come; each one that came is multiplied and applied by itself.
//
// That code departs from Algorithms 2 and 3: gradients are only gathered during the backward pass
// and leave when the worker ends its clock (abstract_bg_worker.cpp, kBgClock), and no layer waits
// for the factors of its peers (ThreadSyncWithSVB). The options `leave` and `factors` choose; late
// factors are applied with those of the next clock, no later.
#pragma once

#include <memory>
#include <vector>

#include "algorithms/parameter_servers/turnstile.hpp"
#include "algorithms/poseidon/poseidon_plan.hpp"

namespace forescale {

// The main thread of a rank, worker or server, for all iterations.
void run_poseidon(Worker& worker, const TrainingJob& job, const PoseidonSettings& settings);

// What workers and servers share: their plans and how a message leaves.
class PoseidonRank {
 public:
  PoseidonRank(const Worker& worker, const TrainingJob& job, const PoseidonSettings& settings);

 protected:
  // Sends by the bandwidth manager, if there is one: handed over at the budget's rate, one message
  // after the other, the most urgent of those that wait first.
  void send(Worker& thread, const MessageStep& step, size_t layer, std::vector<Request>& sent);
  MessageStep message(int peer, std::int64_t bytes, int tag, Phase phase, const std::string& what,
                      size_t layer) const;
  // CPU work on `bytes`, passing `memory_passes` times over them; nothing where it is free.
  void work(Worker& thread, double duration_s, std::int64_t bytes, int memory_passes, Phase phase,
            const std::string& what, size_t layer) const;
  const TrainingStage& stage(size_t layer) const {
    return job_.stages[static_cast<size_t>(layers_[layer].stage)];
  }
  int server_rank(int server) const { return topology_.workers + server; }
  static int dense_tag(size_t layer) { return static_cast<int>(2 * layer); }
  static int factor_tag(size_t layer) { return static_cast<int>(2 * layer + 1); }

  const TrainingJob& job_;
  const PoseidonSettings& settings_;
  PoseidonTopology topology_;
  std::vector<LayerPlan> layers_;

 private:
  double urgency(size_t layer);

  Turnstile bandwidth_manager_;
  std::uint64_t sent_ = 0;
  std::uint64_t rank_ = 0;
};

class PoseidonServer : private PoseidonRank {
 public:
  PoseidonServer(const Worker& worker, const TrainingJob& job, const PoseidonSettings& settings);
  void run(Worker& worker);

 private:
  void serve(Worker& thread, size_t layer, const ServerShare& share);

  int server_;
  Turnstile cpu_;
};

// A worker.
class PoseidonClient : private PoseidonRank {
 public:
  PoseidonClient(const Worker& worker, const TrainingJob& job, const PoseidonSettings& settings);
  void run(Worker& worker);

 private:
  void start_threads(Worker& worker);
  void wait_for_layer(Worker& worker, int clock, int stage);
  std::vector<Request> expect(Worker& thread, size_t layer) const;
  void push(Worker& thread, size_t clock, size_t layer);
  void pull(Worker& thread, size_t clock, size_t layer, const std::vector<Request>& parameters);
  void exchange_factors(Worker& thread, size_t layer);
  void send_factors(Worker& thread, size_t layer, const std::vector<int>& peers,
                    std::vector<Request>& sent);
  void factor_work(Worker& thread, double duration_s, int memory_passes, Phase phase,
                   const char* what, size_t layer);
  void push_to_servers(Worker& thread, size_t clock, size_t layer, std::vector<Request>& sent);
  void send_to_server(Worker& thread, const ServerShare& share, std::int64_t bytes, size_t layer,
                      std::vector<Request>& sent);
  // Between a tensor and its rows, value by value.
  void row_work(Worker& thread, double s_per_byte, std::int64_t bytes, Phase phase,
                const char* what, size_t layer);
  void copy(Worker& thread, size_t layer, std::int64_t bytes, bool to_host) const;
  void update(Worker& thread, size_t layer, int updates, double reconstruction_s) const;
  bool speaks() const { return members_.front() == rank_; }

  int rank_;
  size_t client_;
  std::vector<int> members_;  // of this worker's client
  std::vector<Request> threads_;
  // By clock, then layer.
  std::vector<std::vector<Request>> gradients_ready_;
  std::vector<std::vector<Request>> factors_there_;
  std::vector<std::vector<Request>> parameters_there_;
  std::vector<Request> clocked_;        // signals by clock: it is over
  std::vector<size_t> layers_encoded_;  // by clock
  Turnstile main_thread_;
  Turnstile factor_thread_;
};

}  // namespace forescale
