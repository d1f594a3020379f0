#include "algorithms/steps/negotiated_all_reduce.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/steps/training_steps.hpp"

namespace forescale {
namespace {

constexpr int kPackingStream = 1;
constexpr int kNegotiation = 1;  // communicator; payload travels on 0
constexpr std::int64_t kLengthBytes = 4;
constexpr std::int64_t kBitsPerByte = 8;

// When the framework has queued the kernels that compute a gradient, counted from the begin of the
// iteration: all forward passes, then backward from the last stage down.
double queued_s(const TrainingJob& job, const NegotiationRules& rules, const Tensor& gradient) {
  return static_cast<double>(2 * job.stages.size() - gradient.stage) * rules.queue_s;
}

// One iteration of one rank.
class NegotiatedExchange {
 public:
  NegotiatedExchange(const TrainingJob& job, const NegotiationRules& rules,
                     const std::vector<Tensor>& gradients, bool is_cached)
      : job_(job),
        rules_(rules),
        gradients_(gradients),
        is_cached_(is_cached),
        computed_(job.stages.size()) {}

  void run(Worker& worker) {
    begin_s_ = worker.now_s();
    first_announcement_ = worker.make_signal();
    const Request background = worker.spawn([this](Worker& thread) { tick_until_done(thread); });
    for (const TrainingStage& stage : job_.stages) worker.launch(forward(stage));
    for (size_t i = job_.stages.size(), next = 0; i-- > 0;) {
      Kernel kernel = backward(job_.stages[i]);
      for (; next < gradients_.size() && gradients_[next].stage == i; ++next)
        kernel.duration_s += rules_.callback_s;
      computed_[i] = worker.launch(kernel);
    }
    if (!rules_.announces_when_queued) announce_when_computed(worker);
    worker.set(first_announcement_);
    worker.wait(background);
  }

 private:
  void announce_when_computed(Worker& worker) {
    for (const Tensor& gradient : gradients_) {
      worker.wait(computed_[gradient.stage]);
      ++computed_count_;
      worker.set(first_announcement_);
    }
  }

  // How many gradients this rank has announced.
  size_t announced(double now_s) const {
    if (!rules_.announces_when_queued) return computed_count_;
    // What is queued in this very instant counts, whatever the last digit says.
    const double since_s = (now_s - begin_s_) * (1 + 1e-12);
    return static_cast<size_t>(std::partition_point(gradients_.begin(), gradients_.end(),
                                                    [&](const Tensor& gradient) {
                                                      return queued_s(job_, rules_, gradient) <=
                                                             since_s;
                                                    }) -
                               gradients_.begin());
  }

  void tick_until_done(Worker& thread) {
    if (gradients_.empty()) return;
    thread.wait(first_announcement_);
    double next_tick_s = rules_.announces_when_queued
                             ? begin_s_ + queued_s(job_, rules_, gradients_.front())
                             : thread.now_s();
    next_tick_s += rules_.cycle_s / 2;
    Request queued;
    for (size_t done = 0; done < gradients_.size();) {
      const double pause_s = next_tick_s - thread.now_s();
      if (pause_s > 0) thread.wait(thread.timer(pause_s));
      next_tick_s = thread.now_s() + rules_.cycle_s;
      const size_t common = is_cached_ ? agree(thread) : negotiate(thread, done);
      for (const GradientGroup& group : fuse(gradients_, done, common, rules_.fusion_bytes)) {
        prepare(thread, group);
        if (rules_.blocks_in_all_reduce) {
          reduce(thread, group);
        } else {
          queued = thread.spawn([this, group, before = queued](Worker& stream) {
            if (before) stream.wait(before);
            reduce(stream, group);
          });
        }
      }
      done = common;
      if (rules_.cycle_after_work) next_tick_s = thread.now_s() + rules_.cycle_s;
    }
    if (queued) thread.wait(queued);
  }

  // How many tensors all ranks have announced, `done` of which are reduced.
  size_t negotiate(Worker& thread, size_t done) {
    const size_t mine = announced(thread.now_s());
    const std::int64_t request_bytes =
        rules_.request_bytes * static_cast<std::int64_t>(gradients_.size() - done);
    CollectiveStep step{.op = CollectiveOp::kGather,
                        .bytes = kLengthBytes * thread.worker_count(),
                        .communicator = kNegotiation,
                        .label = "negotiation: lengths",
                        .on_host = true,
                        .value = static_cast<std::int64_t>(mine),
                        .control = true};
    thread.run(step);
    step.bytes = request_bytes * thread.worker_count();
    step.label = "negotiation: requests";
    const Request gathered = thread.start(step);
    thread.wait(gathered);
    if (thread.rank() == 0) {
      const double requests = static_cast<double>(mine - told_) * thread.worker_count();
      if (requests * rules_.request_s > 0)
        thread.run(
            HostWork{.duration_s = requests * rules_.request_s, .label = "coordinator's tables"});
    }
    told_ = mine;
    step.op = CollectiveOp::kBroadcast;
    step.bytes = kLengthBytes;
    step.label = "negotiation: length of the response";
    step.value = known_to_root(thread, gathered);
    thread.run(step);
    step.bytes = std::max<std::int64_t>(request_bytes, 1);
    step.label = "negotiation: response";
    const Request answered = thread.start(step);
    thread.wait(answered);
    return static_cast<size_t>(thread.value(answered));
  }

