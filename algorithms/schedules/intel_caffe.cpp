// Intel-Caffe on MLSL, its library for all-reduce: each layer's gradients are all-reduced from when
// they are there, and every rank updates its own copy, layer by layer, after its backward pass.
//
// intel/caffe, src/caffe/multinode/multi_solver.cpp at 02e08294 (ForwardBackwardImpl) and
// include/caffe/multinode/multi_sync.hpp at 07957824. With Caffe's GPU mode the gradients are
// copied to the host before a layer's all-reduce starts (mutable_cpu_diff), on the default stream:
// copies alternate with layers, they do not overlap. MLSL's servers are processes of their own, and
// memory that is not theirs, such as what Caffe pins for its GPU, is copied into theirs and back by
// the thread that starts and waits (intel/MLSL, src/comm_ep.cpp at c5bc7e88: ReplaceIn,
// ReplaceOut). All-reduces are waited for from the first layer on, each sum is copied to the GPU
// and applied there. A parameter server, which earlier versions had, is the system intel-caffe-ps.
#include "algorithms/steps/all_reduce_steps.hpp"
#include "algorithms/steps/training_steps.hpp"

namespace forescale {
namespace {

CollectiveStep all_reduce_on_host(const TrainingStage& stage) {
  CollectiveStep step = all_reduce(stage.parameter_bytes, stage.name);
  step.on_host = true;
  return step;
}

// Between Caffe's buffers and those of MLSL: one read, one written.
HostWork copy_in_memory(const TrainingJob& job, const TrainingStage& stage) {
  const auto bytes = static_cast<double>(stage.parameter_bytes);
  return {.duration_s = bytes * job.host.copy_s_per_byte,
          .memory_bytes = 2 * bytes,
          .phase = Phase::kAggregation,
          .label = "copy " + stage.name};
}

void stage_through_host(Worker& worker, const TrainingJob& job, const TrainingStage& stage,
                        bool to_host) {
  if (job.host.stages_through_host)
    worker.run(HostCopy{.bytes = stage.parameter_bytes,
                        .to_host = to_host,
                        .label = to_host ? "gradients to host" : "sum to GPU"});
}

Request start_all_reduce(Worker& worker, const TrainingJob& job, const TrainingStage& stage) {
  stage_through_host(worker, job, stage, true);
  worker.run(copy_in_memory(job, stage));
  return worker.start(all_reduce_on_host(stage));
}

Request apply(Worker& worker, const TrainingJob& job, const TrainingStage& stage,
              const Request& sum) {
  worker.wait(sum);
  worker.run(copy_in_memory(job, stage));
  stage_through_host(worker, job, stage, false);
  return worker.launch(Kernel{.stream = 0,
                              .duration_s = stage.update_s,
                              .phase = Phase::kUpdate,
                              .label = "update " + stage.name});
}

void run_intel_caffe(Worker& worker, const TrainingJob& job) {
  if (worker.worker_count() == 1) {
    train_alone(worker, job);
    return;
  }
  for (int iteration = 0; iteration < job.iterations; ++iteration) {
    take_batch(worker);
    for (const TrainingStage& stage : job.stages) worker.launch(forward(stage));
    std::vector<Request> sums(job.stages.size());
    for (size_t i = job.stages.size(); i-- > 0;) {
      const Request gradients = worker.launch(backward(job.stages[i]));
      if (job.stages[i].parameter_bytes == 0) continue;
      worker.wait(gradients);
      sums[i] = start_all_reduce(worker, job, job.stages[i]);
    }
    Request updated;
    for (size_t i = 0; i < job.stages.size(); ++i)
      if (sums[i]) updated = apply(worker, job, job.stages[i], sums[i]);
    if (updated) worker.wait(updated);
    worker.end_iteration();
  }
}

const bool kIntelCaffeRegistered = Registry<Schedule>::add(
    {.name = "intel-caffe",
     .summary = "all-reduces on the host under the backward pass, updates after it",
     .source = "intel/caffe, src/caffe/multinode/multi_solver.cpp",
     .options = {},
     .run = run_intel_caffe,
     .servers = nullptr,
     .traffic = [](const TrainingJob& job, int /*workers*/, const std::vector<int>& /*nodes*/) {
       Traffic traffic;
       for (const TrainingStage& stage : job.stages)
         if (stage.parameter_bytes > 0) traffic.collectives.push_back(all_reduce_on_host(stage));
       return traffic;
     }});

}  // namespace
}  // namespace forescale
