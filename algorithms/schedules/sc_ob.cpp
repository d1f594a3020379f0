// SC-OB, multi-stage: every layer's broadcast is posted at the start, each waited for just before
// its layer's forward pass.
//
// S-Caffe, PPoPP 2017, section 4.2 and figure 5. Hinges on who progresses a posted broadcast: with
// progress only inside calls, forwarding down the tree happens in the waits and the gain goes.
#include "algorithms/schedule.hpp"
#include "algorithms/steps/training_steps.hpp"

namespace forescale {
namespace {

void run_sc_ob(Worker& worker, const TrainingJob& job) {
  for (int iteration = 0; iteration < job.iterations; ++iteration) {
    propagate_under_forward(worker, job);
    for (size_t i = job.stages.size(); i-- > 0;) worker.run(backward(job.stages[i]));
    worker.run(aggregate_packed(job));
    update_at_root(worker, job);
    worker.end_iteration();
  }
}

const bool kScObRegistered = Registry<Schedule>::add(
    {.name = "sc-ob",
     .summary = "all broadcasts posted at the start, each waited for just before its layer",
     .source = "S-Caffe, PPoPP 2017, section 4.2, figure 5",
     .run = run_sc_ob,
     .servers = nullptr,
     .traffic = [](const TrainingJob& job, int /*workers*/, const std::vector<int>& /*nodes*/) {
       return layered_broadcast_traffic(job);
     }});

}  // namespace
}  // namespace forescale
