// TensorFlow's parameter servers: every tensor is pulled by whoever consumes it.
//
// Awan et al., CCGrid 2019, section III-A: the producer puts a tensor into a table; the consumer
// asks for it; it is copied to the host, encoded and sent, decoded, and copied to the GPU. Workers
// pull parameters, servers pull gradients. All requests of a step leave at its start, since nothing
// in the graph precedes them, so a gradient is served when it appears. tensorflow/benchmarks,
// tf_cnn_benchmarks (variable_mgr.py, VariableMgrDistributedFetchFromPS): a tensor lives whole on
// the server that has the fewest bytes; a server applies each worker's gradient by itself; a step
// ends when all are applied (cross_replica_sync).
//
// A rank has the stack's number of service threads. One serves a message at a time: at the sender
// its call and encoding, at the receiver its call, arrival and decoding. gRPC+MPI has one
// (tensorflow, contrib/mpi/mpi_rendezvous_mgr.cc: sends are non-blocking, receives block it).
// Limits: threads take messages in a fixed order, by tensors and workers, not as they arrive; the
// requests of a worker to one server are one message of their bytes together.
#include <algorithm>
#include <deque>
#include <map>
#include <numeric>

#include "algorithms/parameter_servers/server_steps.hpp"
#include "algorithms/steps/training_steps.hpp"

namespace forescale {
namespace {

enum class GrpcContent {
  kGradient,
  kParameters,
  kRequests,
  kGradientRequests,
  kApplied,
  kNextStep
};

struct Plan {
  std::vector<Tensor> tensors;
  std::vector<Shard> shards;              // one a tensor
  std::map<int, std::int64_t> of_server;  // shards, of servers that have any
};

Plan grpc_pull_plan(const TrainingJob& job, int servers) {
  Plan plan;
  plan.tensors = tensors_of(job);
  plan.shards =
      shards_of(plan.tensors, static_cast<Sharding>(job.options.choice("sharding")), servers);
  for (const Shard& shard : plan.shards) ++plan.of_server[shard.server];
  return plan;
}

MessageStep tensor_message(const Plan& plan, size_t shard, GrpcContent content, int peer,
                           const HostCosts& host) {
  const bool is_gradient = content == GrpcContent::kGradient;
  const auto first_tag = static_cast<int>(GrpcContent::kNextStep) + 1;
  return {.peer = peer,
          .bytes = plan.shards[shard].bytes,
          .tag = first_tag + static_cast<int>(2 * shard) + (is_gradient ? 0 : 1),
          .phase = is_gradient ? Phase::kAggregation : Phase::kPropagation,
          .label = is_gradient ? "gradient" : "parameters",
          .on_host = host.stages_through_host};
}

MessageStep control_message(GrpcContent content, int peer, std::int64_t bytes) {
  return {.peer = peer,
          .bytes = bytes,
          .tag = static_cast<int>(content),
          .phase = content == GrpcContent::kRequests ? Phase::kPropagation : Phase::kAggregation,
          .label = content == GrpcContent::kNextStep ? "next step" : "requests",
          .on_host = true,
          .control = true};
}

// The order in which a worker's parameters are asked for and served in a step: TensorFlow runs
// requests that are ready in no particular order, another one on every worker and in every step;
// one draw a worker stands for all steps. A server sends a worker its tensors in the worker's
// order.
class PullOrder {
 public:
  explicit PullOrder(const TrainingJob& job) : is_random_(job.options.choice("order") == 0) {}

  std::vector<size_t> of(std::vector<size_t> shards, int worker) const {
    if (!is_random_) return shards;
    std::sort(shards.begin(), shards.end(),
              [&](size_t a, size_t b) { return draw(worker, a) < draw(worker, b); });
    return shards;
  }

 private:
  // SplitMix64 of worker and shard.
  static std::uint64_t draw(int worker, size_t shard) {
    std::uint64_t z =
        ((static_cast<std::uint64_t>(worker) << 32) + shard + 1) * 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  bool is_random_;
};

std::vector<size_t> all_shards(const Plan& plan) {
  std::vector<size_t> shards(plan.shards.size());
  std::iota(shards.begin(), shards.end(), 0);
  return shards;
}

// Runs `serve(thread, number)` on the rank's service threads.
template <class Serve>
std::vector<Request> spawn_service(Worker& worker, int threads, const Serve& serve) {
  std::vector<Request> spawned;
  for (int number = 0; number < threads; ++number)
    spawned.push_back(worker.spawn([serve, number](Worker& thread) { serve(thread, number); }));
  return spawned;
}

class Trainer {
 public:
  Trainer(Worker& worker, const TrainingJob& job, const Plan& plan)
      : worker_(worker),
        job_(job),
        plan_(plan),
        order_(PullOrder(job).of(all_shards(plan), worker.rank())),
        steps_(static_cast<size_t>(job.iterations)) {
    for (Step& step : steps_) step.begun = worker.make_signal();
  }

