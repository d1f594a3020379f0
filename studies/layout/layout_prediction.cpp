#include "studies/layout/layout_prediction.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>

#include "base/error.hpp"
#include "models/compute/compute_choice.hpp"
#include "models/compute/transformer_framework.hpp"
#include "models/matrix_peaks.hpp"
#include "models/workload/transformer/decoder.hpp"

namespace forescale {
namespace {

constexpr const char* kOption = "--layout";

// Mixed precision with Adam: master weights, mean and variance in FP32.
constexpr std::int64_t kOptimizerBytes = 12;
// A fused step reads gradient, master, mean and variance (16) and writes the last three and the
// weight (14); the norm of all gradients reads them once more (4).
constexpr double kOptimizerAccesses = 34;

constexpr double kForwardShare = 1.0 / 3;  // of the kernels of both passes

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

// A collective on a machine that `about` names.
Question question_of(const LayoutCase& about) {
  Question question;
  question.about = Question::About::kCollective;
  question.platform = about.question.platform;
  question.placement = about.question.placement;
  question.stack = about.question.stack;
  question.network_scale = about.question.network_scale;
  return question;
}

// Times of collectives on their machines, all simulated together once all are known.
class CallTimes {
 public:
  using Key = std::pair<std::string, GroupCall>;  // of a machine

  // What all calls of a case have in common.
  static std::string machine_of(const LayoutCase& about) {
    return about.scenario.name() + " " + key_of(question_of(about));
  }

  void want(const LayoutCase& about, const GroupCall& call) {
    if (call.ranks.size() < 2 || call.bytes == 0) return;
    const auto [place, is_new] = times_.try_emplace(Key{machine_of(about), call});
    if (!is_new) return;
    Question question = question_of(about);
    question.plan = call.op;
    question.slots = {call.ranks.begin(), call.ranks.end()};
    question.bytes = {call.bytes};
    places_.push_back(&place->second);
    questions_.push_back(question);
    scenarios_.push_back(about.scenario);
  }

  void simulate(Asker& asker, bool keep_failures) {
    const std::vector<Answer> answers =
        asker.ask_each(questions_, scenarios_,
                       {.label = "simulating collectives", .keep_failures = keep_failures});
    for (size_t i = 0; i < answers.size(); ++i) *places_[i] = answers[i];
  }

  // `machine`: machine_of() the case. CallFailed.
  double of(const std::string& machine, const GroupCall& call) const {
    const auto found = times_.find(Key{machine, call});
    if (found == times_.end()) return 0;
    if (!found->second.failure.empty()) throw CallFailed(found->second.failure);
    return found->second.time_s();
  }

  class CallFailed : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
  };

 private:
  std::map<Key, Answer> times_;
  // Of those to simulate, in one order.
  std::vector<Answer*> places_;
  std::vector<Question> questions_;
  std::vector<Scenario> scenarios_;
};

// Of both passes of a micro-batch: for the CPU, and for what ZeRO 3 gathers and reduces.
struct PassWaits {
  double host_s = 0;
  double data_s = 0;
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
  // `times` outlives this.
  LayoutRun(const LayoutCase& about, Asker& asker, CallTimes& times)
      : about_(about),
        question_(about_.question),
        machine_(asker.machine(question_of(about_), about_.scenario)),
        machine_name_(CallTimes::machine_of(about_)),
        times_(times) {
    const Transformer model = transformer_of(question_);
    const std::int64_t gpus = about_.gpus;
    answer_.layout = resolved(parse_layout(question_.layout, kOption), gpus, kOption);
    if (answer_.layout.virtual_stages > 1 && answer_.layout.schedule == "1f1b")
      answer_.layout.schedule = "interleaved";
    answer_.model = model.name;
    answer_.gpus = gpus;
    answer_.tokens = question_.sequence > 0 ? question_.sequence : model.sequence;
    choose_gpu();
    framework_ = transformer_framework(question_.framework.value_or(kDefaultTransformerFramework),
                                       gpu_.name, "--framework", nullptr);
    answer_.unmodelled = answer_.layout.pipeline > 1 ? framework_.unmodelled_pipeline
                                                     : framework_.unmodelled_one_stage;
    read_parts(model);
    groups_ = groups_of(answer_.layout);
    schedule_ = &Registry<PipelineSchedule>::find(answer_.layout.schedule, kOption);
    shape_ = {.ranks = static_cast<int>(answer_.layout.pipeline),
              .stages_a_rank = static_cast<int>(answer_.layout.virtual_stages),
              .micro_batches = static_cast<int>(answer_.layout.micro_batches())};
    check_shape(*schedule_, shape_, kOption);
    count_memory(*schedule_, shape_);
    if (answer_.may_fit()) want_times();
  }

