// SC-OBR: SC-OB, and a helper thread runs the backward layers while the main thread sits in the
// blocking reduce of the layer before.
//
// S-Caffe, PPoPP 2017, section 4.3 and figure 6: the two threads synchronise by a flag per layer;
// the reduce of layer n runs under the backward pass of layer n-1. The main thread is inside the
// communication call all that time, so the overlap needs no asynchronous progress.
#include "algorithms/schedule.hpp"
#include "algorithms/steps/training_steps.hpp"

namespace forescale {
namespace {

void run_sc_obr(Worker& worker, const TrainingJob& job) {
  for (int iteration = 0; iteration < job.iterations; ++iteration) {
    propagate_under_forward(worker, job);
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
      if (job.stages[i].parameter_bytes > 0) worker.run(aggregate(job.stages[i]));
    }
    worker.wait(helper);
    update_at_root(worker, job);
    worker.end_iteration();
  }
}

const bool kScObrRegistered = Registry<Schedule>::add(
    {.name = "sc-obr",
     .summary = "SC-OB with layer-wise reduces under the backward pass of a helper thread",
     .source = "S-Caffe, PPoPP 2017, section 4.3, figure 6",
     .run = run_sc_obr,
     .servers = nullptr,
     .traffic = [](const TrainingJob& job, int /*workers*/, const std::vector<int>& /*nodes*/) {
       return layered_traffic(job);
     }});

}  // namespace
}  // namespace forescale
