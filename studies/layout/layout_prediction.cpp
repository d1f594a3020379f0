#include "studies/layout/layout_prediction.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.hpp"
#include "models/compute/compute_choice.hpp"
#include "models/matrix_peaks.hpp"
#include "models/workload/transformer/decoder.hpp"

namespace forescale {
namespace {

constexpr const char* kOption = "--layout";

// Mixed precision with Adam: master weights, mean and variance in FP32.
constexpr std::int64_t kOptimizerBytes = 12;
constexpr std::int64_t kGradientBytes = 4;  // Megatron-LM's default, grad-reduce-in-bf16 unset
// A fused step reads gradient, master, mean and variance (16) and writes the last three and the
// weight (14); the norm of all gradients reads them once more (4).
constexpr double kOptimizerAccesses = 34;

const char* op_of(ExchangeKind kind) {
  switch (kind) {
    case ExchangeKind::kAllReduce:
      return "all-reduce";
    case ExchangeKind::kAllGather:
      return "allgather";
    case ExchangeKind::kReduceScatter:
      return "reduce-scatter";
    case ExchangeKind::kAllToAll:
      return "all-to-all";
  }
  return "";
}

// One collective of one group.
struct GroupCall {
  std::string op;
  std::vector<int> ranks;
  std::int64_t bytes = 0;
  auto operator<=>(const GroupCall&) const = default;
};

// Times of collectives, all simulated together once all are known.
class CallTimes {
 public:
  CallTimes(const Question& question, Asker& asker) : question_(question), asker_(asker) {}

  void want(const GroupCall& call) {
    if (call.ranks.size() > 1 && call.bytes > 0) times_[call] = 0;
  }

  void simulate() {
    std::vector<Question> questions;
    for (const auto& [call, time_s] : times_) {
      Question question;
      question.about = Question::About::kCollective;
      question.platform = question_.platform;
      question.placement = question_.placement;
      question.stack = question_.stack;
      question.network_scale = question_.network_scale;
      question.plan = call.op;
      question.slots = {call.ranks.begin(), call.ranks.end()};
      question.bytes = {call.bytes};
      questions.push_back(question);
    }
    const std::vector<RangedAnswer> answers =
        asker_.ask(questions, {.label = "simulating collectives"});
    size_t next = 0;
    for (auto& [call, time_s] : times_) time_s = answers[next++].nominal.time_s();
  }

  double of(const GroupCall& call) const {
    const auto found = times_.find(call);
    return found == times_.end() ? 0 : found->second;
  }

 private:
  const Question& question_;
  Asker& asker_;
  std::map<GroupCall, double> times_;
};

// Groups of rank 0, which stand for all of their kind.
struct Groups {
  std::vector<int> tensor;
  std::vector<int> expert;
  std::vector<int> data;         // with context: those that have the same weights
  std::vector<int> expert_data;  // that have the same experts
  std::vector<int> stage_pair;   // it and its neighbour in the next stage

  const std::vector<int>& of(ExchangeGroup group) const {
    return group == ExchangeGroup::kExpert ? expert : tensor;
  }
};

Groups groups_of(const Layout& layout) {
  const RankGrid grid(layout, kOption);
  Groups groups{.tensor = grid.group(0, {Dimension::kTensor}),
                .expert = grid.expert_group(0),
                .data = grid.group(0, {Dimension::kContext, Dimension::kData}),
                .expert_data = grid.expert_data_group(0),
                .stage_pair = {}};
  const std::vector<int> stages = grid.group(0, {Dimension::kPipeline});
  if (stages.size() > 1) groups.stage_pair = {stages[0], stages[1]};
  return groups;
}

class LayoutRun {
 public:
  LayoutRun(const Question& question, std::int64_t gpus, Asker& asker)
      : question_(question),
        machine_(asker.machine(machine_question(question))),
        times_(question, asker) {
    const Transformer model = transformer_of(question);
    answer_.layout = resolved(parse_layout(question.layout, kOption), gpus, kOption);
    if (answer_.layout.virtual_stages > 1 && answer_.layout.schedule == "1f1b")
      answer_.layout.schedule = "interleaved";
    answer_.model = model.name;
    answer_.gpus = gpus;
    answer_.tokens = question.sequence > 0 ? question.sequence : model.sequence;
    choose_gpu();
    read_parts(model);
    groups_ = groups_of(answer_.layout);
  }

