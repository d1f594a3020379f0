// Aggregation striped over the workers: every worker adds up its stripe of each gradient.
//
// CNTK's data-parallel SGD without quantisation (microsoft/CNTK, AllReduceDistGradAggregator.h:
// each node aggregates a stripe and sends it to the others). When the backward pass is over
// (SGD.cpp: AggregateGradients after Backprop), a reduce-scatter and an allgather, layer by layer
// on one communicator; then each worker updates all parameters on its GPU. Of P workers and B bytes
// at bandwidth b: 2 (P-1)/P B / b a worker.
#include "algorithms/parameter_servers/server_steps.hpp"
#include "algorithms/steps/training_steps.hpp"

namespace forescale {
namespace {

CollectiveStep exchange(const TrainingStage& stage, CollectiveOp op, const HostCosts& host) {
  return {.op = op,
          .bytes = stage.parameter_bytes,
          .label = std::string(name_of(op)) + " " + stage.name,
          .on_host = host.stages_through_host};
}

void aggregate_stage(Worker& worker, const TrainingJob& job, const TrainingStage& stage) {
  const bool stages = job.host.stages_through_host && worker.worker_count() > 1;
  const std::int64_t bytes = stage.parameter_bytes;
  if (stages) worker.run(HostCopy{.bytes = bytes, .to_host = true, .label = "gradients to host"});
  worker.run(exchange(stage, CollectiveOp::kReduceScatter, job.host));
  worker.run(exchange(stage, CollectiveOp::kAllGather, job.host));
  if (stages) worker.run(HostCopy{.bytes = bytes, .to_host = false, .label = "gradients to GPU"});
}

void run_striped_aggregation(Worker& worker, const TrainingJob& job) {
  for (int iteration = 0; iteration < job.iterations; ++iteration) {
    take_batch(worker);
    for (const TrainingStage& stage : job.stages) worker.launch(forward(stage));
    Kernel update{.stream = 0, .duration_s = 0, .phase = Phase::kUpdate, .label = "update"};
    Request gradients;
    for (size_t i = job.stages.size(); i-- > 0;) {
      gradients = worker.launch(backward(job.stages[i]));
      update.duration_s += job.stages[i].update_s;
    }
    worker.wait(gradients);
    for (size_t i = job.stages.size(); i-- > 0;)
      if (job.stages[i].parameter_bytes > 0) aggregate_stage(worker, job, job.stages[i]);
    worker.run(update);
    worker.end_iteration();
  }
}

const bool kStripedAggregationRegistered = Registry<Schedule>::add(
    {.name = "striped-aggregation",
     .summary = "each worker adds up its stripe of every gradient, then all gather the sums",
     .source = "microsoft/CNTK, Source/SGDLib/AllReduceDistGradAggregator.h",
     .options = {},
     .run = run_striped_aggregation,
     .servers = nullptr,
     .traffic = [](const TrainingJob& job, int /*workers*/, const std::vector<int>& /*nodes*/) {
       Traffic traffic;
       for (const TrainingStage& stage : job.stages) {
         if (stage.parameter_bytes == 0) continue;
         traffic.collectives.push_back(exchange(stage, CollectiveOp::kReduceScatter, job.host));
         traffic.collectives.push_back(exchange(stage, CollectiveOp::kAllGather, job.host));
       }
       return traffic;
     }});

}  // namespace
}  // namespace forescale
