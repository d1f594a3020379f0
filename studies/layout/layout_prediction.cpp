#include "studies/layout/layout_prediction.hpp"

#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "sim/ask/spread.hpp"
#include "studies/layout/layout_collectives.hpp"
#include "studies/layout/layout_variation.hpp"
#include "topologies/placement.hpp"

namespace forescale {
namespace {

// Of both passes of a micro-batch: for the CPU, and for what ZeRO 3 gathers and reduces.
struct PassWaits {
  double host_s = 0;
  double data_s = 0;
};

// Iterations over which noise is averaged.
constexpr std::uint64_t kNoisyIterations = 100;

class LayoutRun {
 public:
  // `times` outlives this.
  LayoutRun(const LayoutCase& about, Asker& asker, CallTimes& times)
      : about_(about),
        set_up_(set_up_layout(about_, asker)),
        noise_(layout_noise(about_.question, about_.gpus)),
        copies_(varies() ? pipeline_copies(RankGrid(set_up_.layout, kLayoutOption), work())
                         : std::vector<CopyRanks>()),
        collectives_(about_, set_up_, copies_, asker, times) {
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
               .full_memory = set_up_.framework.full_memory};
    choose_unmodelled();
    if (answer_.may_fit()) collectives_.want();
  }

  // Once the times are there.
  LayoutPrediction answer() {
    if (answer_.may_fit()) {
      count_iteration();
      if (varies()) vary();
    }
    return std::move(answer_);
  }

 private:
  const IterationWork& work() const { return set_up_.work; }
  bool has_slow_links() const { return !about_.question.links.empty(); }
  bool varies() const { return has_slow_links() || !noise_.none(); }

  // What the times leave out, and of which measured rows that is.
  void choose_unmodelled() {
    const LayoutUnmodelled& of = set_up_.framework.unmodelled;
    const Layout& layout = set_up_.layout;
    const auto choose = [&](const Unmodelled& chosen, const char* rows) {
      answer_.unmodelled = chosen;
      answer_.unmodelled_rows = rows;
    };
    const bool has_whole_gradients = answer_.nodes > 1 && layout.pipeline > 1 && layout.data > 1 &&
                                     layout.sharding == StateSharding::kNone;
    if (about_.is_measured)
      choose(set_up_.framework.from_measured, "that were predicted from a measured one");
    else if (set_up_.has_experts && of.experts)
      choose(*of.experts, "with experts");
    else if (of.whole_gradients && has_whole_gradients)
      choose(*of.whole_gradients, "with copies of a pipeline on several nodes and zero=none");
    else if (of.tensor_over_nodes && layout.tensor * answer_.nodes > about_.gpus)
      choose(*of.tensor_over_nodes, "with tensor parallelism over nodes");
    else if (layout.pipeline > 1 || set_up_.has_experts)
      choose(of.pipeline, "with a pipeline");
    else
      choose(of.one_stage, "without a pipeline");
    if (!answer_.is_full()) return;
    answer_.unmodelled.slower =
        std::max(answer_.unmodelled.slower, answer_.full_memory.times_high - 1);
    answer_.unmodelled_rows = "that fill the memory";
  }

  // --- passes ------------------------------------------------------------------------------------

  // Beyond the products under which they go on.
  static double exchange_s(const ExchangeCounts& counts, const StageTimes& times, double slowness,
                           ExchangeGroup group) {
    double sum_s = 0;
    for (const auto& [exchange, count] : counts)
      if (exchange.group == group)
        sum_s +=
            count * std::max(0.0, times.exchanges_s.at(exchange) - slowness * exchange.under_s());
    return sum_s;
  }
  static double exchange_s(const ExchangeCounts& counts, const StageTimes& times, double slowness) {
    double sum_s = 0;
    for (const ExchangeGroup group :
         {ExchangeGroup::kTensor, ExchangeGroup::kContext, ExchangeGroup::kExpert})
      sum_s += exchange_s(counts, times, slowness, group);
    return sum_s;
  }

