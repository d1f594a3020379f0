#include "algorithms/parameter_servers/push_pull.hpp"

#include "algorithms/steps/training_steps.hpp"

namespace forescale {
namespace {

// Messages of shard i.
enum class Content { kGradient, kParameters, kRequest };

MessageStep message(const PushPull& plan, size_t shard, Content content, int peer,
                    const HostCosts& host) {
  const bool is_gradient = content == Content::kGradient;
  MessageStep step{.peer = peer,
                   .bytes = plan.shards[shard].bytes,
                   .tag = static_cast<int>(3 * shard) + static_cast<int>(content),
                   .phase = is_gradient ? Phase::kAggregation : Phase::kPropagation,
                   .label = is_gradient ? "push" : "pull",
                   .on_host = host.stages_through_host};
  if (content == Content::kRequest) {
    step.bytes = host.request_bytes;
    step.label = "pull request";
    step.on_host = true;
    step.control = true;
  }
  return step;
}

class Client {
 public:
  Client(Worker& worker, const TrainingJob& job, const PushPull& plan)
      : worker_(worker), job_(job), plan_(plan), shards_of_tensor_(plan.tensors.size()) {
    for (size_t i = 0; i < plan.shards.size(); ++i)
      shards_of_tensor_[plan.shards[i].tensor].push_back(i);
    arriving_.resize(plan.shards.size());
  }

  void train() {
    for (int iteration = 0; iteration < job_.iterations; ++iteration) {
      take_batch(worker_);
      size_t tensor = 0;
      for (size_t stage = 0; stage < job_.stages.size(); ++stage) {
        for (; tensor < plan_.tensors.size() && plan_.tensors[tensor].stage == stage; ++tensor)
          if (iteration > 0) pull(tensor);
        worker_.launch(forward(job_.stages[stage]));
      }
      std::vector<Request> ready(job_.stages.size());
      for (size_t stage = job_.stages.size(); stage-- > 0;)
        ready[stage] = worker_.launch(backward(job_.stages[stage]));
      for (size_t i = 0; i < plan_.shards.size(); ++i)
        arriving_[i] =
            worker_.receive(message(plan_, i, Content::kParameters, server_of(i), job_.host));
      for (tensor = plan_.tensors.size(); tensor-- > 0;) {
        worker_.wait(ready[plan_.tensors[tensor].stage]);
        push(tensor);
      }
      worker_.wait(ready.front());
      worker_.end_iteration();
    }
    for (size_t tensor = 0; tensor < plan_.tensors.size(); ++tensor) pull(tensor);
    for (const Request& sent : sent_) worker_.wait(sent);
  }

 private:
  int server_of(size_t shard) const { return worker_.worker_count() + plan_.shards[shard].server; }

  void push(size_t tensor) {
    const std::int64_t bytes = plan_.tensors[tensor].bytes;
    copy_tensor(worker_, job_, bytes, true);
    for (const size_t i : shards_of_tensor_[tensor]) {
      run_if_any(worker_, encode_work(job_.host, plan_.shards[i].bytes, Phase::kAggregation));
      sent_.push_back(worker_.send(message(plan_, i, Content::kGradient, server_of(i), job_.host)));
      if (job_.host.request_bytes > 0)
        sent_.push_back(
            worker_.send(message(plan_, i, Content::kRequest, server_of(i), job_.host)));
    }
  }

  void pull(size_t tensor) {
    for (const size_t i : shards_of_tensor_[tensor]) {
      worker_.wait(arriving_[i]);
      run_if_any(worker_, decode_work(job_.host, plan_.shards[i].bytes, Phase::kPropagation));
    }
    copy_tensor(worker_, job_, plan_.tensors[tensor].bytes, false);
  }

  Worker& worker_;
  const TrainingJob& job_;
  const PushPull& plan_;
  std::vector<std::vector<size_t>> shards_of_tensor_;
  std::vector<Request> arriving_;  // parameters, by shard
  std::vector<Request> sent_;
};

class Server {
 public:
  Server(Worker& worker, const TrainingJob& job, const PushPull& plan)
      : worker_(worker), job_(job), plan_(plan), workers_(worker.worker_count()) {
    const int server = worker.rank() - workers_;
    for (size_t i = plan.shards.size(); i-- > 0;)
      if (plan.shards[i].server == server) own_.push_back(i);
  }

