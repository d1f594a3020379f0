// Baidu's tf.contrib.mpi_collectives: a background thread all-reduces every tensor on its own, by a
// ring of sends and receives (the stack's all-reduce), once a coordinator has found it on all
// ranks.
//
// TensorFlow 1.10, contrib/mpi_collectives/kernels/mpi_ops.cc, commit 0f4829a
// (BackgroundThreadLoop): a pause of 1 ms; every rank sends rank 0 a message a tensor, priced here
// as gathers, their receipt as the coordinator's time; before each ring rank 0 sends its answer to
// one rank after the other. A tensor is announced once it is computed, by a host function in
// TensorFlow's stream (ThenDoHostCallback), behind which the stream's kernels wait. Awan et al.,
// TensorFlow with CUDA-aware MPI, section III-C.
#include "algorithms/steps/negotiated_all_reduce.hpp"

namespace forescale {
namespace {

NegotiationRules baidu_rules(const TrainingJob& job) {
  return {.fusion_bytes = 0,
          .cycle_s = job.options.number("cycle_time"),
          .cycle_after_work = true,
          .announces_when_queued = false,
          .callback_s = job.options.number("callback_time"),
          .request_bytes = job.options.integer("request_bytes"),
          .request_s = job.options.number("request_time"),
          .answer_s = job.options.number("answer_time")};
}

const bool kBaiduRegistered = Registry<Schedule>::add(
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
                 {.name = "callback_time",
                  .summary = "for which the GPU's stream stands still when a tensor is announced",
                  .unit = OptionUnit::kSeconds,
                  .fallback = 20e-6,
                  .choices = {},
                  .source = "assumed, 10 to 50 us: a host function between two kernels "
                            "(mpi_ops.cc, ThenDoHostCallback)"},
                 {.name = "request_bytes",
                  .summary = "that announce one tensor to the coordinator, and answer",
                  .unit = OptionUnit::kBytes,
                  .fallback = 100,
                  .choices = {},
                  .source = "contrib/mpi_collectives/mpi_message.proto: three numbers, a name of "
                            "about 50 characters, up to four dimensions; 80 to 200"},
                 {.name = "request_time",
                  .summary = "the coordinator's CPU time for one tensor of one rank",
                  .unit = OptionUnit::kSeconds,
                  .fallback = 2e-6,
                  .choices = {},
                  .source = "assumed, 1 to 5 us: MPI_Probe and MPI_Recv of a message of its own, "
                            "and Horovod's work on it"},
                 {.name = "answer_time",
                  .summary = "of the coordinator to tell one rank about one tensor",
                  .unit = OptionUnit::kSeconds,
                  .fallback = 0.5e-6,
                  .choices = {},
                  .source = "assumed, 0.2 to 2 us: MPI_Send of a small message (mpi_ops.cc sends "
                            "to one rank after the other)"}},
     .run = [](Worker& worker,
               const TrainingJob& job) { train_with_negotiation(worker, job, baidu_rules(job)); },
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
