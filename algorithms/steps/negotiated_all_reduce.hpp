// Gradients all-reduced by a background thread of every rank, after a coordinator has found them on
// all ranks: what Horovod and, before it, Baidu's tf.contrib.mpi_collectives do.
//
// The thread ticks: it tells rank 0 which tensors its rank has announced (a gather of lengths and
// one of requests), hears which ones all ranks have (two broadcasts), reduces these one group after
// the other, and sleeps until the next tick is due. Numbers instead of names travel here: ranks
// announce in one order, so the least count over the ranks says what is common. The coordinator
// works on what is new since the last tick; the bytes are those of all that is not reduced yet.
//
// With a response cache, ticks after the first iteration agree on a bit a tensor instead: Horovod's
// all-reduce of a bit vector, priced as a reduce and a broadcast, at most twice as slow.
//
// Ticks begin half a cycle after the first announcement of an iteration, the mean of a clock that
// runs freely; idle ticks before it are left out.
#pragma once

#include "algorithms/steps/all_reduce_steps.hpp"

namespace forescale {

struct NegotiationRules {
  std::int64_t fusion_bytes = 0;  // most of one fused all-reduce; 0: every tensor alone
  double cycle_s = 0;
  bool cycle_after_work = false;  // the pause starts at the end of a tick, else at its begin
  // A tensor is announced when the framework has queued its kernels, far ahead of the GPU, and its
  // data waited for before it is packed; else once it is computed.
  bool announces_when_queued = false;
  double queue_s = 0;  // of the framework's CPU to queue a stage's forward, or backward, kernels
  // The announcement is a host function in the GPU's stream, which stands still for so long.
  double callback_s = 0;
  // The background thread sits in the all-reduce (MPI), or queues it on a GPU stream and goes on
  // with the next tick (NCCL).
  bool blocks_in_all_reduce = true;
  bool response_cache = false;
  std::int64_t request_bytes = 0;  // that announce one tensor
  double request_s = 0;            // of the coordinator's CPU for each tensor of each rank
  double answer_s = 0;             // of the coordinator's CPU to tell one rank about one all-reduce
  double response_s = 0;           // of the background thread's before each all-reduce
  double copy_s = 0;  // of its CPU to issue one tensor's copy to or from the fusion buffer
};

// Neighbours in the list are fused as long as they fit; a tensor above the limit stays alone.
std::vector<GradientGroup> fuse(const std::vector<Tensor>& gradients, size_t begin, size_t end,
                                std::int64_t fusion_bytes);

// All iterations of a worker's main thread.
void train_with_negotiation(Worker& worker, const TrainingJob& job, const NegotiationRules& rules);

}  // namespace forescale
