// SC-OB, naive form: the broadcast of layer i+1 under the forward pass of layer i.
//
// S-Caffe, PPoPP 2017, section 4.2 and figure 4. At most one broadcast is in flight, so a layer
// hides the next one's broadcast at best, and only if somebody progresses it while the GPU
// computes.
#include "algorithms/schedule.hpp"
#include "algorithms/steps/training_steps.hpp"

namespace forescale {
namespace {

void run_sc_ob_naive(Worker& worker, const TrainingJob& job) {
  for (int iteration = 0; iteration < job.iterations; ++iteration) {
    worker.run(propagate(job.stages.front()));
    for (size_t i = 0; i < job.stages.size(); ++i) {
      Request next;
      if (i == 0) take_batch(worker);
      if (i + 1 < job.stages.size()) next = worker.start(propagate(job.stages[i + 1]));
      worker.run(forward(job.stages[i]));
      if (next) worker.wait(next);
    }
    for (size_t i = job.stages.size(); i-- > 0;) worker.run(backward(job.stages[i]));
    worker.run(aggregate_packed(job));
    update_at_root(worker, job);
    worker.end_iteration();
  }
}

const bool kScObNaiveRegistered = Registry<Schedule>::add(
    {.name = "sc-ob-naive",
     .summary = "broadcast of layer i+1 under the forward pass of layer i",
     .source = "S-Caffe, PPoPP 2017, section 4.2, figure 4",
     .run = run_sc_ob_naive,
     .servers = nullptr,
     .traffic = [](const TrainingJob& job, int /*workers*/, const std::vector<int>& /*nodes*/) {
       return layered_broadcast_traffic(job);
     }});

}  // namespace
}  // namespace forescale