  // Once the times are there.
  LayoutPrediction answer() {
    if (answer_.may_fit()) count_iteration(*schedule_, shape_);
    return std::move(answer_);
  }

 private:
  static Transformer transformer_of(const Question& question) {
    const JsonInput in = JsonInput::from_file(network_file(question.model, "--model"));
    if (!is_transformer(in))
      refuse("--model", question.model, "must be a transformer, which names its model_type");
    return read_transformer(in);
  }

  void choose_gpu() {
    if (!machine_.platform.can_train())
      refuse("--platform", question_.platform, "has no GPUs to train on");
    gpu_ = machine_.platform.gpu_models.front();
    if (answer_.gpus > machine_.platform.slot_count())
      refuse("--gpus", std::to_string(answer_.gpus),
             fmt::format("must be at most the {} GPUs of platform {}",
                         machine_.platform.slot_count(), machine_.platform.name));
    answer_.precision = question_.precision.value_or(Precision::kBf16);
    const ComputeChoice choice{.gpu_model = question_.gpu_model,
                               .option = "--gpu-model",
                               .precision = is_fp8() ? Precision::kBf16 : answer_.precision};
    values_ = precision_on(gpu_, choice);
    answer_.platform = machine_.platform.name;
    answer_.stack = machine_.stack.name;
    answer_.gpu = gpu_.name;
    answer_.gpu_memory_bytes = gpu_.memory.value;
    answer_.peak_flops_per_s =
        load_matrix_peaks(gpu_.file, "--gpu", nullptr).of(answer_.precision).value;
    if (answer_.peak_flops_per_s == 0)
      refuse("--precision", name_of(answer_.precision),
             fmt::format("is not among the peaks of {}", gpu_.file));
    const std::string name = gpu_model_for(gpu_, choice);
    if (name.empty())
      refuse("--platform", question_.platform,
             "has a GPU whose kernels nobody measured; transformers need --gpu-model");
    fitted_ = model_on(gpu_, name, "--gpu-model", nullptr);
    const KernelKind product{.operation = "gemm",
                             .type = "",
                             .pass = KernelPass::kForward,
                             .precision = answer_.precision};
    if (is_fp8() && fitted_.find_kernels(product) == nullptr)
      refuse("--precision", name_of(answer_.precision),
             fmt::format("has no products measured on {}", gpu_.name));
  }

  bool is_fp8() const { return answer_.precision == Precision::kFp8; }

