// Horovod: a background thread fuses the tensors that all ranks have announced and all-reduces them
// under the backward pass; every rank updates its own copy.
//
// Sergeev and Del Balso, arXiv 1802.05799, section 4; horovod/common/operations.cc of 2018, as
// releases 0.13 to 0.15 have it (rahul003/horovod, commit 1a61fd1: RunLoopOnce, PerformOperation):
// MPI_Gather, MPI_Gatherv and two MPI_Bcast a tick; a tick starts a cycle after the one before, or
// when that is done; responses are fused in their order while they fit the threshold.
//
// A TensorFlow operation on a GPU announces its tensor when it runs on the CPU, which is when its
// kernels are queued, and hands over an event that the thread waits for (HorovodAllreduceOp in
// horovod/tensorflow/mpi_ops.cc; "WAIT_FOR_DATA" in Horovod's timeline). The CPU queues the
// operations of a step one after the other, ahead of the GPU, so what a tick finds depends on when
// it comes: early ticks find the last layers' tensors, and the thread then sits in their data's
// wait while the others are announced.
#include "algorithms/steps/negotiated_all_reduce.hpp"

namespace forescale {
namespace {

enum Announcement { kQueued, kComputed };

NegotiationRules horovod_rules(const TrainingJob& job) {
  return {.fusion_bytes = job.options.integer("fusion_threshold"),
          .cycle_s = job.options.number("cycle_time"),
          .announces_when_queued = job.options.choice("announce") == kQueued,
          .queue_s = job.options.number("queue_time"),
          .blocks_in_all_reduce = job.options.flag("blocking"),
          .response_cache = job.options.flag("response_cache"),
          .request_bytes = job.options.integer("request_bytes"),
          .request_s = job.options.number("request_time"),
          .response_s = job.options.number("response_time"),
          .copy_s = job.options.number("copy_time")};
}

void run_horovod(Worker& worker, const TrainingJob& job) {
  train_with_negotiation(worker, job, horovod_rules(job));
}

// The groups depend on time; these are the fewest that there can be.
Traffic horovod_traffic(const TrainingJob& job, int /*workers*/,
                        const std::vector<int>& /*nodes*/) {
  const std::vector<Tensor> gradients = gradients_of(job);
  return all_reduce_traffic(
      fuse(gradients, 0, gradients.size(), job.options.integer("fusion_threshold")));
}

// No fusion, and doublings.
std::vector<double> thresholds() {
  std::vector<double> tried = doublings(1 << 20, 512 << 20);
  tried.insert(tried.begin(), 0);
  return tried;
}

const bool kHorovodRegistered = Registry<Schedule>::add(
    {.name = "horovod",
     .summary = "tensor fusion and negotiated all-reduces by a background thread",
     .source =
         "Horovod, arXiv 1802.05799, section 4; TensorFlow with CUDA-aware MPI, section III-C",
     .options = {{.name = "fusion_threshold",
                  .summary = "most bytes of one fused all-reduce; 0: every tensor alone",
                  .unit = OptionUnit::kBytes,
                  .fallback = 64 << 20,
                  .choices = {},
                  .source =
                      "horovod docs/tensor-fusion.md: 64 MB; 128 MB since horovod/horovod pull "
                      "request 2468, November 2020",
                  .tried = thresholds()},
                 {.name = "cycle_time",
                  .summary = "between the starts of two ticks of the background thread",
                  .unit = OptionUnit::kSeconds,
                  .fallback = 5e-3,
                  .choices = {},
                  .source = "horovod/common/operations.cc of 2018: 5 ms; 1 ms since "
                            "horovod/horovod pull request 2468, November 2020",
                  .tried = {0.5e-3, 1e-3, 2.5e-3, 5e-3, 10e-3}},
                 {.name = "announce",
                  .summary = "when a tensor is announced: its kernels queued, or computed",
                  .unit = OptionUnit::kChoice,
                  .fallback = kQueued,
                  .choices = {"queued", "computed"},
                  .source = "horovod/tensorflow/mpi_ops.cc, HorovodAllreduceOp: the ready event of "
                            "a GPU tensor is recorded, and the tensor announced at once"},
                 {.name = "queue_time",
                  .summary = "of the framework's CPU to queue a stage's forward, or backward, "
                             "kernels",
                  .unit = OptionUnit::kSeconds,
                  .fallback = 50e-6,
                  .choices = {},
                  .source = "assumed, 15 to 150 us: two to five operations with a kernel of about "
                            "10 us each, half of that the launch; the nodes between take 0.5 us "
                            "each (Abadi et al., OSDI 2016, section 5: 2 million null operations "
                            "a second)"},
                 {.name = "blocking",
                  .summary = "the background thread sits in the all-reduce (MPI); off: queues it "
                             "on a stream (NCCL)",
                  .unit = OptionUnit::kFlag,
                  .fallback = 1,
                  .choices = {},
                  .source = "horovod/common/operations.cc, PerformOperation"},
                 {.name = "response_cache",
                  .summary = "ticks after the first iteration agree on a bit a tensor",
                  .unit = OptionUnit::kFlag,
                  .fallback = 0,
                  .choices = {},
                  .source = "horovod/horovod pull request 902, merged in 2019: not in the releases "
                            "of 2018"},
                 {.name = "request_bytes",
                  .summary = "that announce one tensor to the coordinator, and answer",
                  .unit = OptionUnit::kBytes,
                  .fallback = 100,
                  .choices = {},
                  .source = "horovod/common/mpi_message.h: five numbers, a name of about 50 "
                            "characters, up to four dimensions; 80 to 200"},
                 {.name = "request_time",
                  .summary = "the coordinator's CPU time for one tensor of one rank",
                  .unit = OptionUnit::kSeconds,
                  .fallback = 0.7e-6,
                  .choices = {},
                  .source =
                      "measured on a re-creation of ParseFromString, IncrementTensorCount and "
                      "ConstructMPIResponse: 0.32 to 0.66 us on an AMD EPYC with 16 to 128 "
                      "ranks; doubled for processors of 2014 to 2016; 0.4 to 2 us"},
                 {.name = "response_time",
                  .summary = "of the background thread before each all-reduce",
                  .unit = OptionUnit::kSeconds,
                  .fallback = 55e-6,
                  .choices = {},
                  .source = "horovod/common/operations.cc, PerformOperation: sleep_for(100 ns) at "
                            "least once for each response; Linux lets a thread sleep 50 us longer "
                            "than it asked for (prctl(2), PR_SET_TIMERSLACK), assumed 5 us to wake "
                            "up; 5 to 80 us"},
                 {.name = "copy_time",
                  .summary = "of its CPU to issue one tensor's copy to or from the fusion buffer",
                  .unit = OptionUnit::kSeconds,
                  .fallback = 4e-6,
                  .choices = {},
                  .source = "assumed: one cudaMemcpyAsync for each tensor "
                            "(horovod/common/operations.cc, MEMCPY_IN_FUSION_BUFFER); 2 to 8 us"}},
     .run = run_horovod,
     .servers = nullptr,
     .traffic = horovod_traffic,
     .follows_arrivals = true});

}  // namespace
}  // namespace forescale
