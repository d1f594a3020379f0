// MXNet with MPI, funneled: the main thread takes the keys in ascending order, waits for each
// gradient, copies it to the host and sits in its all-reduce; the copy back and the update go on
// beside the next key.
//
// Mamidala, Efficient Embedding of MPI Collectives in MXNET DAGs, section 4.1, figures 5 to 7. The
// first key's gradient is the last to appear: no all-reduce runs under the backward pass, and the
// next forward pass is queued after the last one. With f, b, c for forward, backward and all keys'
// copies out and all-reduces, T = f + b + c, and the last key's copy back and update.
#include "algorithms/parameter_servers/key_steps.hpp"

namespace forescale {
namespace {

void run_mxnet_funnel(Worker& worker, const TrainingJob& job) {
  KeyedTraining training(worker, job);
  for (int iteration = 0; iteration < job.iterations; ++iteration) {
    training.compute(iteration);
    for (size_t key = 0; key < training.keys().size() && !training.alone(); ++key) {
      if (const Request pushed = training.begin_push(worker, iteration, key)) worker.wait(pushed);
      const Request reduced = training.start_all_reduce(worker, key, 0);
      if (reduced) worker.wait(reduced);
      training.pull(worker, iteration, key, reduced);
    }
    worker.end_iteration();
  }
  training.finish();
}

const bool kMxnetFunnelRegistered = Registry<Schedule>::add(
    {.name = "mxnet-funnel",
     .summary = "the main thread waits for each gradient and all-reduces, keys ascending",
     .source = "Mamidala, Efficient Embedding of MPI Collectives in MXNET DAGs, section 4.1",
     .options = {gpus_per_process_option()},
     .run = run_mxnet_funnel,
     .servers = nullptr,
     .traffic = keyed_traffic,
     .is_asynchronous = false});

}  // namespace
}  // namespace forescale
