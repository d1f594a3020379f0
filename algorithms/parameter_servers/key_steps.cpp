#include "algorithms/parameter_servers/key_steps.hpp"

#include <utility>

#include "algorithms/steps/training_steps.hpp"

namespace forescale {
namespace {

constexpr const char* kGpusPerProcess = "gpus_per_process";
// Duplicates of a process's communicator, beside those that all-reduces use.
constexpr int kPullCommunicator = 1;
constexpr int kBarrierCommunicator = 1 << 20;
constexpr std::int64_t kBarrierBytes = 4;

// Up to `size` consecutive workers of one node each.
std::vector<std::vector<int>> processes_of(const std::vector<int>& nodes, int workers, int size) {
  std::vector<std::vector<int>> processes;
  for (int rank = 0; rank < workers; ++rank) {
    const bool opens = rank == 0 ||
                       nodes[static_cast<size_t>(rank)] != nodes[static_cast<size_t>(rank - 1)] ||
                       static_cast<int>(processes.back().size()) == size;
    if (opens) processes.emplace_back();
    processes.back().push_back(rank);
  }
  return processes;
}

std::string name_of_key(const TrainingJob& job, const Tensor& key) {
  return job.stages[key.stage].name;
}

CollectiveStep step_of(const TrainingJob& job, const Tensor& key, CollectiveOp op) {
  CollectiveStep step;
  step.op = op;
  step.bytes = key.bytes;
  step.label = std::string(name_of(op)) + " " + name_of_key(job, key);
  step.on_host = op == CollectiveOp::kAllReduce;
  step.communicator = op == CollectiveOp::kBroadcast ? kPullCommunicator : 0;
  step.phase = Phase::kAggregation;
  return step;
}

}  // namespace

Option gpus_per_process_option() {
  return {.name = kGpusPerProcess,
          .summary = "GPUs of one MPI process; their gradients are summed on the GPUs first",
          .unit = OptionUnit::kCount,
          .fallback = 1,
          .min = 1,
          .max = 1024,
          .choices = {},
          .source =
              "Mamidala, MPI collectives in MXNET DAGs, section 3.3: each worker owns a "
              "single GPU; section 1: 256 MPI processes, one GPU each"};
}

Traffic keyed_traffic(const TrainingJob& job, int workers, const std::vector<int>& nodes) {
  Traffic traffic;
  if (workers == 1) return traffic;
  const int size = static_cast<int>(job.options.integer(kGpusPerProcess));
  const auto processes = processes_of(nodes, workers, size);
  auto leaders = std::make_shared<std::vector<int>>();
  for (const std::vector<int>& process : processes) leaders->push_back(process.front());
  for (const Tensor& key : tensors_of(job)) {
    for (const std::vector<int>& process : processes) {
      if (process.size() == 1) continue;
      for (const CollectiveOp op : {CollectiveOp::kReduce, CollectiveOp::kBroadcast}) {
        CollectiveStep step = step_of(job, key, op);
        step.group = std::make_shared<const std::vector<int>>(process);
        traffic.collectives.push_back(std::move(step));
      }
    }
    if (processes.size() == 1) continue;
    CollectiveStep step = step_of(job, key, CollectiveOp::kAllReduce);
    if (static_cast<int>(processes.size()) < workers) step.group = leaders;
    traffic.collectives.push_back(std::move(step));
  }
  return traffic;
}

KeyedTraining::KeyedTraining(Worker& worker, const TrainingJob& job)
    : worker_(worker), job_(job), keys_(tensors_of(job)), keys_of_stage_(job.stages.size()) {
  for (size_t key = 0; key < keys_.size(); ++key) keys_of_stage_[keys_[key].stage].push_back(key);
  gradients_.resize(static_cast<size_t>(job.iterations));
  if (alone()) return;
  const int workers = worker.worker_count();
  std::vector<int> nodes;
  for (int rank = 0; rank < workers; ++rank) nodes.push_back(worker.node(rank));
  const auto processes =
      processes_of(nodes, workers, static_cast<int>(job.options.integer(kGpusPerProcess)));
  auto leaders = std::make_shared<std::vector<int>>();
  for (const std::vector<int>& process : processes) {
    leaders->push_back(process.front());
    if (worker.rank() < process.front() || worker.rank() > process.back()) continue;
    leads_ = worker.rank() == process.front();
    if (process.size() > 1) process_ = std::make_shared<const std::vector<int>>(process);
  }
  if (static_cast<int>(leaders->size()) < workers) leaders_ = leaders;
  for (std::vector<Request>& stages : gradients_) stages.resize(job.stages.size());
  pulls_.resize(static_cast<size_t>(job.iterations));
  for (std::vector<Pull>& pulls : pulls_)
    for (size_t key = 0; key < keys_.size(); ++key)
      pulls.push_back({.begun = worker.make_signal(),
                       .all_reduced = nullptr,
                       .released = worker.make_signal()});
  puller_ = worker.spawn([this](Worker& thread) { pull_all(thread); });
}

void KeyedTraining::compute(int iteration) {
  take_batch(worker_);
  for (size_t stage = 0; stage < job_.stages.size(); ++stage) {
    if (iteration > 0 && !alone())
      for (const size_t key : keys_of_stage_[stage])
        worker_.wait(pulls_[static_cast<size_t>(iteration - 1)][key].released);
    worker_.run(forward(job_.stages[stage]));
  }
  std::vector<Request>& gradients = gradients_[static_cast<size_t>(iteration)];
  gradients.resize(job_.stages.size());
  for (size_t stage = job_.stages.size(); stage-- > 0;)
    gradients[stage] = worker_.launch(backward(job_.stages[stage]));
  if (!alone()) return;
  Kernel update{.stream = 0, .duration_s = 0, .phase = Phase::kUpdate, .label = "update"};
  for (const TrainingStage& stage : job_.stages) update.duration_s += stage.update_s;
  worker_.run(update);
}

CollectiveStep KeyedTraining::step(CollectiveOp op, size_t key) const {
  CollectiveStep step = step_of(job_, keys_[key], op);
  step.group = op == CollectiveOp::kAllReduce ? leaders_ : process_;
  return step;
}

Request KeyedTraining::begin_push(Worker& thread, int iteration, size_t key) {
  thread.wait(gradients_[static_cast<size_t>(iteration)][keys_[key].stage]);
  if (process_) thread.run(step(CollectiveOp::kReduce, key));
  if (!communicates() || !job_.host.stages_through_host) return nullptr;
  return thread.start(HostCopy{.bytes = keys_[key].bytes,
                               .to_host = true,
                               .phase = Phase::kAggregation,
                               .label = "push " + name_of_key(job_, keys_[key])});
}

Request KeyedTraining::start_all_reduce(Worker& thread, size_t key, int communicator) {
  if (!communicates()) return nullptr;
  CollectiveStep all_reduce = step(CollectiveOp::kAllReduce, key);
  all_reduce.communicator = communicator;
  return thread.start(all_reduce);
}

void KeyedTraining::barrier(Worker& thread) {
  if (!communicates()) return;
  CollectiveStep barrier;
  barrier.op = CollectiveOp::kAllReduce;
  barrier.bytes = kBarrierBytes;
  barrier.communicator = kBarrierCommunicator;
  barrier.label = "barrier";
  barrier.group = leaders_;
  barrier.on_host = true;
  barrier.control = true;
  thread.run(barrier);
}

void KeyedTraining::pull(Worker& thread, int iteration, size_t key, Request all_reduced) {
  Pull& entry = pulls_[static_cast<size_t>(iteration)][key];
  entry.all_reduced = std::move(all_reduced);
  thread.set(entry.begun);
}

void KeyedTraining::pull_all(Worker& thread) {
  for (std::vector<Pull>& pulls : pulls_)
    for (size_t key = 0; key < keys_.size(); ++key) {
      Pull& entry = pulls[key];
      const Tensor& tensor = keys_[key];
      const TrainingStage& stage = job_.stages[tensor.stage];
      thread.wait(entry.begun);
      if (entry.all_reduced) thread.wait(entry.all_reduced);
      if (communicates() && job_.host.stages_through_host)
        thread.run(HostCopy{.bytes = tensor.bytes,
                            .to_host = false,
                            .phase = Phase::kAggregation,
                            .label = "pull " + stage.name});
      if (process_) thread.run(step(CollectiveOp::kBroadcast, key));
      const double part =
          static_cast<double>(tensor.bytes) / static_cast<double>(stage.parameter_bytes);
      const Request update = thread.launch({.stream = 0,
                                            .duration_s = part * stage.update_s,
                                            .phase = Phase::kUpdate,
                                            .label = "update " + stage.name});
      entry.all_reduced = nullptr;
      thread.set(entry.released);
      if (&entry == &pulls_.back().back()) thread.wait(update);
    }
}

void KeyedTraining::finish() {
  if (puller_) worker_.wait(puller_);
}

}  // namespace forescale
