// Horovod: a background thread fuses the tensors that all ranks have announced and all-reduces them
// under the backward pass; every rank updates its own copy.
//
// Sergeev and Del Balso, arXiv 1802.05799, section 4; horovod/common/operations.cc of 2018
// (BackgroundThreadLoop): MPI_Gather, MPI_Gatherv and two MPI_Bcast a tick; responses are fused in
// their order while they fit the threshold. A TensorFlow operation on a GPU announces its tensor
// when its kernels are queued and hands over an event that the thread waits for ("WAIT_FOR_DATA" in
// Horovod's timeline); the queue is far ahead of the GPU, so a whole iteration's gradients are
// known before the first one is computed, and the threshold alone says what is fused. The process
// that queues them is taken to need no time.
#include "algorithms/steps/negotiated_all_reduce.hpp"

namespace forescale {
namespace {

enum Announcement { kQueued, kComputed };

NegotiationRules rules_of(const TrainingJob& job) {
  return {.fusion_bytes = job.options.integer("fusion_threshold"),
          .cycle_s = job.options.number("cycle_time"),
          .announces_when_queued = job.options.choice("announce") == kQueued,
          .blocks_in_all_reduce = job.options.flag("blocking"),
          .request_bytes = job.options.integer("request_bytes"),
          .request_s = job.options.number("request_time")};
}

void run(Worker& worker, const TrainingJob& job) {
  train_with_negotiation(worker, job, rules_of(job));
}

// Announced at once, the groups follow from the threshold; announced when computed, they depend on
// time, and these are the fewest that there can be.
Traffic traffic(const TrainingJob& job, int /*workers*/, const std::vector<int>& /*nodes*/) {
  const std::vector<Tensor> gradients = gradients_of(job);
  return all_reduce_traffic(
      fuse(gradients, 0, gradients.size(), job.options.integer("fusion_threshold")));
}

const bool kRegistered = Registry<Schedule>::add(
    {.name = "horovod",
     .summary = "tensor fusion and negotiated all-reduces by a background thread",
     .source =
         "Horovod, arXiv 1802.05799, section 4; TensorFlow with CUDA-aware MPI, section III-C",
     .options = {{.name = "fusion_threshold",
                  .summary = "most bytes of one fused all-reduce; 0: every tensor alone",
                  .unit = OptionUnit::kBytes,
                  .fallback = 64 << 20,
                  .choices = {},
                  .source = "horovod docs/tensor-fusion.md: 64 MB",
                  .tried = doublings(1 << 20, 512 << 20)},
                 {.name = "cycle_time",
                  .summary = "between the starts of two ticks of the background thread",
                  .unit = OptionUnit::kSeconds,
                  .fallback = 5e-3,
                  .choices = {},
                  .source = "horovod/common/operations.cc of 2018: 5 ms (1 ms in later releases)",
                  .tried = {0.5e-3, 1e-3, 2.5e-3, 5e-3, 10e-3}},
                 {.name = "announce",
                  .summary = "when a tensor is announced: its kernels queued, or computed",
                  .unit = OptionUnit::kChoice,
                  .fallback = kQueued,
                  .choices = {"queued", "computed"},
                  .source = "horovod/tensorflow/mpi_ops.cc: ready events of GPU tensors"},
                 {.name = "blocking",
                  .summary = "the background thread sits in the all-reduce (MPI); off: queues it "
                             "on a stream (NCCL)",
                  .unit = OptionUnit::kFlag,
                  .fallback = 1,
                  .choices = {},
                  .source = "horovod/common/operations.cc, PerformOperation"},
                 {.name = "request_bytes",
                  .summary = "that announce one tensor to the coordinator, and answer",
                  .unit = OptionUnit::kBytes,
                  .fallback = 100,
                  .choices = {},
                  .source = ""},
                 {.name = "request_time",
                  .summary = "the coordinator's CPU time for one tensor of one rank",
                  .unit = OptionUnit::kSeconds,
                  .fallback = 1e-6,
                  .choices = {},
                  .source = ""}},
     .run = run,
     .servers = nullptr,
     .traffic = traffic,
     .follows_arrivals = true});

}  // namespace
}  // namespace forescale