  void read_parts(const Transformer& model) {
    const Network whole = infer_network(decoder(model, answer_.tokens, "--seq"));
    answer_.parameters = whole.parameters();
    answer_.model_flops = (whole.forward_flops() + products_twice(whole)) *
                          static_cast<double>(answer_.layout.global_batch) /
                          static_cast<double>(answer_.gpus);
    parts_ = stage_parts({.model = &model,
                          .layout = &answer_.layout,
                          .tokens = answer_.tokens,
                          .precision = values_,
                          .products = is_fp8() ? std::optional(Precision::kFp8) : std::nullopt,
                          .fitted = &fitted_,
                          .gpu = &gpu_,
                          .framework = &framework_,
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
    return answer_.layout.gradient_bytes * (part.parameters - part.expert_parameters);
  }

  bool shards_optimizer() const { return answer_.layout.sharding != StateSharding::kNone; }
  bool shards_parameters() const { return answer_.layout.sharding == StateSharding::kParameters; }

  void want_times() {
    const auto want = [&](const GroupCall& call) { times_.want(about_, call); };
    for (const StagePart& part : parts_) {
      for (const ExchangeCounts* counts : {&part.forward, &part.backward})
        for (const auto& [exchange, count] : *counts) want(call_of(exchange));
      for (const GroupCall& call : gradient_calls(part)) want(call);
      for (const GroupCall& call : parameter_calls(part)) want(call);
    }
    want(message());
  }
  double time_s(const GroupCall& call) const { return times_.of(machine_name_, call); }

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
    return {{.op = op, .ranks = groups_.data, .bytes = grad_bytes(part)},
            {.op = op,
             .ranks = groups_.expert_data,
             .bytes = answer_.layout.gradient_bytes * part.expert_parameters}};
  }
  std::vector<GroupCall> parameter_calls(const StagePart& part) const {
    if (!shards_optimizer()) return {};
    const std::int64_t width = bytes_a_value(values_);
    return {
        {.op = "allgather",
         .ranks = groups_.data,
         .bytes = width * (part.parameters - part.expert_parameters)},
        {.op = "allgather", .ranks = groups_.expert_data, .bytes = width * part.expert_parameters}};
  }

  double sum_of(const std::vector<GroupCall>& calls) const {
    double sum_s = 0;
    for (const GroupCall& call : calls) sum_s += time_s(call);
    return sum_s;
  }

  double exchange_s(const ExchangeCounts& counts, ExchangeGroup group) const {
    double sum_s = 0;
    for (const auto& [exchange, count] : counts)
      if (std::get<ExchangeGroup>(exchange) == group) sum_s += count * time_s(call_of(exchange));
    return sum_s;
  }
  double exchange_s(const ExchangeCounts& counts) const {
    return exchange_s(counts, ExchangeGroup::kTensor) + exchange_s(counts, ExchangeGroup::kExpert);
  }

  // A pass is at least as long as the CPU takes to ask for its kernels, and as what ZeRO 3 gathers,
  // or reduces, under it.
  StageCost cost_of(const StagePart& part, bool splits, PassWaits& waits) const {
    const double host_s = framework_.host_layer_s * static_cast<double>(part.layers);
    StageCost cost{.forward_s = part.forward_s + exchange_s(part.forward),
                   .backward_s = part.backward_s + exchange_s(part.backward)};
    const auto wait = [](double& pass_s, double least_s) {
      const double waited_s = std::max(0.0, least_s - pass_s);
      pass_s += waited_s;
      return waited_s;
    };
    const double forward_wait_s = wait(cost.forward_s, kForwardShare * host_s);
    const double backward_wait_s = wait(cost.backward_s, (1 - kForwardShare) * host_s);
    waits.host_s = (1 + recomputed_share(part)) * forward_wait_s + backward_wait_s;
    cost.backward_s += recomputed_share(part) * cost.forward_s;
    if (shards_parameters()) {
      const double gathered_s = sum_of(parameter_calls(part));
      waits.data_s = wait(cost.forward_s, gathered_s);
      waits.data_s += wait(cost.backward_s, gathered_s + sum_of(gradient_calls(part)));
    }
    if (splits) {
      cost.weights_s = part.weight_gradients_s;
      cost.backward_s -= cost.weights_s;
    }
    return cost;
  }

  void count_iteration(const PipelineSchedule& schedule, const PipelineShape& shape) {
    std::vector<StageCost> costs;
    std::vector<PassWaits> waits(parts_.size());
    for (size_t stage = 0; stage < parts_.size(); ++stage)
      costs.push_back(cost_of(parts_[stage], schedule.splits_backward, waits[stage]));
    double passes_s = 0;
    for (const auto& rank : pipeline_times(schedule, shape, costs, time_s(message())))
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
      exposed_s_ = std::max(exposed_s_, exposed_s);
      answer_.optimizer_s = std::max(answer_.optimizer_s, update_s);
      if (busy_s > longest_s) {
        longest_s = busy_s;
        longest = static_cast<size_t>(rank);
      }
    }
    for (size_t stage = 0; stage < parts_.size(); ++stage)
      if (rank_of(schedule, shape, static_cast<int>(stage)) == static_cast<int>(longest))
        add_to_breakdown(parts_[stage], waits[stage], micro_batches);
    answer_.iteration_s = passes_s + exposed_s_ + answer_.optimizer_s;
    answer_.pipeline_s = passes_s - answer_.compute_s - answer_.recompute_s - answer_.host_s -
                         answer_.tensor_s - answer_.expert_s - answer_.data_s;
    answer_.data_s += exposed_s_;
    answer_.tokens_per_s_gpu =
        answer_.tokens_an_iteration() / answer_.iteration_s / static_cast<double>(answer_.gpus);
  }

