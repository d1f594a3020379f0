// Parameter servers to which workers push gradients as they appear, and from which they pull the
// new parameters just before the next forward pass of each layer.
//
// A worker: forward, each layer once its parameters are there; backward; each tensor is copied to
// the host (where the stack does not take GPU buffers), encoded, and its shards sent once its
// gradient is ready. A synchronous server adds the gradients of all workers, updates, and sends
// the new parameters to all. An asynchronous one updates by each gradient alone and answers its
// sender at once. Where the stack has requests, every pull is asked for by a control message.
// Limits: a server takes gradients in the order of shards and workers, not as they happen to
// arrive; the processor time of a message is spent before its bytes leave or after they came.
#pragma once

#include <vector>

#include "algorithms/parameter_servers/server_steps.hpp"

namespace forescale {

struct PushPull {
  std::vector<Tensor> tensors;
  std::vector<Shard> shards;
  bool asynchronous = false;
};

// The main thread of a rank, worker or server, for all iterations.
void run_push_pull(Worker& worker, const TrainingJob& job, const PushPull& plan);

}  // namespace forescale