  void train() {
    const std::vector<Request> threads = spawn_service(
        worker_, job_.host.threads, [this](Worker& thread, int number) { serve(thread, number); });
    for (Step& step : steps_) {
      begin(step);
      take_batch(worker_);
      for (size_t stage = 0; stage < job_.stages.size(); ++stage) {
        if (step.missing[stage] > 0) worker_.wait(step.parameters[stage]);
        worker_.launch(forward(job_.stages[stage]));
      }
      std::vector<Request> done(job_.stages.size());
      for (size_t stage = job_.stages.size(); stage-- > 0;)
        done[stage] = worker_.launch(backward(job_.stages[stage]));
      for (size_t stage = job_.stages.size(); stage-- > 0;) {
        worker_.wait(done[stage]);
        worker_.set(step.gradients[stage]);
      }
      worker_.wait(step.next);
      worker_.end_iteration();
    }
    for (const Request& thread : threads) worker_.wait(thread);
    for (const Request& request : sent_) worker_.wait(request);
  }

 private:
  struct Step {
    Request begun;
    std::vector<int> missing;         // parameters that have not come, by stage
    std::vector<Request> parameters;  // signals by stage: they are on the GPU
    std::vector<Request> gradients;   // signals by stage: they are in the table
    std::map<int, Request> asked;     // by server: its requests for gradients
    Request next;                     // all gradients of all workers are applied
  };

  void begin(Step& step) {
    step.missing.resize(job_.stages.size());
    for (const Tensor& tensor : plan_.tensors) ++step.missing[tensor.stage];
    for (size_t stage = 0; stage < job_.stages.size(); ++stage) {
      step.parameters.push_back(worker_.make_signal());
      step.gradients.push_back(worker_.make_signal());
    }
    for (const auto& [server, shards] : plan_.of_server) {
      const int peer = worker_.worker_count() + server;
      const std::int64_t bytes = shards * job_.host.request_bytes;
      step.asked[server] =
          worker_.receive(control_message(GrpcContent::kGradientRequests, peer, bytes));
      sent_.push_back(worker_.send(control_message(GrpcContent::kRequests, peer, bytes)));
    }
    step.next = worker_.receive(
        control_message(GrpcContent::kNextStep, worker_.worker_count(), job_.host.request_bytes));
    worker_.set(step.begun);
  }

  void serve(Worker& thread, int number) {
    const auto stride = static_cast<size_t>(job_.host.threads);
    const auto first = static_cast<size_t>(number);
    for (Step& step : steps_) {
      thread.wait(step.begun);
      for (size_t i = first; i < order_.size(); i += stride) pull(thread, step, order_[i]);
      for (size_t i = plan_.shards.size(); i-- > 0;)
        if (i % stride == first) give(thread, step, i);
    }
  }

  int server_of(size_t shard) const { return worker_.worker_count() + plan_.shards[shard].server; }

  void pull(Worker& thread, Step& step, size_t shard) {
    const size_t stage = plan_.tensors[plan_.shards[shard].tensor].stage;
    const std::int64_t bytes = plan_.shards[shard].bytes;
    thread.wait(thread.receive(
        tensor_message(plan_, shard, GrpcContent::kParameters, server_of(shard), job_.host)));
    run_if_any(thread, decode_work(job_.host, bytes, Phase::kPropagation));
    copy_tensor(thread, job_, bytes, false);
    if (--step.missing[stage] == 0) thread.set(step.parameters[stage]);
  }

  void give(Worker& thread, Step& step, size_t shard) {
    const std::int64_t bytes = plan_.shards[shard].bytes;
    thread.wait(step.asked[plan_.shards[shard].server]);
    thread.wait(step.gradients[plan_.tensors[plan_.shards[shard].tensor].stage]);
    copy_tensor(thread, job_, bytes, true);
    run_if_any(thread, encode_work(job_.host, bytes, Phase::kAggregation));
    sent_.push_back(thread.send(
        tensor_message(plan_, shard, GrpcContent::kGradient, server_of(shard), job_.host)));
  }

  Worker& worker_;
  const TrainingJob& job_;
  const Plan& plan_;
  std::vector<size_t> order_;  // of the pulls
  std::vector<Step> steps_;
  std::vector<Request> sent_;
};

class GrpcServer {
 public:
  GrpcServer(Worker& worker, const TrainingJob& job, const Plan& plan)
      : worker_(worker),
        job_(job),
        plan_(plan),
        workers_(worker.worker_count()),
        server_(worker.rank() - workers_) {
    for (size_t i = 0; i < plan.shards.size(); ++i)
      if (plan.shards[i].server == server_) own_.push_back(i);
  }

  void serve() {
    if (own_.empty()) return;
    const int threads = std::min(job_.host.threads, workers_);
    const std::vector<Request> spawned =
        spawn_service(worker_, threads, [this, threads](Worker& thread, int number) {
          for (int i = 0; i < job_.iterations; ++i) serve_step(thread, number, threads);
        });
    for (int iteration = 0; iteration < job_.iterations; ++iteration) {
      apply_all();
      finish_step();
    }
    for (const Request& thread : spawned) worker_.wait(thread);
    for (const Request& request : sent_) worker_.wait(request);
  }

