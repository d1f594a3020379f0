// What MXNet's embeddings of MPI collectives share: a model by keys, the way of one key's gradient
// from the GPU to its update, and the processes that own the GPUs.
//
// Mamidala, Efficient Embedding of MPI Collectives in MXNET DAGs, sections 3.3 and 4: tensors are
// numbered from the first layer on and pushed in that order, while backward passes produce them
// from the last one down. A push copies a gradient into host memory, MPI_Allreduce works there, a
// pull copies the sum back and releases the update of that tensor, on the GPU.
#pragma once

#include <cstddef>
#include <vector>

#include "algorithms/schedule.hpp"
#include "algorithms/tensors.hpp"

namespace forescale {

// The workers of one process are consecutive and share a node; the first one communicates.
Option gpus_per_process_option();
Traffic keyed_traffic(const TrainingJob& job, int workers, const std::vector<int>& nodes);

// One rank's training by keys. The main thread calls the public functions; a helper thread pulls.
// With one worker nothing is communicated.
class KeyedTraining {
 public:
  KeyedTraining(Worker& worker, const TrainingJob& job);

  const std::vector<Tensor>& keys() const { return keys_; }
  bool alone() const { return worker_.worker_count() == 1; }

  // Takes the batch and runs the forward pass, each layer once its parameters are updated; queues
  // the backward pass.
  void compute(int iteration);
  // Waits for a key's gradient, sums it over the process, and starts its copy to the host.
  Request begin_push(Worker& thread, int iteration, size_t key);
  // MPI_Allreduce over all processes; nothing for a worker that does not communicate.
  Request start_all_reduce(Worker& thread, size_t key, int communicator);
  // MPI_Barrier over all processes.
  void barrier(Worker& thread);
  // Hands a key whose all-reduce has begun to the pulling thread.
  void pull(Worker& thread, int iteration, size_t key, Request all_reduced);
  // Waits until everything has been pulled and updated.
  void finish();

 private:
  struct Pull {
    Request begun;        // signal: all_reduced is there
    Request all_reduced;  // null: nothing to wait for
    Request released;     // signal: the update is queued on the GPU
  };
  void pull_all(Worker& thread);
  bool communicates() const { return leads_ && (leaders_ == nullptr || leaders_->size() > 1); }
  CollectiveStep step(CollectiveOp op, size_t key) const;

  Worker& worker_;
  const TrainingJob& job_;
  std::vector<Tensor> keys_;
  std::vector<std::vector<size_t>> keys_of_stage_;
  RankGroup process_;  // null: this worker only
  RankGroup leaders_;  // null: all workers
  bool leads_ = true;
  std::vector<std::vector<Request>> gradients_;  // by iteration and stage: the backward kernels
  std::vector<std::vector<Pull>> pulls_;         // by iteration and key
  Request puller_;
};

}  // namespace forescale
