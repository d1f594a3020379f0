#include "studies/layout/layout_prediction.hpp"
#include "topologies/placement.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>

#include "base/error.hpp"
#include "sim/ask/spread.hpp"

namespace forescale {
namespace {

// One collective of one group.
struct GroupCall {
  std::string op;
  std::vector<int> ranks;
  std::int64_t bytes = 0;
  auto operator<=>(const GroupCall&) const = default;
};

// Times of collectives on their machines, all simulated together once all are known.
class CallTimes {
 public:
  using Key = std::pair<std::string, GroupCall>;  // of a machine

  // What all calls of a case have in common.
  static std::string machine_of(const LayoutCase& about) {
    return about.scenario.name() + " " + key_of(machine_question(about));
  }

  void want(const LayoutCase& about, const GroupCall& call) {
    if (call.ranks.size() < 2 || call.bytes == 0) return;
    const auto [place, is_new] = times_.try_emplace(Key{machine_of(about), call});
    if (!is_new) return;
    Question question = machine_question(about);
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

class LayoutRun {
 public:
  // `times` outlives this.
  LayoutRun(const LayoutCase& about, Asker& asker, CallTimes& times)
      : about_(about),
        set_up_(set_up_layout(about_, asker)),
        grid_(set_up_.layout, kLayoutOption),
        machine_name_(CallTimes::machine_of(about_)),
        times_(times) {
    const QuestionMachine& machine = asker.machine(machine_question(about_), about_.scenario);
    answer_ = {.layout = set_up_.layout,
               .model = set_up_.model,
               .platform = machine.platform.name,
               .gpu = set_up_.gpu.name,
               .stack = machine.stack.name,
               .precision = set_up_.precision,
               .gpus = about_.gpus,
               .nodes = nodes_of(machine.platform, static_cast<int>(about_.gpus)),
               .tokens = set_up_.tokens,
               .parameters = set_up_.parameters,
               .model_flops = set_up_.model_flops,
               .peak_flops_per_s = set_up_.peak_flops_per_s,
               .memory = layout_memory(set_up_),
               .gpu_memory_bytes = set_up_.gpu.memory.value,
               .full_memory = set_up_.framework.full_memory,
               .unmodelled = unmodelled()};
    if (answer_.may_fit()) want_times();
  }

  // Once the times are there.
  LayoutPrediction answer() {
    if (answer_.may_fit()) count_iteration();
    return std::move(answer_);
  }

 private:
  const IterationWork& work() const { return set_up_.work; }

  Unmodelled unmodelled() const {
    const TransformerFramework& framework = set_up_.framework;
    if (set_up_.has_experts) return framework.unmodelled_experts;
    return set_up_.layout.pipeline > 1 ? framework.unmodelled_pipeline
                                       : framework.unmodelled_one_stage;
  }

  void want_times() {
    const auto want = [&](const GroupCall& call) { times_.want(about_, call); };
    for (const StageWork& stage : work().stages) {
      for (const ExchangeCounts* counts : {&stage.part.forward, &stage.part.backward})
        for (const auto& [exchange, count] : *counts)
          for (const LayoutCall& call : work().calls_of(exchange)) want(of_group(call));
      for (const LayoutCall& call : stage.gradients) want(of_group(call));
      for (const LayoutCall& call : stage.parameters) want(of_group(call));
    }
    want(of_group(work().norm));
    want(message());
  }

  // Of rank 0's group, which stands for all of its kind.
  GroupCall of_group(const LayoutCall& call) const {
    return {.op = call.op,
            .ranks = group_ranks(grid_, call.group, 0, work().nodes),
            .bytes = call.bytes};
  }
  GroupCall message() const {
    std::vector<int> pair = grid_.group(0, {Dimension::kPipeline});
    if (pair.size() > 2) pair.resize(2);
    return {.op = "broadcast", .ranks = pair, .bytes = work().message_bytes};
  }
  double time_s(const GroupCall& call) const { return times_.of(machine_name_, call); }

  double sum_of(const std::vector<LayoutCall>& calls) const {
    double sum_s = 0;
    for (const LayoutCall& call : calls) sum_s += time_s(of_group(call));
    return sum_s;
  }

  // Beyond the products under which they go on.
  double exchange_s(const ExchangeCounts& counts, ExchangeGroup group) const {
    double sum_s = 0;
    for (const auto& [exchange, count] : counts)
      if (exchange.group == group)
        sum_s += count * std::max(0.0, exchange_s(exchange) - exchange.under_s());
    return sum_s;
  }
  double exchange_s(const StageExchange& exchange) const {
    double longest_s = 0;
    for (const LayoutCall& call : work().calls_of(exchange))
      longest_s = std::max(longest_s, time_s(of_group(call)));
    return longest_s;
  }
  double exchange_s(const ExchangeCounts& counts) const {
    double sum_s = 0;
    for (const ExchangeGroup group :
         {ExchangeGroup::kTensor, ExchangeGroup::kContext, ExchangeGroup::kExpert})
      sum_s += exchange_s(counts, group);
    return sum_s;
  }

  // A pass is at least as long as the CPU takes to ask for its kernels, and as what ZeRO 3 gathers,
  // or reduces, under it.
  StageCost cost_of(const StageWork& stage, PassWaits& waits) const {
    const StagePart& part = stage.part;
    StageCost cost{.forward_s = part.forward_s + exchange_s(part.forward),
                   .backward_s = part.backward_s + exchange_s(part.backward) +
                                 stage.recomputed * (part.forward_s + exchange_s(part.forward))};
    if (work().schedule->splits_backward) {
      cost.weights_s = part.weight_gradients_s;
      cost.backward_s -= cost.weights_s;
    }
    const auto wait = [](double& pass_s, double least_s) {
      const double waited_s = std::max(0.0, least_s - pass_s);
      pass_s += waited_s;
      return waited_s;
    };
    waits.host_s = wait(cost.forward_s, stage.host_forward_s);
    waits.host_s +=
        wait(cost.backward_s, stage.recomputed * stage.host_forward_s + stage.host_backward_s);
    const double parameters_s = sum_of(stage.parameters);
    const double gradients_s = sum_of(stage.gradients);
    if (work().gathers_each_pass) {
      const double gathered_s = stage.parameter_parts * parameters_s;
      waits.data_s = wait(cost.forward_s, gathered_s);
      waits.data_s += wait(cost.backward_s, gathered_s + stage.gradient_parts * gradients_s);
      // Nothing hides the first layer's and the last one's.
      cost.parameters = {.time_s = parameters_s};
      cost.gradients = {.time_s = gradients_s};
    } else {
      cost.parameters = {.time_s = stage.parameter_parts * parameters_s,
                         .parts = stage.parameter_parts};
      cost.gradients = {.time_s = stage.gradient_parts * gradients_s,
                        .parts = stage.gradient_parts};
    }
    return cost;
  }

  void count_iteration() {
    std::vector<StageCost> costs;
    std::vector<PassWaits> waits(work().stages.size());
    for (size_t stage = 0; stage < work().stages.size(); ++stage)
      costs.push_back(cost_of(work().stages[stage], waits[stage]));
    const double transfer_s = time_s(message());
    answer_.times = pipeline_times(*work().schedule, work().shape, costs, transfer_s);
    answer_.norm_s = time_s(of_group(work().norm));
    answer_.optimizer_s = longest_optimizer_s();
    answer_.iteration_s = answer_.times.end_s() + answer_.norm_s + answer_.optimizer_s;
    const int longest = longest_rank(costs);
    for (size_t stage = 0; stage < work().stages.size(); ++stage)
      if (work().rank_of_stage(stage) == longest)
        add_to_breakdown(work().stages[stage], waits[stage]);
    for (StageCost& cost : costs) cost.parameters = cost.gradients = {};
    const double passes_s =
        pipeline_times(*work().schedule, work().shape, costs, transfer_s).passes_end_s();
    const double known_s = answer_.compute_s + answer_.recompute_s + answer_.host_s +
                           answer_.tensor_s + answer_.context_s + answer_.expert_s + answer_.data_s;
    answer_.pipeline_s = std::max(0.0, passes_s - known_s);  // less by rounding alone
    answer_.data_s += answer_.times.end_s() - passes_s + answer_.norm_s;
    answer_.tokens_per_s_gpu =
        answer_.tokens_an_iteration() / answer_.iteration_s / static_cast<double>(answer_.gpus);
  }

  // Of the pipeline's ranks, that with the longest passes.
  int longest_rank(const std::vector<StageCost>& costs) const {
    std::vector<double> busy_s(static_cast<size_t>(work().shape.ranks), 0);
    for (size_t stage = 0; stage < costs.size(); ++stage)
      busy_s[static_cast<size_t>(work().rank_of_stage(stage))] +=
          costs[stage].forward_s + costs[stage].backward_s + costs[stage].weights_s;
    return static_cast<int>(std::max_element(busy_s.begin(), busy_s.end()) - busy_s.begin());
  }

  double longest_optimizer_s() const {
    std::vector<double> update_s(static_cast<size_t>(work().shape.ranks), 0);
    for (size_t stage = 0; stage < work().stages.size(); ++stage)
      update_s[static_cast<size_t>(work().rank_of_stage(stage))] +=
          work().stages[stage].optimizer_s;
    return *std::max_element(update_s.begin(), update_s.end());
  }

  void add_to_breakdown(const StageWork& stage, const PassWaits& waits) {
    const auto micro_batches = static_cast<double>(work().shape.micro_batches);
    const StagePart& part = stage.part;
    answer_.host_s += micro_batches * waits.host_s;
    answer_.data_s += micro_batches * waits.data_s;
    answer_.compute_s += micro_batches * (part.forward_s + part.backward_s);
    answer_.recompute_s += micro_batches * stage.recomputed * part.forward_s;
    const auto both = [&](ExchangeGroup group) {
      return micro_batches * ((1 + stage.recomputed) * exchange_s(part.forward, group) +
                              exchange_s(part.backward, group));
    };
    answer_.tensor_s += both(ExchangeGroup::kTensor);
    answer_.context_s += both(ExchangeGroup::kContext);
    answer_.expert_s += both(ExchangeGroup::kExpert);
  }

  const LayoutCase about_;
  const LayoutSetUp set_up_;
  const RankGrid grid_;
  const std::string machine_name_;
  CallTimes& times_;
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
    if (!ranged.nominal.is_there()) continue;
    const Spread spread =
        spread_of({&ranged}, [](const std::vector<Answer>& each) { return each.front().time_s(); });
    answers.back().iteration = {.time_s = spread.value, .low_s = spread.low, .high_s = spread.high};
    answers.back().influences = spread.shares;
  }
  return answers;
}

Answer as_training(const LayoutPrediction& prediction) {
  Answer answer{.about = Question::About::kTraining,
                .from_kernels = true,
                .memory_high_bytes = prediction.memory.high_bytes,
                .allocated_bytes = prediction.memory.allocated_bytes,
                .unmodelled = prediction.unmodelled,
                .failure = prediction.failure};
  answer.training.gpus = static_cast<int>(prediction.gpus);
  answer.training.batch_per_gpu = prediction.layout.micro_batch;
  answer.training.images_per_iteration = prediction.layout.global_batch;
  answer.training.memory_bytes = prediction.memory.bytes;
  answer.training.fits = prediction.may_fit();
  if (!answer.training.fits || !prediction.failure.empty()) return answer;
  answer.training.iteration_s = prediction.iteration_s;
  answer.training.images_per_s =
      static_cast<double>(prediction.layout.global_batch) / prediction.iteration_s;
  return answer;
}

}  // namespace forescale