  LayoutPrediction run() {
    const PipelineSchedule& schedule =
        Registry<PipelineSchedule>::find(answer_.layout.schedule, kOption);
    const PipelineShape shape{.ranks = static_cast<int>(answer_.layout.pipeline),
                              .stages_a_rank = static_cast<int>(answer_.layout.virtual_stages),
                              .micro_batches = static_cast<int>(answer_.layout.micro_batches())};
    check_shape(schedule, shape, kOption);
    ask_for_times();
    count_iteration(schedule, shape);
    count_memory(schedule, shape);
    return std::move(answer_);
  }

 private:
  static Transformer transformer_of(const Question& question) {
    const JsonInput in = JsonInput::from_file(network_file(question.model, "--model"));
    if (!is_transformer(in))
      refuse("--model", question.model, "must be a transformer, which names its model_type");
    return read_transformer(in);
  }

  static Question machine_question(const Question& question) {
    Question machine;
    machine.about = Question::About::kCollective;
    machine.platform = question.platform;
    machine.placement = question.placement;
    machine.stack = question.stack;
    machine.network_scale = question.network_scale;
    return machine;
  }

  void choose_gpu() {
    if (!machine_.platform.can_train())
      refuse("--platform", question_.platform, "has no GPUs to train on");
    gpu_ = machine_.platform.gpu_models.front();
    if (answer_.gpus > machine_.platform.slot_count())
      refuse("--gpus", std::to_string(answer_.gpus),
             fmt::format("must be at most the {} GPUs of platform {}",
                         machine_.platform.slot_count(), machine_.platform.name));
    const ComputeChoice choice{.gpu_model = question_.gpu_model,
                               .option = "--gpu-model",
                               .precision = question_.precision.value_or(Precision::kBf16)};
    answer_.precision = precision_on(gpu_, choice);
    answer_.platform = machine_.platform.name;
    answer_.stack = machine_.stack.name;
    answer_.gpu = gpu_.name;
    answer_.gpu_memory_bytes = gpu_.memory.value;
    answer_.peak_flops_per_s =
        load_matrix_peaks(gpu_.file, "--gpu", nullptr).of(answer_.precision).value;
    const std::string name = gpu_model_for(gpu_, choice);
    if (name.empty())
      refuse("--platform", question_.platform,
             "has a GPU whose kernels nobody measured; transformers need --gpu-model");
    fitted_ = model_on(gpu_, name, "--gpu-model", nullptr);
  }

  void read_parts(const Transformer& model) {
    const Network whole = infer_network(decoder(model, answer_.tokens, "--seq"));
    answer_.parameters = whole.parameters();
    answer_.model_flops = (whole.forward_flops() + products_twice(whole)) *
                          static_cast<double>(answer_.layout.global_batch) /
                          static_cast<double>(answer_.gpus);
    parts_ = stage_parts({.model = &model,
                          .layout = &answer_.layout,
                          .tokens = answer_.tokens,
                          .precision = answer_.precision,
                          .fitted = &fitted_,
                          .gpu = &gpu_,
                          .option = kOption});
  }

  // Backward FLOP without those that attention computes again.
  static double products_twice(const Network& network) { return 2 * network.forward_flops(); }

  bool is_full_recompute() const { return answer_.layout.recompute == Recompute::kFull; }

  // What recompute=full is for, of the layers of a stage.
  double recomputed_share(const StagePart& part) const {
    if (!is_full_recompute() || part.layers == 0) return 0;
    if (answer_.layout.recompute_layers == 0) return 1;
    return std::min(1.0, static_cast<double>(answer_.layout.recompute_layers) /
                             static_cast<double>(part.layers));
  }

  std::int64_t grad_bytes(const StagePart& part) const {
    return kGradientBytes * (part.parameters - part.expert_parameters);
  }

  bool shards_optimizer() const { return answer_.layout.sharding != StateSharding::kNone; }
  bool shards_parameters() const { return answer_.layout.sharding == StateSharding::kParameters; }

  void ask_for_times() {
    for (const StagePart& part : parts_) {
      for (const ExchangeCounts* counts : {&part.forward, &part.backward})
        for (const auto& [exchange, count] : *counts) times_.want(call_of(exchange));
      for (const GroupCall& call : gradient_calls(part)) times_.want(call);
      for (const GroupCall& call : parameter_calls(part)) times_.want(call);
    }
    times_.want(message());
    times_.simulate();
  }

  GroupCall call_of(const ExchangeCounts::key_type& exchange) const {
    const auto& [group, kind, bytes] = exchange;
    return {.op = op_of(kind), .ranks = groups_.of(group), .bytes = bytes};
  }

  GroupCall message() const {
    const std::int64_t bytes = parts_.front().boundary_bytes;
    return {.op = "broadcast", .ranks = groups_.stage_pair, .bytes = bytes};
  }