 private:
  // One thread's part of a step: the workers `number`, `number` + `threads`, ...
  void serve_step(Worker& thread, int number, int threads) {
    const std::int64_t request_bytes =
        static_cast<std::int64_t>(own_.size()) * job_.host.request_bytes;
    std::map<int, Request> requests;
    std::map<int, std::vector<size_t>> orders;
    for (int peer = number; peer < workers_; peer += threads) {
      requests[peer] = thread.receive(control_message(GrpcContent::kRequests, peer, request_bytes));
      orders[peer] = PullOrder(job_).of(own_, peer);
    }
    for (size_t i = 0; i < own_.size(); ++i) {
      for (int peer = number; peer < workers_; peer += threads) {
        const size_t shard = orders[peer][i];
        if (i == 0) {
          thread.wait(requests[peer]);
          sent_.push_back(
              thread.send(control_message(GrpcContent::kGradientRequests, peer, request_bytes)));
        }
        run_if_any(thread, encode_work(job_.host, plan_.shards[shard].bytes, Phase::kPropagation));
        sent_.push_back(
            thread.send(tensor_message(plan_, shard, GrpcContent::kParameters, peer, job_.host)));
      }
    }
    for (size_t i = own_.size(); i-- > 0;) {
      for (int peer = number; peer < workers_; peer += threads) {
        thread.wait(thread.receive(
            tensor_message(plan_, own_[i], GrpcContent::kGradient, peer, job_.host)));
        run_if_any(thread,
                   decode_work(job_.host, plan_.shards[own_[i]].bytes, Phase::kAggregation));
        arrived_.push_back(plan_.shards[own_[i]].bytes);
        if (idle_) thread.set(idle_);
      }
    }
  }

  // The step's gradients, in the order in which they arrive, by all compute threads together:
  // w -= r g is an addition.
  void apply_all() {
    const size_t gradients = own_.size() * static_cast<size_t>(workers_);
    for (size_t applied = 0; applied < gradients; ++applied) {
      if (arrived_.empty()) {
        idle_ = worker_.make_signal();
        worker_.wait(idle_);
        idle_ = nullptr;
      }
      run_if_any(worker_, add_work(job_.host, arrived_.front()));
      arrived_.pop_front();
    }
  }

  // Server 0 hears from all others, then tells the workers.
  void finish_step() {
    const std::int64_t bytes = job_.host.request_bytes;
    if (server_ != 0) {
      sent_.push_back(worker_.send(control_message(GrpcContent::kApplied, workers_, bytes)));
      return;
    }
    for (const auto& [server, shards] : plan_.of_server)
      if (server != 0)
        worker_.wait(
            worker_.receive(control_message(GrpcContent::kApplied, workers_ + server, bytes)));
    for (int peer = 0; peer < workers_; ++peer)
      sent_.push_back(worker_.send(control_message(GrpcContent::kNextStep, peer, bytes)));
  }

  Worker& worker_;
  const TrainingJob& job_;
  const Plan& plan_;
  int workers_;
  int server_;
  std::vector<size_t> own_;           // shards, in forward order
  std::deque<std::int64_t> arrived_;  // gradients' bytes
  Request idle_;                      // set when one has arrived
  std::vector<Request> sent_;
};

void run_grpc_pull(Worker& worker, const TrainingJob& job) {
  const Plan plan = grpc_pull_plan(job, worker.rank_count() - worker.worker_count());
  if (worker.rank() < worker.worker_count())
    Trainer(worker, job, plan).train();
  else
    GrpcServer(worker, job, plan).serve();
}

const bool kGrpcPullRegistered = Registry<Schedule>::add(
    {.name = "grpc-pull",
     .summary = "TensorFlow: workers pull parameters, servers pull gradients, tensor by tensor",
     .source = "Awan et al., CCGrid 2019, section III-A; tensorflow/benchmarks, tf_cnn_benchmarks",
     .options = {servers_option(0,
                                "TensorFlow, performance guide: a server on every worker's host"),
                 own_hosts_option(),
                 {.name = "sharding",
                  .summary = "which server keeps which tensor",
                  .unit = OptionUnit::kChoice,
                  .fallback = 1,
                  .choices = {"round-robin", "greedy"},
                  .source = "tensorflow/benchmarks, variable_mgr.py: "
                            "GreedyLoadBalancingStrategy by byte_size_load_fn",
                  .tried = {0, 1}},
                 {.name = "order",
                  .summary = "in which parameters come: drawn for every worker, or by layers",
                  .unit = OptionUnit::kChoice,
                  .choices = {"random", "layers"},
                  .source = "Hashemi, Jyothi and Campbell, TicTac, MLSys 2019: TensorFlow's "
                            "transfers come in another order in every step",
                  .tried = {0, 1}}},
     .run = run_grpc_pull,
     .servers = chosen_servers,
     .traffic =
         [](const TrainingJob& job, int workers, const std::vector<int>& /*nodes*/) {
           return shard_traffic(grpc_pull_plan(job, chosen_servers(job, workers).count).shards,
                                workers);
         },
     .is_asynchronous = false,
     .follows_arrivals = true,
     .iterations = 2});

}  // namespace
}  // namespace forescale
