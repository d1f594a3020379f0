// CaffeGPI: turn-based communication with one-sided writes, one turn a layer of the backward pass.
//
// Kuehn, Keuper and Pfreundt 2017, sections 2.3 and 3.2; what they leave open is as in their code
// (cc-hpc-itwm/CaffeGPI: net.cpp at 19679bd3, gpi_communicator_diff.cpp at e04ef11d,
// gpi_communicator_model.cpp at 2c0be768, gpi_ring_buffer.cpp at 2669ae81). Having launched a
// layer's backward pass the same thread looks once for notifications: gradients that have arrived
// are added on the CPU, a tensor that has all of its tree's shares is written to the parent, models
// that have arrived are written on. Writes are not waited for. What arrives between two turns lies
// until the next one. After the last layer the thread goes on until it has the whole model, then
// begins the next iteration, whatever the others do.
//
// Kernels are launched, not waited for. A gradient is copied from the GPU when the CPU first
// touches it, by a synchronous copy on the default stream, which waits for all that was launched:
// a rank without children computes and copies layer by layer, and so does the master, for its
// model; one in between that waits for a child's gradient has launched its whole backward pass
// meanwhile.
//
// One thread adds (a plain loop: RingBufferRead::Add). Gradients are written from where they lie,
// in GPI-2's segments (section 3.2); the code's later ring buffer, which copies them first, is not
// what the paper describes. Caffe keeps one newest copy of a tensor, on the GPU or on the host, so
// a gradient that the CPU has added to goes back to the GPU, to be zeroed there
// (Net::ClearParamDiffs), and each forward layer first copies its parameters to the GPU.
//
// Reduce tree: rank r > 0 writes to r without its highest bit. The model goes down from rank 0. The
// master scales the sum on the CPU (Net::UpdateLayersWithSolver) and updates on its GPU: sum and
// model are copied there, since the host's copy of the model counts as the newest from the layer's
// backward pass on, when it is fetched from the GPU (CommunicatorModel::Acknowledge). Taken
// literally that sends every model one update late; the copies here are those of the code.
#include <algorithm>
#include <bit>

#include "algorithms/schedule.hpp"
#include "algorithms/steps/training_steps.hpp"
#include "algorithms/tensors.hpp"

namespace forescale {
namespace {

constexpr const char* kModelTree = "model_tree";
enum ModelTree { kFewestHops, kBinomial };

// The branching b <= 100 of a b-ary tree that has the smallest b times depth, the smallest such b;
// 2 unless another one is below P.
int branching_of(int ranks) {
  int best = 2;
  int best_hops = ranks;
  for (int branching = 2; branching <= 100; ++branching) {
    int depth = 0;
    for (std::int64_t level = 1, all = 1; all < ranks; ++depth) {
      level *= branching;
      all += level;
    }
    if (branching * depth >= best_hops) continue;
    best_hops = branching * depth;
    best = branching;
  }
  return best;
}

int gradient_parent(int rank) {
  return rank == 0 ? -1 : rank - static_cast<int>(std::bit_floor(static_cast<unsigned>(rank)));
}

int model_parent(const TrainingJob& job, int rank, int ranks) {
  if (rank == 0 || job.options.choice(kModelTree) == kBinomial) return gradient_parent(rank);
  return (rank - 1) / branching_of(ranks);
}

// One rank.
class TurnBased {
 public:
  TurnBased(Worker& worker, const TrainingJob& job) : worker_(worker), job_(job) {
    const int ranks = worker.worker_count();
    const int self = worker.rank();
    gradient_parent_ = gradient_parent(self);
    model_parent_ = model_parent(job, self, ranks);
    for (int rank = 1; rank < ranks; ++rank) {
      if (gradient_parent(rank) == self) gradient_children_.push_back({.rank = rank});
      if (model_parent(job, rank, ranks) == self) model_children_.push_back(rank);
    }
    for (const Tensor& key : tensors_of(job)) tensors_.push_back({.key = key});
    std::stable_sort(tensors_.begin(), tensors_.end(),
                     [](const State& a, const State& b) { return a.key.stage > b.key.stage; });
  }

