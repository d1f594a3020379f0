// PyTorch DistributedDataParallel: gradients in buckets, in the order in which they appear; the
// all-reduce of a bucket starts when its last gradient is there and runs under the rest of the
// backward pass; all are waited for at its end, and every rank updates its own copy.
//
// Li et al., PyTorch Distributed, VLDB 2020, section 4.2; torch/csrc/distributed/c10d/reducer.cpp:
// a bucket is closed once it has reached its limit, which is smaller for the first one so that
// communication starts early. The main thread starts the all-reduces and does not wait: with
// progress only inside calls they would advance at the end only. Buckets that are under way
// together go one after the other where the stack's collectives do, as on NCCL's stream; else they
// share the ports of the rank.
#include <fmt/format.h>

#include "algorithms/steps/all_reduce_steps.hpp"
#include "algorithms/steps/training_steps.hpp"

namespace forescale {
namespace {

std::vector<GradientGroup> buckets_of(const std::vector<Tensor>& gradients,
                                      const ScheduleOptions& options) {
  std::vector<GradientGroup> buckets;
  std::int64_t limit = options.integer("first_bucket_bytes");
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (buckets.empty() || buckets.back().bytes >= limit) {
      if (!buckets.empty()) limit = options.integer("bucket_bytes");
      buckets.push_back({.begin = i, .end = i, .bytes = 0});
    }
    buckets.back().end = i + 1;
    buckets.back().bytes += gradients[i].bytes;
  }
  return buckets;
}

// Tables are shared out (Naumov et al., arXiv:1906.00091, section 4): what was looked up goes to
// the samples' workers, their gradients the other way; each waits for it, as
// NVIDIA/DeepLearningExamples 36f3b1b does (PyTorch/Recommendation/DLRM,
// dlrm/model/distributed.py).
CollectiveStep exchange_tables(const TrainingStage& stage, Phase phase, const char* what) {
  return {.op = CollectiveOp::kAllToAll,
          .bytes = stage.looked_up_bytes,
          .phase = phase,
          .label = fmt::format("{} of {}", what, stage.name)};
}

CollectiveStep exchange_vectors(const TrainingStage& stage) {
  return exchange_tables(stage, Phase::kPropagation, "vectors");
}

CollectiveStep exchange_gradients(const TrainingStage& stage) {
  return exchange_tables(stage, Phase::kAggregation, "gradients");
}

void run_forward(Worker& worker, const TrainingJob& job) {
  for (const TrainingStage& stage : job.stages) {
    const Request ran = worker.launch(forward(stage));
    if (stage.looked_up_bytes == 0) continue;
    worker.wait(ran);
    worker.run(exchange_vectors(stage));
  }
}

Traffic ddp_traffic(const TrainingJob& job) {
  Traffic traffic = all_reduce_traffic(buckets_of(gradients_of(job), job.options));
  for (const TrainingStage& stage : job.stages)
    if (stage.looked_up_bytes > 0)
      for (const CollectiveStep& step : {exchange_vectors(stage), exchange_gradients(stage)})
        traffic.collectives.push_back(step);
  return traffic;
}

// Returns the kernel that ends the backward pass of stage `i`, with its gradients in their buckets.
Request run_backward(Worker& worker, const TrainingJob& job, size_t i, bool copies) {
  const TrainingStage& stage = job.stages[i];
  if (stage.looked_up_bytes > 0) worker.run(exchange_gradients(stage));
  Request last = worker.launch(backward(stage));
  if (copies && stage.parameter_bytes > 0)
    last = worker.launch(pack(job, stage.parameter_bytes, 0, "copy into buckets"));
  return last;
}

void run_ddp(Worker& worker, const TrainingJob& job) {
  if (worker.worker_count() == 1) {
    train_alone(worker, job);
    return;
  }
  const std::vector<Tensor> gradients = gradients_of(job);
  const std::vector<GradientGroup> buckets = buckets_of(gradients, job.options);
  const bool copies = !job.options.flag("gradient_as_bucket_view");
  for (int iteration = 0; iteration < job.iterations; ++iteration) {
    take_batch(worker);
    run_forward(worker, job);
    std::vector<Request> reduced;
    for (size_t i = job.stages.size(); i-- > 0;) {
      worker.wait(run_backward(worker, job, i, copies));
      // A bucket is complete with the stage of its last gradient.
      while (reduced.size() < buckets.size() &&
             gradients[buckets[reduced.size()].end - 1].stage >= i) {
        const GradientGroup& bucket = buckets[reduced.size()];
        reduced.push_back(
            worker.start(all_reduce(bucket.bytes, fmt::format("bucket {}", reduced.size()))));
      }
    }
    for (size_t bucket = 0; bucket < buckets.size(); ++bucket) {
      worker.wait(reduced[bucket]);
      if (copies) worker.launch(pack(job, buckets[bucket].bytes, 0, "copy out of buckets"));
    }
    update_own_copy(worker, job);
    worker.end_iteration();
  }
}

const bool kDdpRegistered = Registry<Schedule>::add(
    {.name = "ddp",
     .summary = "PyTorch DDP: buckets in reverse order, all-reduce under the backward pass",
     .source = "Li et al., PyTorch Distributed, VLDB 2020, sections 3.2 and 4.2",
     .options = {{.name = "bucket_bytes",
                  .summary = "at which a bucket is closed",
                  .unit = OptionUnit::kBytes,
                  .fallback = 25 << 20,
                  .min = 1,
                  .choices = {},
                  .source = "torch.nn.parallel.DistributedDataParallel: bucket_cap_mb=25",
                  .tried = doublings(1 << 20, 256 << 20)},
                 {.name = "first_bucket_bytes",
                  .summary = "at which the first bucket is closed",
                  .unit = OptionUnit::kBytes,
                  .fallback = 1 << 20,
                  .min = 1,
                  .choices = {},
                  .source = "torch/csrc/distributed/c10d/reducer.hpp: kDefaultFirstBucketBytes",
                  .tried = doublings(128 << 10, 16 << 20)},
                 {.name = "gradient_as_bucket_view",
                  .summary = "gradients live in the buckets: no copies",
                  .unit = OptionUnit::kFlag,
                  .fallback = 0,
                  .choices = {},
                  .source = "torch.nn.parallel.DistributedDataParallel: off",
                  .tried = {0, 1}}},
     .run = run_ddp,
     .servers = nullptr,
     .traffic = [](const TrainingJob& job, int /*workers*/,
                   const std::vector<int>& /*nodes*/) { return ddp_traffic(job); },
     .exchanges_tables = true,
     .workers_are_alike = true});

}  // namespace
}  // namespace forescale