  void serve() {
    if (plan_.asynchronous) {
      ProcessorThreads processor(1);  // that adds with all its threads
      std::vector<Request> threads;
      for (int peer = 0; peer < workers_; ++peer)
        threads.push_back(worker_.spawn([this, peer, &processor](Worker& thread) {
          for (int i = 0; i < job_.iterations; ++i) answer(thread, peer, processor);
        }));
      for (const Request& thread : threads) worker_.wait(thread);
      return;
    }
    for (int i = 0; i < job_.iterations; ++i) aggregate_all();
  }

 private:
  struct Incoming {
    Request gradient;
    Request pull;  // null: not asked for
  };
  Incoming receive(Worker& thread, size_t shard, int peer) {
    Incoming incoming;
    incoming.gradient = thread.receive(message(plan_, shard, Content::kGradient, peer, job_.host));
    if (job_.host.request_bytes > 0)
      incoming.pull = thread.receive(message(plan_, shard, Content::kRequest, peer, job_.host));
    return incoming;
  }

  // Synchronous: one iteration of all workers.
  void aggregate_all() {
    std::vector<std::vector<Incoming>> incoming(own_.size());
    for (size_t i = 0; i < own_.size(); ++i)
      for (int peer = 0; peer < workers_; ++peer)
        incoming[i].push_back(receive(worker_, own_[i], peer));
    std::vector<Request> sent;
    for (size_t i = 0; i < own_.size(); ++i) {
      const std::int64_t bytes = plan_.shards[own_[i]].bytes;
      for (int peer = 0; peer < workers_; ++peer) {
        worker_.wait(incoming[i][static_cast<size_t>(peer)].gradient);
        run_if_any(worker_, decode_work(job_.host, bytes, Phase::kAggregation));
        // The first gradient is where the others are added to.
        if (peer > 0) run_if_any(worker_, add_work(job_.host, bytes));
      }
      run_if_any(worker_, update_work(job_.host, bytes));
      for (int peer = 0; peer < workers_; ++peer) {
        if (const Request& pull = incoming[i][static_cast<size_t>(peer)].pull) worker_.wait(pull);
        run_if_any(worker_, encode_work(job_.host, bytes, Phase::kPropagation));
        sent.push_back(
            worker_.send(message(plan_, own_[i], Content::kParameters, peer, job_.host)));
      }
    }
    for (const Request& request : sent) worker_.wait(request);
  }

  // Asynchronous: one iteration of one worker.
  void answer(Worker& thread, int peer, ProcessorThreads& processor) {
    std::vector<Incoming> incoming;
    for (const size_t shard : own_) incoming.push_back(receive(thread, shard, peer));
    std::vector<Request> sent;
    for (size_t i = 0; i < own_.size(); ++i) {
      const std::int64_t bytes = plan_.shards[own_[i]].bytes;
      thread.wait(incoming[i].gradient);
      processor.run(thread, decode_work(job_.host, bytes, Phase::kAggregation));
      processor.run(thread, update_work(job_.host, bytes));
      if (incoming[i].pull) thread.wait(incoming[i].pull);
      processor.run(thread, encode_work(job_.host, bytes, Phase::kPropagation));
      sent.push_back(thread.send(message(plan_, own_[i], Content::kParameters, peer, job_.host)));
    }
    for (const Request& request : sent) thread.wait(request);
  }

  Worker& worker_;
  const TrainingJob& job_;
  const PushPull& plan_;
  int workers_;
  std::vector<size_t> own_;  // shards, in the order of their gradients
};

}  // namespace

void run_push_pull(Worker& worker, const TrainingJob& job, const PushPull& plan) {
  if (worker.rank() < worker.worker_count())
    Client(worker, job, plan).train();
  else
    Server(worker, job, plan).serve();
}

}  // namespace forescale