  // Of a stage's gradients once an iteration (ZeRO 3: each micro-batch), and of its parameters.
  std::vector<GroupCall> gradient_calls(const StagePart& part) const {
    const char* op = shards_optimizer() ? "reduce-scatter" : "all-reduce";
    return {
        {.op = op, .ranks = groups_.data, .bytes = grad_bytes(part)},
        {.op = op, .ranks = groups_.expert_data, .bytes = kGradientBytes * part.expert_parameters}};
  }
  std::vector<GroupCall> parameter_calls(const StagePart& part) const {
    if (!shards_optimizer()) return {};
    const std::int64_t width = bytes_a_value(answer_.precision);
    return {
        {.op = "allgather",
         .ranks = groups_.data,
         .bytes = width * (part.parameters - part.expert_parameters)},
        {.op = "allgather", .ranks = groups_.expert_data, .bytes = width * part.expert_parameters}};
  }

  double sum_of(const std::vector<GroupCall>& calls) const {
    double sum_s = 0;
    for (const GroupCall& call : calls) sum_s += times_.of(call);
    return sum_s;
  }

  double exchange_s(const ExchangeCounts& counts, ExchangeGroup group) const {
    double sum_s = 0;
    for (const auto& [exchange, count] : counts)
      if (std::get<ExchangeGroup>(exchange) == group) sum_s += count * times_.of(call_of(exchange));
    return sum_s;
  }
  double exchange_s(const ExchangeCounts& counts) const {
    return exchange_s(counts, ExchangeGroup::kTensor) + exchange_s(counts, ExchangeGroup::kExpert);
  }

  // A pass is at least as long as what ZeRO 3 gathers, or reduces, under it.
  StageCost cost_of(const StagePart& part, bool splits) const {
    const double again_s = recomputed_share(part) * (part.forward_s + exchange_s(part.forward));
    StageCost cost;
    cost.forward_s = part.forward_s + exchange_s(part.forward);
    cost.backward_s = part.backward_s + exchange_s(part.backward) + again_s;
    if (shards_parameters()) {
      const double gathered_s = sum_of(parameter_calls(part));
      cost.forward_s = std::max(cost.forward_s, gathered_s);
      cost.backward_s = std::max(cost.backward_s, gathered_s + sum_of(gradient_calls(part)));
    }
    if (splits) {
      cost.weights_s = part.weight_gradients_s;
      cost.backward_s -= cost.weights_s;
    }
    return cost;
  }

  void count_iteration(const PipelineSchedule& schedule, const PipelineShape& shape) {
    std::vector<StageCost> costs;
    for (const StagePart& part : parts_) costs.push_back(cost_of(part, schedule.splits_backward));
    double passes_s = 0;
    for (const auto& rank : pipeline_times(schedule, shape, costs, times_.of(message())))
      passes_s = std::max(passes_s, rank.back().end_s);
    const auto micro_batches = static_cast<double>(shape.micro_batches);
    size_t longest = 0;
    double longest_s = 0;
    for (int rank = 0; rank < shape.ranks; ++rank) {
      double busy_s = 0;
      double exposed_s = 0;
      double update_s = 0;
      for (size_t stage = 0; stage < parts_.size(); ++stage) {
        if (rank_of(schedule, shape, static_cast<int>(stage)) != rank) continue;
        const StageCost& cost = costs[stage];
        busy_s += micro_batches * (cost.forward_s + cost.backward_s + cost.weights_s);
        exposed_s += exposed_data_s(parts_[stage], cost);
        update_s += optimizer_s(parts_[stage]);
      }
      answer_.data_s = std::max(answer_.data_s, exposed_s);
      answer_.optimizer_s = std::max(answer_.optimizer_s, update_s);
      if (busy_s > longest_s) {
        longest_s = busy_s;
        longest = static_cast<size_t>(rank);
      }
    }
    for (size_t stage = 0; stage < parts_.size(); ++stage)
      if (rank_of(schedule, shape, static_cast<int>(stage)) == static_cast<int>(longest))
        add_to_breakdown(parts_[stage], micro_batches);
    answer_.pipeline_s =
        passes_s - answer_.compute_s - answer_.recompute_s - answer_.tensor_s - answer_.expert_s;
    answer_.iteration_s = passes_s + answer_.data_s + answer_.optimizer_s;
    answer_.tokens_per_s_gpu = static_cast<double>(answer_.layout.global_batch * answer_.tokens) /
                               answer_.iteration_s / static_cast<double>(answer_.gpus);
  }