  void add_to_breakdown(const StagePart& part, const PassWaits& waits, double micro_batches) {
    answer_.host_s += micro_batches * waits.host_s;
    answer_.data_s += micro_batches * waits.data_s;
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
      double bytes = 0;
      for (const MemoryPart& part : memory) bytes += static_cast<double>(part.bytes);
      const auto times = [&](double factor) { return static_cast<std::int64_t>(factor * bytes); };
      memory.push_back({"framework", times(framework_.memory - 1)});
      const std::int64_t all = times(1) + memory.back().bytes;
      if (all <= answer_.memory_bytes) continue;
      answer_.memory_bytes = all;
      answer_.memory_low_bytes = times(framework_.memory_low);
      answer_.memory_high_bytes = times(framework_.memory_high);
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
    return {{"parameters", bytes(parameters, bytes_a_value(values_))},
            {"gradients", bytes(gradients, answer_.layout.gradient_bytes)},
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
      logits = std::max(logits, part.score_bytes);
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

  const LayoutCase about_;
  const Question& question_;
  const QuestionMachine& machine_;
  const std::string machine_name_;
  const PipelineSchedule* schedule_ = nullptr;
  PipelineShape shape_ = {};
  GpuModel gpu_;
  Precision values_ = Precision::kBf16;  // of all but what FP8 is for
  FittedGpu fitted_;
  TransformerFramework framework_;
  std::vector<StagePart> parts_;
  Groups groups_;
  CallTimes& times_;
  double exposed_s_ = 0;  // of gradients and parameters, under no pass
  LayoutPrediction answer_;
};

}  // namespace

std::vector<LayoutPrediction> predict_layouts(const std::vector<LayoutCase>& cases, Asker& asker,
                                              bool keep_failures) {
  CallTimes times;
  std::vector<LayoutPrediction> answers(cases.size());
  std::vector<std::unique_ptr<LayoutRun>> runs(cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    try {
      runs[i] = std::make_unique<LayoutRun>(cases[i], asker, times);
    } catch (const InputError& error) {
      if (!keep_failures) throw;
      answers[i].failure = error.what();
    }
  }
  times.simulate(asker, keep_failures);
  for (size_t i = 0; i < cases.size(); ++i) {
    if (!runs[i]) continue;
    try {
      answers[i] = runs[i]->answer();
    } catch (const CallTimes::CallFailed& failed) {
      answers[i].failure = failed.what();
    }
  }
  return answers;
}

std::vector<LayoutPrediction> predict_layout_ranges(const std::vector<LayoutCase>& cases,
                                                    Asker& asker) {
  const std::vector<Scenario> scenarios = Draws::kEnds.scenarios();
  std::vector<LayoutCase> all;
  for (LayoutCase about : cases)
    for (const Scenario& scenario : scenarios) {
      about.scenario = scenario;
      all.push_back(about);
    }
  const std::vector<LayoutPrediction> found = predict_layouts(all, asker);
  std::vector<LayoutPrediction> answers;
  for (size_t i = 0; i < found.size(); i += scenarios.size()) {
    RangedAnswer ranged;
    for (size_t end = 0; end < scenarios.size(); ++end) {
      const Answer answer = as_training(found[i + end]);
      if (scenarios[end].end() == Scenario::kNominal) {
        ranged.nominal = answer;
        answers.push_back(found[i + end]);
      } else {
        (scenarios[end].end() == Scenario::kFast ? ranged.fast : ranged.slow) = answer;
      }
    }
    if (ranged.nominal.is_there()) answers.back().iteration = ranged.time();
  }
  return answers;
}

Answer as_training(const LayoutPrediction& prediction) {
  Answer answer{.about = Question::About::kTraining,
                .from_kernels = true,
                .memory_high_bytes = prediction.memory_high_bytes,
                .unmodelled = prediction.unmodelled,
                .failure = prediction.failure};
  answer.training.gpus = static_cast<int>(prediction.gpus);
  answer.training.batch_per_gpu = prediction.layout.micro_batch;
  answer.training.images_per_iteration = prediction.layout.global_batch;
  answer.training.memory_bytes = prediction.memory_bytes;
  answer.training.fits = prediction.may_fit();
  if (!answer.training.fits || !prediction.failure.empty()) return answer;
  answer.training.iteration_s = prediction.iteration_s;
  answer.training.images_per_s =
      static_cast<double>(prediction.layout.global_batch) / prediction.iteration_s;
  return answer;
}

}  // namespace forescale
