#include "algorithms/training_steps.hpp"

namespace forescale {

Kernel forward(const TrainingStage& stage) {
  return {.stream = 0,
          .duration_s = stage.forward_s,
          .phase = Phase::kForward,
          .label = "forward " + stage.name};
}

Kernel backward(const TrainingStage& stage) {
  return {.stream = 0,
          .duration_s = stage.backward_s,
          .phase = Phase::kBackward,
          .label = "backward " + stage.name};
}

CollectiveStep propagate(const TrainingStage& stage) {
  return {.op = CollectiveOp::kBroadcast,
          .bytes = stage.parameter_bytes,
          .phase = Phase::kPropagation,
          .label = "broadcast " + stage.name};
}

CollectiveStep aggregate(const TrainingStage& stage) {
  return {.op = CollectiveOp::kReduce,
          .bytes = stage.parameter_bytes,
          .phase = Phase::kAggregation,
          .label = "reduce " + stage.name};
}

CollectiveStep propagate_packed(const TrainingJob& job) {
  return {.op = CollectiveOp::kBroadcast,
          .bytes = job.parameter_bytes(),
          .phase = Phase::kPropagation,
          .label = "broadcast packed parameters"};
}

CollectiveStep aggregate_packed(const TrainingJob& job) {
  return {.op = CollectiveOp::kReduce,
          .bytes = job.parameter_bytes(),
          .phase = Phase::kAggregation,
          .label = "reduce packed gradients"};
}

void update_at_root(Worker& worker, const TrainingJob& job) {
  if (worker.rank() != 0) return;
  Kernel update{.stream = 0, .duration_s = 0, .phase = Phase::kUpdate, .label = "update"};
  for (const TrainingStage& stage : job.stages) update.duration_s += stage.update_s;
  worker.run(update);
}

void propagate_under_forward(Worker& worker, const TrainingJob& job) {
  std::vector<Request> arrived(job.stages.size());
  for (size_t i = 0; i < job.stages.size(); ++i)
    if (job.stages[i].parameter_bytes > 0) arrived[i] = worker.start(propagate(job.stages[i]));
  for (size_t i = 0; i < job.stages.size(); ++i) {
    if (arrived[i]) worker.wait(arrived[i]);
    worker.run(forward(job.stages[i]));
  }
}

}  // namespace forescale
