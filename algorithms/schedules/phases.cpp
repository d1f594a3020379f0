// Phases: propagate, forward, backward, aggregate, update, one after the other.
//
// Caffe's workflow, and S-Caffe Basic (SC-B), which is the same over MPI: one broadcast of the
// packed parameters, all layers forward, all layers backward, one reduce of the packed gradients to
// the root, which updates. S-Caffe, PPoPP 2017, sections 2.2 and 4.1.
// T = T(bcast) + T(forward) + T(backward) + T(reduce) + T(update): nothing overlaps.
#include "algorithms/schedule.hpp"
#include "algorithms/steps/training_steps.hpp"

namespace forescale {
namespace {

void run_phases(Worker& worker, const TrainingJob& job) {
  for (int iteration = 0; iteration < job.iterations; ++iteration) {
    worker.run(propagate_packed(job));
    take_batch(worker);
    for (const TrainingStage& stage : job.stages) worker.run(forward(stage));
    for (size_t i = job.stages.size(); i-- > 0;) worker.run(backward(job.stages[i]));
    worker.run(aggregate_packed(job));
    update_at_root(worker, job);
    worker.end_iteration();
  }
}

const bool kPhasesRegistered = Registry<Schedule>::add(
    {.name = "phases",
     .summary = "propagate, forward, backward, aggregate, update in turn (Caffe, SC-B)",
     .source = "S-Caffe, PPoPP 2017, sections 2.2 and 4.1",
     .run = run_phases,
     .servers = nullptr,
     .traffic = [](const TrainingJob& job, int /*workers*/, const std::vector<int>& /*nodes*/) {
       return packed_traffic(job);
     }});

}  // namespace
}  // namespace forescale