  // The same by bits of the response cache.
  size_t agree(Worker& thread) {
    CollectiveStep step{
        .op = CollectiveOp::kReduce,
        .bytes = (static_cast<std::int64_t>(gradients_.size()) + kBitsPerByte - 1) / kBitsPerByte,
        .communicator = kNegotiation,
        .label = "negotiation: bits",
        .on_host = true,
        .value = static_cast<std::int64_t>(announced(thread.now_s())),
        .control = true};
    const Request reduced = thread.start(step);
    thread.wait(reduced);
    step.op = CollectiveOp::kBroadcast;
    step.label = "negotiation: common bits";
    step.value = known_to_root(thread, reduced);
    const Request answered = thread.start(step);
    thread.wait(answered);
    return static_cast<size_t>(thread.value(answered));
  }

  // Only the coordinator knows the least of all; the others must not go below it.
  std::int64_t known_to_root(const Worker& thread, const Request& request) const {
    return thread.rank() == 0 ? thread.value(request)
                              : static_cast<std::int64_t>(gradients_.size());
  }

  // Waits until the group can be reduced: the coordinator tells the others, the data is there.
  void prepare(Worker& thread, const GradientGroup& group) {
    if (thread.rank() == 0 && rules_.answer_s > 0)
      thread.wait(thread.timer(rules_.answer_s * (thread.worker_count() - 1)));
    // Kernels of a stream end in order.
    thread.wait(computed_[gradients_[group.end - 1].stage]);
    if (rules_.response_s > 0) thread.wait(thread.timer(rules_.response_s));
  }

  void reduce(Worker& thread, const GradientGroup& group) {
    const size_t tensors = group.end - group.begin;
    if (tensors > 1) copy(thread, group, "pack");
    thread.run(all_reduce(group.bytes,
                          tensors == 1 ? "one tensor" : fmt::format("{} fused tensors", tensors)));
    if (tensors > 1) copy(thread, group, "unpack");
  }

  // Between the tensors and the fusion buffer, each by a copy of its own.
  void copy(Worker& thread, const GradientGroup& group, const char* label) {
    const auto others = static_cast<double>(group.end - group.begin - 1);
    thread.wait(thread.timer(job_.gpu_launch_s + others * rules_.copy_s));
    thread.run(pack(job_, group.bytes, kPackingStream, label));
  }

  const TrainingJob& job_;
  const NegotiationRules& rules_;
  const std::vector<Tensor>& gradients_;
  bool is_cached_;
  std::vector<Request> computed_;  // by stage; written before its gradients are announced
  double begin_s_ = 0;
  size_t computed_count_ = 0;  // gradients
  size_t told_ = 0;            // to the coordinator
  Request first_announcement_;
};

}  // namespace

std::vector<GradientGroup> fuse(const std::vector<Tensor>& gradients, size_t begin, size_t end,
                                std::int64_t fusion_bytes) {
  std::vector<GradientGroup> groups;
  for (size_t i = begin; i < end; ++i) {
    const std::int64_t bytes = gradients[i].bytes;
    if (groups.empty() || groups.back().bytes + bytes > fusion_bytes)
      groups.push_back({.begin = i, .end = i + 1, .bytes = bytes});
    else
      groups.back() = {
          .begin = groups.back().begin, .end = i + 1, .bytes = groups.back().bytes + bytes};
  }
  return groups;
}

void train_with_negotiation(Worker& worker, const TrainingJob& job, const NegotiationRules& rules) {
  if (worker.worker_count() == 1) {
    train_alone(worker, job);
    return;
  }
  const std::vector<Tensor> gradients = gradients_of(job);
  for (int iteration = 0; iteration < job.iterations; ++iteration) {
    take_batch(worker);
    NegotiatedExchange(job, rules, gradients, rules.response_cache && iteration > 0).run(worker);
    update_own_copy(worker, job);
    worker.end_iteration();
  }
}

}  // namespace forescale