  void add_to_breakdown(const StagePart& part, double micro_batches) {
    const double share = recomputed_share(part);
    answer_.compute_s += micro_batches * (part.forward_s + part.backward_s);
    answer_.recompute_s += micro_batches * share * part.forward_s;
    const auto both = [&](ExchangeGroup group) {
      return micro_batches *
             ((1 + share) * exchange_s(part.forward, group) + exchange_s(part.backward, group));
    };
    answer_.tensor_s += both(ExchangeGroup::kTensor);
    answer_.expert_s += both(ExchangeGroup::kExpert);
  }

  // Beyond the last backward and the first forward pass.
  double exposed_data_s(const StagePart& part, const StageCost& cost) const {
    if (shards_parameters()) return 0;
    return std::max(0.0, sum_of(gradient_calls(part)) - cost.backward_s - cost.weights_s) +
           std::max(0.0, sum_of(parameter_calls(part)) - cost.forward_s);
  }

  // What a rank holds of a stage's state, over all that it would.
  double held_share(const StagePart& part, bool is_sharded, bool of_experts) const {
    const std::vector<int>& group = of_experts ? groups_.expert_data : groups_.data;
    const auto parameters = static_cast<double>(
        of_experts ? part.expert_parameters : part.parameters - part.expert_parameters);
    return is_sharded ? parameters / static_cast<double>(group.size()) : parameters;
  }
  double held(const StagePart& part, bool is_sharded) const {
    return held_share(part, is_sharded, false) + held_share(part, is_sharded, true);
  }

  double optimizer_s(const StagePart& part) const {
    return kOptimizerAccesses * held(part, shards_optimizer()) / gpu_.memory_bandwidth.value;
  }

  void count_memory(const PipelineSchedule& schedule, const PipelineShape& shape) {
    const std::vector<std::vector<PipelinePass>> orders = schedule.orders(shape);
    for (int rank = 0; rank < shape.ranks; ++rank) {
      std::vector<MemoryPart> memory = state_of(schedule, shape, rank);
      for (MemoryPart& part : activations_of(orders[static_cast<size_t>(rank)]))
        memory.push_back(part);
      std::int64_t bytes = 0;
      for (const MemoryPart& part : memory) bytes += part.bytes;
      if (bytes <= answer_.memory_bytes) continue;
      answer_.memory_bytes = bytes;
      answer_.memory = memory;
    }
  }

  std::vector<MemoryPart> state_of(const PipelineSchedule& schedule, const PipelineShape& shape,
                                   int rank) const {
    double parameters = 0;
    double gradients = 0;
    double optimizer = 0;
    for (size_t stage = 0; stage < parts_.size(); ++stage) {
      if (rank_of(schedule, shape, static_cast<int>(stage)) != rank) continue;
      parameters += held(parts_[stage], shards_parameters());
      gradients += held(parts_[stage], answer_.layout.sharding >= StateSharding::kGradients);
      optimizer += held(parts_[stage], shards_optimizer());
    }
    const auto bytes = [](double values, std::int64_t width) {
      return static_cast<std::int64_t>(values * static_cast<double>(width));
    };
    return {{"parameters", bytes(parameters, bytes_a_value(answer_.precision))},
            {"gradients", bytes(gradients, kGradientBytes)},
            {"optimizer", bytes(optimizer, kOptimizerBytes)}};
  }

  // The most that is held at once over a rank's passes.
  std::vector<MemoryPart> activations_of(const std::vector<PipelinePass>& order) const {
    std::int64_t held = 0;
    std::int64_t most = 0;
    std::int64_t logits = 0;
    std::int64_t layer = 0;
    for (const PipelinePass& pass : order) {
      const StagePart& part = parts_[static_cast<size_t>(pass.stage)];
      logits = std::max(logits, part.logit_bytes);
      if (is_full_recompute()) layer = std::max(layer, part.layer_kept_bytes);
      if (pass.kind == PassKind::kForward) most = std::max(most, held += kept_of(part));
      if (pass.kind == PassKind::kBackward || pass.kind == PassKind::kWeightGradient)
        held -= kept_of(part);
    }
    return {{"activations", most}, {"recomputed layer", layer}, {"logits", logits}};
  }

  std::int64_t kept_of(const StagePart& part) const {
    const double share = recomputed_share(part);
    return static_cast<std::int64_t>((1 - share) * static_cast<double>(part.kept_bytes) +
                                     share *
                                         static_cast<double>(part.layers * part.boundary_bytes));
  }

  const Question& question_;
  const QuestionMachine& machine_;
  GpuModel gpu_;
  FittedGpu fitted_;
  std::vector<StagePart> parts_;
  Groups groups_;
  CallTimes times_;
  LayoutPrediction answer_;
};

}  // namespace

LayoutPrediction predict_layout(const Question& question, std::int64_t gpus, Asker& asker) {
  return LayoutRun(question, gpus, asker).run();
}

}  // namespace forescale