  // A pass is at least as long as the CPU takes to ask for its kernels, and as what ZeRO 3 gathers,
  // or reduces, under it. Kernels take `slowness` times as long.
  StageCost cost_of(const StageWork& stage, const StageTimes& times, double slowness,
                    PassWaits& waits) const {
    const StagePart& part = stage.part;
    const double again_s = slowness * part.again_s + exchange_s(part.again, times, slowness);
    StageCost cost{
        .forward_s = slowness * part.forward_s + exchange_s(part.forward, times, slowness),
        .backward_s = slowness * part.backward_s + exchange_s(part.backward, times, slowness) +
                      stage.recomputed * again_s};
    if (work().schedule->splits_backward) {
      cost.weights_s = slowness * part.weight_gradients_s;
      cost.backward_s -= cost.weights_s;
    }
    const auto wait = [](double& pass_s, double least_s) {
      const double waited_s = std::max(0.0, least_s - pass_s);
      pass_s += waited_s;
      return waited_s;
    };
    if (work().gathers_each_pass) {
      const double gathers_s = slowness * stage.parameters_slow_s;
      const double gradients_s = slowness * stage.gradients_slow_s;
      cost.forward_s += gathers_s;
      cost.backward_s += gathers_s + gradients_s;
      waits.data_s = 2 * gathers_s + gradients_s;
    }
    const double busy_s = cost.backward_s;
    waits.host_s = wait(cost.forward_s, stage.host_forward_s);
    waits.host_s +=
        wait(cost.backward_s, stage.recomputed * stage.host_forward_s + stage.host_backward_s);
    if (work().gathers_each_pass && !work().overlaps) {
      const double gathered_s = stage.parameter_parts * times.parameters_s;
      const double reduced_s = stage.gradient_parts * times.gradients_s;
      cost.forward_s += gathered_s;
      cost.backward_s += gathered_s + reduced_s;
      waits.data_s += 2 * gathered_s + reduced_s;
      cost.gradients = {.time_s = stage.gradient_parts * times.replicas_s};
    } else if (work().gathers_each_pass) {
      const double gathered_s = stage.parameter_parts * times.parameters_s;
      waits.data_s += wait(cost.forward_s, gathered_s);
      const double sharded_s = gathered_s + stage.gradient_parts * times.gradients_s;
      waits.data_s += wait(cost.backward_s, sharded_s);
      // Nothing hides the first layer's and the last one's.
      cost.parameters = {.time_s = times.parameters_s};
      cost.gradients = {.before_last_s = times.gradients_s};
      if (times.replicas_s > 0) {
        // Of the last pass: one of weights' gradients waits for nothing.
        const bool is_whole = !work().schedule->splits_backward;
        const double waited_s = is_whole ? cost.backward_s - busy_s : 0;
        const bool has_others_beside = stage.replicas_share_links && is_whole;
        cost.gradients.time_s = stage.gradient_parts * times.replicas_s;
        cost.gradients.parts = stage.gradient_parts;
        cost.gradients.slows_s = std::max(0.0, slowness * stage.replicas_slow_s - waited_s);
        cost.gradients.others_s = has_others_beside ? sharded_s : 0;
      }
    } else {
      cost.parameters = {.time_s = stage.parameter_parts * times.parameters_s,
                         .parts = stage.parameter_parts,
                         .slows_s = slowness * stage.parameters_slow_s};
      cost.gradients = {.time_s = stage.gradient_parts * times.gradients_s,
                        .parts = stage.gradient_parts,
                        .slows_s = slowness * stage.gradients_slow_s};
    }
    return cost;
  }

  // --- the iteration -----------------------------------------------------------------------------

  // Of a machine as it should be.
  void count_iteration() {
    std::vector<StageTimes> times;
    std::vector<StageCost> costs;
    std::vector<PassWaits> waits(work().stages.size());
    for (size_t stage = 0; stage < work().stages.size(); ++stage) {
      times.push_back(collectives_.of_stage(stage));
      costs.push_back(cost_of(work().stages[stage], times[stage], 1, waits[stage]));
    }
    const double between_s = collectives_.transfer_s();
    answer_.schedule = work().schedule;
    answer_.shape = work().shape;
    answer_.copies = {{.stages = costs, .transfer_s = between_s}};
    answer_.passes = totals(answer_.copies).front();
    answer_.norm_s = collectives_.norm_s();
    const std::vector<double> update_s = optimizer_s();
    answer_.optimizer_s = *std::max_element(update_s.begin(), update_s.end());
    answer_.iteration_s = answer_.passes.end_s + answer_.norm_s + answer_.optimizer_s;
    const int longest = longest_rank(costs);
    for (size_t stage = 0; stage < work().stages.size(); ++stage)
      if (work().rank_of_stage(stage) == longest)
        add_to_breakdown(work().stages[stage], times[stage], waits[stage]);
    for (StageCost& cost : costs) cost.parameters = cost.gradients = {};
    const double passes_s =
        totals({{.stages = costs, .transfer_s = between_s}}).front().passes_end_s;
    const double known_s = answer_.compute_s + answer_.recompute_s + answer_.host_s +
                           answer_.tensor_s + answer_.context_s + answer_.expert_s + answer_.data_s;
    answer_.pipeline_s = std::max(0.0, passes_s - known_s);  // less by rounding alone
    answer_.data_s += answer_.passes.end_s - passes_s + answer_.norm_s;
    set_iteration(answer_.iteration_s);
  }

  std::vector<PipelineTotals> totals(const std::vector<PipelineCopy>& copies) const {
    return pipeline_totals(*work().schedule, work().shape, copies);
  }

