// Every layer's gradients all-reduced under the backward pass of the layers before it: a helper
// thread runs the backward passes, the main thread sits in the all-reduces, every rank updates its
// own copy. What S-Caffe's SC-OBR does, with all-reduce for reduce and broadcast; no paper's
// system.
#include "algorithms/steps/all_reduce_steps.hpp"
#include "algorithms/steps/training_steps.hpp"

namespace forescale {
namespace {

void run_layer_all_reduce(Worker& worker, const TrainingJob& job) {
  for (int iteration = 0; iteration < job.iterations; ++iteration) {
    take_batch(worker);
    for (const TrainingStage& stage : job.stages) worker.launch(forward(stage));
    std::vector<Request> gradient_ready;
    for (size_t i = 0; i < job.stages.size(); ++i) gradient_ready.push_back(worker.make_signal());
    const Request helper = worker.spawn([&job, &gradient_ready](Worker& thread) {
      for (size_t i = job.stages.size(); i-- > 0;) {
        thread.run(backward(job.stages[i]));
        thread.set(gradient_ready[i]);
      }
    });
    for (size_t i = job.stages.size(); i-- > 0;) {
      worker.wait(gradient_ready[i]);
      if (job.stages[i].parameter_bytes > 0)
        worker.run(all_reduce(job.stages[i].parameter_bytes, job.stages[i].name));
    }
    worker.wait(helper);
    update_own_copy(worker, job);
    worker.end_iteration();
  }
}

const bool kLayerAllReduceRegistered = Registry<Schedule>::add(
    {.name = "layer-all-reduce",
     .summary = "all-reduces layer by layer under the backward pass of a helper thread",
     .source = "S-Caffe's SC-OBR (PPoPP 2017, section 4.3) with all-reduce",
     .options = {},
     .run = run_layer_all_reduce,
     .servers = nullptr,
     .traffic =
         [](const TrainingJob& job, int /*workers*/, const std::vector<int>& /*nodes*/) {
           Traffic traffic;
           for (const TrainingStage& stage : job.stages)
             if (stage.parameter_bytes > 0)
               traffic.collectives.push_back(all_reduce(stage.parameter_bytes, stage.name));
           return traffic;
         },
     .workers_are_alike = true});

}  // namespace
}  // namespace forescale