  void run_iteration(int iteration) {
    if (iteration > 0) clear_gradients();
    take_batch(worker_);
    for (const TrainingStage& stage : job_.stages) {
      if (iteration > 0 && !is_master()) copy_parameters(stage);
      launch(forward(stage));
    }
    synchronise();  // the loss is read
    begin_backward();
    for (size_t stage = job_.stages.size(); stage-- > 0;) {
      launch(backward(job_.stages[stage]));
      if (iteration > 0 && is_master() && communicates()) fetch_model(job_.stages[stage]);
      while (computed_ < tensors_.size() && tensors_[computed_].key.stage == stage) ++computed_;
      look();
    }
    while (passed_on_ < tensors_.size())
      if (!look()) worker_.wait_any(awaited());
    synchronise();
    worker_.end_iteration();
  }

 private:
  struct State {
    Tensor key;
    bool on_host = false;     // this iteration's gradient
    Request model = nullptr;  // its arrival
  };
  struct Child {
    int rank = 0;
    size_t added = 0;  // of its tensors
    std::vector<Request> arrivals = {};
  };

  bool is_master() const { return worker_.rank() == 0; }
  bool communicates() const { return worker_.worker_count() > 1; }
  const std::string& name(const State& tensor) const { return job_.stages[tensor.key.stage].name; }

  MessageStep message(int peer, size_t index, bool model) const {
    const State& tensor = tensors_[index];
    MessageStep step;
    step.peer = peer;
    step.bytes = tensor.key.bytes;
    step.tag = static_cast<int>(2 * index) + (model ? 1 : 0);
    step.phase = model ? Phase::kPropagation : Phase::kAggregation;
    step.label = (model ? "model " : "gradient ") + name(tensor);
    step.on_host = true;
    return step;
  }

  void launch(const Kernel& kernel) { launched_ = worker_.launch(kernel); }

  // Kernels run in the order of their launch.
  void synchronise() {
    if (launched_) worker_.wait(launched_);
    launched_ = nullptr;
  }

  // One thread passes over a tensor in memory: so many reads and writes of every byte.
  void pass(const State& tensor, double s_per_byte, double accesses, const std::string& what) {
    const auto bytes = static_cast<double>(tensor.key.bytes);
    worker_.run(HostWork{.duration_s = bytes * s_per_byte,
                         .memory_bytes = accesses * bytes,
                         .phase = Phase::kAggregation,
                         .label = what + " " + name(tensor)});
  }

  void copy(std::int64_t bytes, bool to_host, Phase phase, const std::string& label) {
    synchronise();
    if (job_.host.stages_through_host)
      worker_.run(HostCopy{.bytes = bytes, .to_host = to_host, .phase = phase, .label = label});
  }

  void copy_parameters(const TrainingStage& stage) {
    if (stage.parameter_bytes > 0)
      copy(stage.parameter_bytes, false, Phase::kPropagation, "parameters of " + stage.name);
  }

  void fetch_model(const TrainingStage& stage) {
    if (stage.parameter_bytes > 0)
      copy(stage.parameter_bytes, true, Phase::kAggregation, "model of " + stage.name);
  }

  // Gradients that this rank has added to lie on the host; the master's last use was its update.
  void clear_gradients() {
    if (is_master() || gradient_children_.empty()) return;
    for (const State& tensor : tensors_)
      copy(tensor.key.bytes, false, Phase::kAggregation, "gradient back of " + name(tensor));
  }

  void begin_backward() {
    computed_ = summed_ = passed_on_ = 0;
    for (Child& child : gradient_children_) {
      child.added = 0;
      child.arrivals.clear();
      for (size_t i = 0; i < tensors_.size(); ++i)
        child.arrivals.push_back(worker_.receive(message(child.rank, i, false)));
    }
    for (size_t i = 0; i < tensors_.size(); ++i) {
      tensors_[i].on_host = false;
      if (!is_master()) tensors_[i].model = worker_.receive(message(model_parent_, i, true));
    }
  }

  void touch_on_host(State& tensor) {
    if (tensor.on_host || !communicates()) return;
    tensor.on_host = true;
    copy(tensor.key.bytes, true, Phase::kAggregation, "gradient of " + name(tensor));
  }

  // Two read, one written.
  void add(const State& tensor) { pass(tensor, job_.host.add_s_per_byte, 3, "add"); }

  // One read, one written: at the rate of an addition.
  void scale(const State& tensor) { pass(tensor, 2.0 / 3 * job_.host.add_s_per_byte, 2, "scale"); }

