// Baidu's tf.contrib.mpi_collectives: a background thread all-reduces every tensor on its own, by a
// ring of sends and receives (the stack's all-reduce), once a coordinator has found it on all
// ranks.
//
// TensorFlow 1.10, contrib/mpi_collectives/kernels/mpi_ops.cc (BackgroundThreadLoop): a pause of
// 1 ms, then requests to rank 0 and its answers, each a small message, priced here as gathers and
// broadcasts; a tensor is announced by a callback of the GPU once it is computed. Awan et al.,
// TensorFlow with CUDA-aware MPI, section III-C.
#include "algorithms/steps/negotiated_all_reduce.hpp"

namespace forescale {
namespace {

NegotiationRules rules_of(const TrainingJob& job) {
  return {.fusion_bytes = 0,
          .cycle_s = job.options.number("cycle_time"),
          .cycle_after_work = true,
          .announces_when_queued = false,
          .request_bytes = job.options.integer("request_bytes"),
          .request_s = job.options.number("request_time")};
}

const bool kRegistered = Registry<Schedule>::add(
    {.name = "baidu",
     .summary = "every tensor a negotiated all-reduce of its own, by a background thread",
     .source = "TensorFlow with CUDA-aware MPI, section III-C.1; TensorFlow 1.10, "
               "contrib/mpi_collectives",
     .options = {{.name = "cycle_time",
                  .summary = "pause of the background thread between two ticks",
                  .unit = OptionUnit::kSeconds,
                  .fallback = 1e-3,
                  .choices = {},
                  .source = "TensorFlow 1.10, contrib/mpi_collectives/kernels/mpi_ops.cc: 1 ms",
                  .tried = {0.1e-3, 0.5e-3, 1e-3, 2.5e-3, 5e-3}},
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
     .run = [](Worker& worker,
               const TrainingJob& job) { train_with_negotiation(worker, job, rules_of(job)); },
     .servers = nullptr,
     .traffic =
         [](const TrainingJob& job, int /*workers*/, const std::vector<int>& /*nodes*/) {
           const std::vector<Tensor> gradients = gradients_of(job);
           return all_reduce_traffic(fuse(gradients, 0, gradients.size(), 0));
         },
     .follows_arrivals = true,
     .iterations = 2});  // as many rings as tensors: the slowest of all to simulate

}  // namespace
}  // namespace forescale
