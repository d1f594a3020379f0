#include "algorithms/steps/negotiated_all_reduce.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/steps/training_steps.hpp"

namespace forescale {
namespace {

constexpr int kPackingStream = 1;
constexpr int kNegotiation = 1;  // communicator; payload travels on 0
constexpr std::int64_t kLengthBytes = 4;

// One iteration of one rank.
class Exchange {
 public:
  Exchange(const TrainingJob& job, const NegotiationRules& rules,
           const std::vector<Tensor>& gradients)
      : job_(job), rules_(rules), gradients_(gradients), computed_(job.stages.size()) {}

  void run(Worker& worker) {
    first_announcement_ = worker.make_signal();
    const Request background = worker.spawn([this](Worker& thread) { tick_until_done(thread); });
    for (const TrainingStage& stage : job_.stages) worker.launch(forward(stage));
    size_t next = 0;
    for (size_t i = job_.stages.size(); i-- > 0;) {
      computed_[i] = worker.launch(backward(job_.stages[i]));
      if (!rules_.announces_when_queued) worker.wait(computed_[i]);
      while (next < gradients_.size() && gradients_[next].stage == i) ++next;
      if (!rules_.announces_when_queued) announce(worker, next);
    }
    announce(worker, next);
    worker.wait(background);
  }

 private:
  void announce(Worker& worker, size_t count) {
    if (count == 0) return;
    announced_ = count;
    worker.set(first_announcement_);
  }

  void tick_until_done(Worker& thread) {
    if (gradients_.empty()) return;
    thread.wait(first_announcement_);
    double next_tick_s = thread.now_s() + rules_.cycle_s / 2;
    Request queued;
    for (size_t done = 0; done < gradients_.size();) {
      const double pause_s = next_tick_s - thread.now_s();
      if (pause_s > 0) thread.wait(thread.timer(pause_s));
      next_tick_s = thread.now_s() + rules_.cycle_s;
      const size_t common = negotiate(thread, gradients_.size() - done);
      for (const GradientGroup& group : fuse(gradients_, done, common, rules_.fusion_bytes)) {
        wait_for_data(thread, group);
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

  // How many tensors all ranks have announced. `open`: those that are not reduced yet.
  size_t negotiate(Worker& thread, size_t open) {
    const auto value = static_cast<std::int64_t>(announced_);
    const std::int64_t request_bytes = rules_.request_bytes * static_cast<std::int64_t>(open);
    CollectiveStep step{.op = CollectiveOp::kGather,
                        .bytes = kLengthBytes * thread.worker_count(),
                        .communicator = kNegotiation,
                        .label = "negotiation: lengths",
                        .on_host = true,
                        .value = value,
                        .control = true};
    thread.run(step);
    step.bytes = request_bytes * thread.worker_count();
    step.label = "negotiation: requests";
    const Request gathered = thread.start(step);
    thread.wait(gathered);
    step.op = CollectiveOp::kBroadcast;
    step.bytes = kLengthBytes;
    step.label = "negotiation: length of the response";
    // Only the coordinator knows the least of all; the others must not go below it.
    step.value = static_cast<std::int64_t>(gradients_.size());
    if (thread.rank() == 0) {
      step.value = thread.value(gathered);
      const double requests = static_cast<double>(open) * thread.worker_count();
      if (rules_.request_s > 0)
        thread.run(
            HostWork{.duration_s = requests * rules_.request_s, .label = "coordinator's tables"});
    }
    thread.run(step);
    step.bytes = std::max<std::int64_t>(request_bytes, 1);
    step.label = "negotiation: response";
    const Request answered = thread.start(step);
    thread.wait(answered);
    return static_cast<size_t>(thread.value(answered));
  }

  void wait_for_data(Worker& thread, const GradientGroup& group) {
    for (size_t i = group.begin; i < group.end; ++i) thread.wait(computed_[gradients_[i].stage]);
  }

  void reduce(Worker& thread, const GradientGroup& group) {
    const size_t tensors = group.end - group.begin;
    if (tensors > 1) copy(thread, group, "pack");
    thread.run(all_reduce(group.bytes,
                          tensors == 1 ? "one tensor" : fmt::format("{} fused tensors", tensors)));
    if (tensors > 1) copy(thread, group, "unpack");
  }

  // Between the tensors and the fusion buffer: issuing a tensor's copy hides behind the one before.
  void copy(Worker& thread, const GradientGroup& group, const char* label) {
    thread.wait(thread.timer(job_.gpu_launch_s));
    thread.run(pack(job_, group.bytes, kPackingStream, label));
  }

  const TrainingJob& job_;
  const NegotiationRules& rules_;
  const std::vector<Tensor>& gradients_;
  std::vector<Request> computed_;  // by stage; written before its gradients are announced
  size_t announced_ = 0;
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
    Exchange(job, rules, gradients).run(worker);
    update_own_copy(worker, job);
    worker.end_iteration();
  }
}

}  // namespace forescale
