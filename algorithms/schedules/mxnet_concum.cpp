// MXNet with MPI, concurrent communicators: as mxnet-funnel, but helper threads sit in the
// all-reduces, each key on one of k communicators, and the main thread goes on to the next key.
// When a key's number is a multiple of k it waits for all that are outstanding, then calls
// MPI_Barrier.
//
// Mamidala, Efficient Embedding of MPI Collectives in MXNET DAGs, section 4.2, figures 8 and 9.
// With k = 1 it is mxnet-funnel and a barrier after every key.
#include "algorithms/parameter_servers/key_steps.hpp"

namespace forescale {
namespace {

constexpr const char* kOutstanding = "outstanding";

void run_mxnet_concum(Worker& worker, const TrainingJob& job) {
  KeyedTraining training(worker, job);
  const auto limit = static_cast<size_t>(job.options.integer(kOutstanding));
  for (int iteration = 0; iteration < job.iterations; ++iteration) {
    training.compute(iteration);
    std::vector<Request> outstanding;
    for (size_t key = 0; key < training.keys().size() && !training.alone(); ++key) {
      if (const Request pushed = training.begin_push(worker, iteration, key)) worker.wait(pushed);
      const Request reduced = training.start_all_reduce(worker, key, static_cast<int>(key % limit));
      training.pull(worker, iteration, key, reduced);
      if (reduced) outstanding.push_back(reduced);
      if (key % limit != 0) continue;
      for (const Request& request : outstanding) worker.wait(request);
      outstanding.clear();
      training.barrier(worker);
    }
    worker.end_iteration();
  }
  training.finish();
}

const bool kMxnetConcumRegistered = Registry<Schedule>::add(
    {.name = "mxnet-concum",
     .summary = "several communicators, k all-reduces outstanding, a barrier after every k keys",
     .source = "Mamidala, Efficient Embedding of MPI Collectives in MXNET DAGs, section 4.2",
     .options = {{.name = kOutstanding,
                  .summary = "communicators, and keys from one barrier to the next",
                  .unit = OptionUnit::kCount,
                  .fallback = 2,
                  .min = 1,
                  .max = 1024,
                  .choices = {},
                  .source = "Mamidala, MPI collectives in MXNET DAGs, figure 8: OUTSTANDING=2",
                  .tried = doublings(1, 16)},
                 gpus_per_process_option()},
     .run = run_mxnet_concum,
     .servers = nullptr,
     .traffic = keyed_traffic,
     .is_asynchronous = false});

}  // namespace
}  // namespace forescale