  void update(const State& tensor) {
    const TrainingStage& stage = job_.stages[tensor.key.stage];
    const double part =
        static_cast<double>(tensor.key.bytes) / static_cast<double>(stage.parameter_bytes);
    if (communicates()) {
      scale(tensor);
      copy(tensor.key.bytes, false, Phase::kUpdate, "sum of " + stage.name);
      copy(tensor.key.bytes, false, Phase::kUpdate, "model of " + stage.name);
    }
    launch(Kernel{.stream = 0,
                  .duration_s = part * stage.update_s,
                  .phase = Phase::kUpdate,
                  .label = "update " + stage.name});
  }

  bool all_children_added(size_t index) const {
    return std::all_of(gradient_children_.begin(), gradient_children_.end(),
                       [&](const Child& child) { return child.added > index; });
  }

  // One turn; whether there was anything to do.
  bool look() {
    bool acted = false;
    for (Child& child : gradient_children_)
      while (child.added < computed_) {
        State& tensor = tensors_[child.added];
        touch_on_host(tensor);
        if (!worker_.test(child.arrivals[child.added])) break;
        add(tensor);
        ++child.added;
        acted = true;
      }
    for (; summed_ < computed_ && all_children_added(summed_); ++summed_, acted = true) {
      State& tensor = tensors_[summed_];
      touch_on_host(tensor);
      if (is_master())
        update(tensor);
      else
        worker_.put(message(gradient_parent_, summed_, false));
    }
    for (; passed_on_ < tensors_.size() && has_model(passed_on_); ++passed_on_, acted = true)
      for (const int child : model_children_) worker_.put(message(child, passed_on_, true));
    return acted;
  }

  bool has_model(size_t index) {
    return is_master() ? index < summed_ : worker_.test(tensors_[index].model);
  }

  std::vector<Request> awaited() const {
    std::vector<Request> requests;
    for (const Child& child : gradient_children_)
      if (child.added < computed_) requests.push_back(child.arrivals[child.added]);
    if (!is_master()) requests.push_back(tensors_[passed_on_].model);
    return requests;
  }

  Worker& worker_;
  const TrainingJob& job_;
  std::vector<State> tensors_;  // in the order in which gradients appear
  int gradient_parent_ = -1;
  int model_parent_ = -1;
  std::vector<Child> gradient_children_;
  std::vector<int> model_children_;
  Request launched_;  // the last kernel, unless waited for
  // Of this iteration's tensors: gradients computed here, gradients of the whole subtree handled
  // (the master: updated), models received and passed on.
  size_t computed_ = 0;
  size_t summed_ = 0;
  size_t passed_on_ = 0;
};

void run_caffe_gpi(Worker& worker, const TrainingJob& job) {
  TurnBased rank(worker, job);
  for (int iteration = 0; iteration < job.iterations; ++iteration) rank.run_iteration(iteration);
}

// Every rank but the master sends all gradients once and receives the model once.
Traffic caffe_gpi_traffic(const TrainingJob& job, int workers, const std::vector<int>& /*nodes*/) {
  Traffic traffic;
  const auto bytes = static_cast<double>(job.parameter_bytes());
  for (int rank = 1; rank < workers; ++rank) {
    traffic.messages[{rank, gradient_parent(rank)}] += bytes;
    traffic.messages[{model_parent(job, rank, workers), rank}] += bytes;
  }
  return traffic;
}

const bool kCaffeGpiRegistered = Registry<Schedule>::add(
    {.name = "caffe-gpi",
     .summary = "turn by turn with the backward layers: one-sided writes along trees, no barrier",
     .source = "Kuehn, Keuper and Pfreundt 2017 (CaffeGPI), sections 2.3 and 3.2",
     .options = {{.name = kModelTree,
                  .summary = "tree of the model's broadcast: b-ary with the fewest b x depth, or "
                             "the gradients' binomial tree turned around",
                  .unit = OptionUnit::kChoice,
                  .fallback = kFewestHops,
                  .min = 0,
                  .max = 1,
                  .choices = {"fewest-hops", "binomial"},
                  .source = "cc-hpc-itwm/CaffeGPI, gpi_communicator_model.cpp at 2c0be768; the "
                            "paper says another tree than that of the gradients",
                  .tried = {0, 1}}},
     .run = run_caffe_gpi,
     .servers = nullptr,
     .traffic = caffe_gpi_traffic,
     .is_asynchronous = false,
     .follows_arrivals = true,
     .iterations = 12});

}  // namespace
}  // namespace forescale