  void set_iteration(double iteration_s) {
    answer_.iteration_s = iteration_s;
    answer_.tokens_per_s_gpu =
        answer_.tokens_an_iteration() / iteration_s / static_cast<double>(answer_.gpus);
  }

  // Of every copy of the pipeline, its ranks and links as they are; the mean over iterations.
  void vary() {
    std::vector<std::vector<StageTimes>> times;  // by copy
    std::vector<double> between_s;
    for (const CopyRanks& copy : copies_) {
      const bool as_the_first = !times.empty() && !has_slow_links();
      times.push_back(as_the_first ? times.front() : std::vector<StageTimes>());
      between_s.push_back(as_the_first ? between_s.front() : collectives_.transfer_s(copy));
      for (size_t stage = times.back().size(); stage < work().stages.size(); ++stage)
        times.back().push_back(collectives_.of_stage(stage, copy));
    }
    const double norm_s = collectives_.norm_of_all_s();
    const std::vector<double> update_s = optimizer_s();
    const std::uint64_t iterations = noise_.varies() ? kNoisyIterations : 1;
    double sum_s = 0;
    for (std::uint64_t iteration = 0; iteration < iterations; ++iteration) {
      std::vector<PipelineCopy> unlike;
      double updated_s = 0;
      for (size_t i = 0; i < copies_.size(); ++i) {
        PipelineCopy copy{.stages = {}, .transfer_s = between_s[i]};
        std::vector<double> slow;
        for (const std::vector<int>& ranks : copies_[i])
          slow.push_back(slowness(noise_, ranks, iteration));
        for (size_t rank = 0; rank < slow.size(); ++rank)
          updated_s = std::max(updated_s, slow[rank] * update_s[rank]);
        for (size_t stage = 0; stage < work().stages.size(); ++stage) {
          PassWaits waits;
          copy.stages.push_back(cost_of(work().stages[stage], times[i][stage],
                                        slow[static_cast<size_t>(work().rank_of_stage(stage))],
                                        waits));
        }
        if (std::find(unlike.begin(), unlike.end(), copy) == unlike.end())
          unlike.push_back(std::move(copy));
      }
      const std::vector<PipelineTotals> ends = totals(unlike);
      double end_s = 0;
      for (const PipelineTotals& each : ends) end_s = std::max(end_s, each.end_s);
      sum_s += end_s + norm_s + updated_s;
      if (iteration > 0) continue;
      answer_.passes = *std::ranges::max_element(ends, {}, &PipelineTotals::passes_end_s);
      answer_.copies = std::move(unlike);
    }
    const double mean_s = sum_s / static_cast<double>(iterations);
    answer_.variation_s = mean_s - answer_.iteration_s;
    set_iteration(mean_s);
  }

  // Of the pipeline's ranks, that with the longest passes.
  int longest_rank(const std::vector<StageCost>& costs) const {
    std::vector<double> busy_s(static_cast<size_t>(work().shape.ranks), 0);
    for (size_t stage = 0; stage < costs.size(); ++stage)
      busy_s[static_cast<size_t>(work().rank_of_stage(stage))] +=
          costs[stage].forward_s + costs[stage].backward_s + costs[stage].weights_s;
    return static_cast<int>(std::max_element(busy_s.begin(), busy_s.end()) - busy_s.begin());
  }

  // By pipeline rank.
  std::vector<double> optimizer_s() const {
    std::vector<double> update_s(static_cast<size_t>(work().shape.ranks), 0);
    for (size_t stage = 0; stage < work().stages.size(); ++stage)
      update_s[static_cast<size_t>(work().rank_of_stage(stage))] +=
          work().stages[stage].optimizer_s;
    return update_s;
  }

  void add_to_breakdown(const StageWork& stage, const StageTimes& times, const PassWaits& waits) {
    const auto micro_batches = static_cast<double>(work().micro_batches_of_a_stage());
    const StagePart& part = stage.part;
    answer_.host_s += micro_batches * waits.host_s;
    answer_.data_s += micro_batches * waits.data_s;
    answer_.compute_s += micro_batches * (part.forward_s + part.backward_s);
    answer_.recompute_s += micro_batches * stage.recomputed * part.again_s;
    const auto both = [&](ExchangeGroup group) {
      return micro_batches * (exchange_s(part.forward, times, 1, group) +
                              stage.recomputed * exchange_s(part.again, times, 1, group) +
                              exchange_s(part.backward, times, 1, group));
    };
    answer_.tensor_s += both(ExchangeGroup::kTensor);
    answer_.context_s += both(ExchangeGroup::kContext);
    answer_.expert_s += both(ExchangeGroup::kExpert);
  }

  const LayoutCase about_;
  const LayoutSetUp set_up_;
  const ComputeNoise noise_;
  const std::vector<CopyRanks> copies_;  // where they may differ
  LayoutCollectives collectives_;
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
                .nodes = prediction.nodes,
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
