#include "algorithms/steps/all_reduce_steps.hpp"

#include <algorithm>

#include "algorithms/steps/training_steps.hpp"

namespace forescale {

std::vector<Tensor> gradients_of(const TrainingJob& job) {
  std::vector<Tensor> gradients = tensors_of(job);
  std::reverse(gradients.begin(), gradients.end());
  return gradients;
}

CollectiveStep all_reduce(std::int64_t bytes, const std::string& what) {
  return {.op = CollectiveOp::kAllReduce,
          .bytes = bytes,
          .phase = Phase::kAggregation,
          .label = "all-reduce " + what};
}

Kernel pack(const TrainingJob& job, std::int64_t bytes, int stream, const std::string& label) {
  return {.stream = stream,
          .duration_s = static_cast<double>(bytes) * job.gpu_pack_s_per_byte,
          .phase = Phase::kAggregation,
          .label = label};
}

void update_own_copy(Worker& worker, const TrainingJob& job) {
  Kernel update{.stream = 0, .duration_s = 0, .phase = Phase::kUpdate, .label = "update"};
  for (const TrainingStage& stage : job.stages) update.duration_s += stage.update_s;
  worker.run(update);
}

void train_alone(Worker& worker, const TrainingJob& job) {
  for (int iteration = 0; iteration < job.iterations; ++iteration) {
    take_batch(worker);
    for (const TrainingStage& stage : job.stages) worker.launch(forward(stage));
    for (size_t i = job.stages.size(); i-- > 0;) worker.launch(backward(job.stages[i]));
    update_own_copy(worker, job);
    worker.end_iteration();
  }
}

Traffic all_reduce_traffic(const std::vector<GradientGroup>& groups) {
  Traffic traffic;
  for (const GradientGroup& group : groups)
    traffic.collectives.push_back(all_reduce(group.bytes, "gradients"));
  return traffic;
}

}  // namespace forescale
