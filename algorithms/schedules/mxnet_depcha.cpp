// MXNet with MPI, dependency chaining: all pushes are queued first and copy each gradient as it
// appears; a chain of all-reduces, ordered by a dummy dependency, runs in a helper thread; each
// pull releases the update of its tensor, and the next forward pass begins with the layers that
// have theirs.
//
// Mamidala, Efficient Embedding of MPI Collectives in MXNET DAGs, section 4.3, figures 10 to 12.
// The chain ascends, so it begins with the gradient that appears last: copies out hide under the
// backward pass, all-reduces do not; they hide under the next forward pass, which needs the keys in
// the chain's order. With f, b, c for forward, backward and all keys' all-reduces, T >= b + max(f,
// c) against f + b + c of mxnet-funnel: never more than (f + b + c) / (b + max(f, c)) faster.
#include "algorithms/parameter_servers/key_steps.hpp"

namespace forescale {
namespace {

struct Chain {
  struct Link {
    Request begun;   // signal: `pushed` is there
    Request pushed;  // null: nothing to wait for
  };
  std::vector<std::vector<Link>> links;  // by iteration and key
};

void run_chain(Worker& thread, const TrainingJob& job, KeyedTraining& training, Chain& chain) {
  for (int iteration = 0; iteration < job.iterations; ++iteration)
    for (size_t key = 0; key < training.keys().size(); ++key) {
      Chain::Link& link = chain.links[static_cast<size_t>(iteration)][key];
      thread.wait(link.begun);
      if (link.pushed) thread.wait(link.pushed);
      const Request reduced = training.start_all_reduce(thread, key, 0);
      if (reduced) thread.wait(reduced);
      training.pull(thread, iteration, key, reduced);
    }
}

void run_mxnet_depcha(Worker& worker, const TrainingJob& job) {
  KeyedTraining training(worker, job);
  const std::vector<Tensor>& keys = training.keys();
  Chain chain;
  Request helper;
  if (!training.alone()) {
    chain.links.resize(static_cast<size_t>(job.iterations));
    for (auto& links : chain.links)
      for (size_t key = 0; key < keys.size(); ++key)
        links.push_back({.begun = worker.make_signal(), .pushed = nullptr});
    helper = worker.spawn([&](Worker& thread) { run_chain(thread, job, training, chain); });
  }
  for (int iteration = 0; iteration < job.iterations; ++iteration) {
    training.compute(iteration);
    // Gradients appear from the last stage down; those of one stage together.
    for (size_t end = keys.size(); end > 0 && !training.alone();) {
      size_t begin = end - 1;
      while (begin > 0 && keys[begin - 1].stage == keys[end - 1].stage) --begin;
      for (size_t key = begin; key < end; ++key) {
        Chain::Link& link = chain.links[static_cast<size_t>(iteration)][key];
        link.pushed = training.begin_push(worker, iteration, key);
        worker.set(link.begun);
      }
      end = begin;
    }
    worker.end_iteration();
  }
  if (helper) worker.wait(helper);
  training.finish();
}

const bool kMxnetDepchaRegistered = Registry<Schedule>::add(
    {.name = "mxnet-depcha",
     .summary = "all pushes first, then a chain of all-reduces under the next forward pass",
     .source = "Mamidala, Efficient Embedding of MPI Collectives in MXNET DAGs, section 4.3",
     .options = {gpus_per_process_option()},
     .run = run_mxnet_depcha,
     .servers = nullptr,
     .traffic = keyed_traffic,
     .is_asynchronous = false});

}  // namespace
}  // namespace forescale
