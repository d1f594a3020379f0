#include "algorithms/steps/training_steps.hpp"

namespace forescale {

void take_batch(Worker& worker) { worker.wait(worker.next_batch()); }

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

Traffic packed_traffic(const TrainingJob& job) {
  return {.collectives = {propagate_packed(job), aggregate_packed(job)}, .messages = {}};
}

Traffic layered_broadcast_traffic(const TrainingJob& job) {
  Traffic traffic;
  for (const TrainingStage& stage : job.stages)
    if (stage.parameter_bytes > 0) traffic.collectives.push_back(propagate(stage));
  traffic.collectives.push_back(aggregate_packed(job));
  return traffic;
}

Traffic layered_traffic(const TrainingJob& job) {
  Traffic traffic = layered_broadcast_traffic(job);
  traffic.collectives.pop_back();
  for (const TrainingStage& stage : job.stages)
    if (stage.parameter_bytes > 0) traffic.collectives.push_back(aggregate(stage));
  return traffic;
}

void propagate_under_forward(Worker& worker, const TrainingJob& job) {
  std::vector<Request> arrived(job.stages.size());
  for (size_t i = 0; i < job.stages.size(); ++i)
    if (job.stages[i].parameter_bytes > 0) arrived[i] = worker.start(propagate(job.stages[i]));
  take_batch(worker);
  for (size_t i = 0; i < job.stages.size(); ++i) {
    if (arrived[i]) worker.wait(arrived[i]);
    worker.run(forward(job.stages[i]));
  }
}

}  // namespace forescale
