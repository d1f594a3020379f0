// NVIDIA Caffe 0.15 on several GPUs of one node: one broadcast of the packed parameters, all layers
// forward, all layers backward, then all GPUs at once in one all-reduce of the packed gradients,
// and every GPU updates its own copy.
//
// NVIDIA/caffe, src/caffe/parallel.cpp at 029c9056: on_start() broadcasts and waits, allreduce()
// meets at a barrier of all solver threads and reduces the one buffer, unless per-parameter
// reduction is asked for. T = T(bcast) + T(forward) + T(backward) + T(all-reduce) + T(update).
#include "algorithms/steps/all_reduce_steps.hpp"
#include "algorithms/steps/training_steps.hpp"

namespace forescale {
namespace {

CollectiveStep all_reduce_packed(const TrainingJob& job) {
  return all_reduce(job.parameter_bytes(), "packed gradients");
}

void run_nvidia_caffe(Worker& worker, const TrainingJob& job) {
  for (int iteration = 0; iteration < job.iterations; ++iteration) {
    worker.run(propagate_packed(job));
    take_batch(worker);
    for (const TrainingStage& stage : job.stages) worker.run(forward(stage));
    for (size_t i = job.stages.size(); i-- > 0;) worker.run(backward(job.stages[i]));
    worker.run(all_reduce_packed(job));
    update_own_copy(worker, job);
    worker.end_iteration();
  }
}

const bool kNvidiaCaffeRegistered = Registry<Schedule>::add(
    {.name = "nvidia-caffe",
     .summary = "broadcast, forward, backward, all-reduce of the packed gradients, in turn",
     .source = "NVIDIA/caffe, src/caffe/parallel.cpp at 029c9056 (branch of release 0.15)",
     .run = run_nvidia_caffe,
     .servers = nullptr,
     .traffic = [](const TrainingJob& job, int /*workers*/, const std::vector<int>& /*nodes*/) {
       return Traffic{.collectives = {propagate_packed(job), all_reduce_packed(job)},
                      .messages = {}};
     }});

}  // namespace
}  // namespace forescale
