#include "studies/layout/layout_prediction.hpp"
#include "topologies/placement.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>

#include "base/error.hpp"
#include "sim/ask/spread.hpp"
#include "studies/layout/layout_variation.hpp"

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

  // Of a machine, a question without a call.
  static std::string key(const Question& machine, const Scenario& scenario) {
    return scenario.name() + " " + key_of(machine);
  }

  void want(Question question, const Scenario& scenario, const GroupCall& call) {
    if (call.ranks.size() < 2 || call.bytes == 0) return;
    const auto [place, is_new] = times_.try_emplace(Key{key(question, scenario), call});
    if (!is_new) return;
    question.plan = call.op;
    question.slots = {call.ranks.begin(), call.ranks.end()};
    question.bytes = {call.bytes};
    places_.push_back(&place->second);
    questions_.push_back(std::move(question));
    scenarios_.push_back(scenario);
  }

  void simulate(Asker& asker, bool keep_failures) {
    const std::vector<Answer> answers =
        asker.ask_each(questions_, scenarios_,
                       {.label = "simulating collectives", .keep_failures = keep_failures});
    for (size_t i = 0; i < answers.size(); ++i) *places_[i] = answers[i];
  }

  // `machine`: its key. CallFailed.
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

// What a stage's collectives take.
struct StageTimes {
  std::map<StageExchange, double> exchanges_s = {};
  double parameters_s = 0;  // of each part
  double gradients_s = 0;
};

// Iterations over which noise is averaged.
constexpr std::uint64_t kNoisyIterations = 100;

class LayoutRun {
 public:
  // `times` outlives this.
  LayoutRun(const LayoutCase& about, Asker& asker, CallTimes& times)
      : about_(about),
        set_up_(set_up_layout(about_, asker)),
        grid_(set_up_.layout, kLayoutOption),
        noise_(layout_noise(about_.question, about_.gpus)),
        healthy_(machine_question(about_)),
        slow_(slow_machine_question(about_)),
        times_(times) {
    const QuestionMachine& machine = asker.machine(healthy_, about_.scenario);
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
    if (!answer_.may_fit()) return;
    if (has_slow_links())
      slow_links_.emplace(machine.platform, asker.machine(slow_, about_.scenario).platform);
    if (varies()) copies_ = pipeline_copies(grid_, work());
    want_times();
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

  Unmodelled unmodelled() const {
    const TransformerFramework& framework = set_up_.framework;
    if (set_up_.has_experts) return framework.unmodelled_experts;
    return set_up_.layout.pipeline > 1 ? framework.unmodelled_pipeline
                                       : framework.unmodelled_one_stage;
  }

  // --- collectives: rank 0's groups stand for all whose messages cross no slow link --------------

  void want_times() {
    for (size_t stage = 0; stage < work().stages.size(); ++stage) {
      const StageWork& of_stage = work().stages[stage];
      const std::vector<int> ranks = ranks_of(work().rank_of_stage(stage));
      for (const ExchangeCounts* counts : {&of_stage.part.forward, &of_stage.part.backward})
        for (const auto& [exchange, count] : *counts) want(work().calls_of(exchange), ranks);
      want(of_stage.gradients, ranks);
      want(of_stage.parameters, ranks);
    }
    want({work().norm}, all_ranks());
    times_.want(healthy_, about_.scenario, message(kStandsForAll));
    for (const CopyRanks& copy : copies_)
      for (const int rank : senders(copy)) want_slow(message(rank));
  }
  void want(const std::vector<LayoutCall>& calls, const std::vector<int>& ranks) {
    for (const LayoutCall& call : calls) {
      times_.want(healthy_, about_.scenario, of_group(call, kStandsForAll));
      for (const int rank : ranks) want_slow(of_group(call, rank));
    }
  }
  void want_slow(const GroupCall& call) {
    if (is_slow(call)) times_.want(slow_, about_.scenario, call);
  }
  bool is_slow(const GroupCall& call) { return slow_links_ && slow_links_->concern(call.ranks); }

  GroupCall of_group(const LayoutCall& call, int rank) const {
    return {.op = call.op,
            .ranks = group_ranks(grid_, call.group, rank, work().nodes),
            .bytes = call.bytes};
  }
  // To the next pipeline rank, the first one after the last.
  GroupCall message(int rank) const {
    const std::vector<int> line = grid_.group(rank, {Dimension::kPipeline});
    std::vector<int> pair = {rank};
    if (line.size() > 1) {
      const auto here = std::find(line.begin(), line.end(), rank) - line.begin();
      pair.push_back(line[(static_cast<size_t>(here) + 1) % line.size()]);
    }
    return {.op = "broadcast", .ranks = pair, .bytes = work().message_bytes};
  }
  // Of a copy, those that send to the next pipeline rank.
  std::vector<int> senders(const CopyRanks& copy) const {
    const bool goes_round = work().shape.stages_a_rank > 1;
    std::vector<int> ranks;
    for (size_t place = 0; place + (goes_round ? 0 : 1) < copy.size(); ++place)
      ranks.insert(ranks.end(), copy[place].begin(), copy[place].end());
    return ranks;
  }
  std::vector<int> ranks_of(int pipeline_rank) const {
    std::vector<int> ranks;
    for (const CopyRanks& copy : copies_) {
      const std::vector<int>& there = copy[static_cast<size_t>(pipeline_rank)];
      ranks.insert(ranks.end(), there.begin(), there.end());
    }
    return ranks;
  }
  std::vector<int> all_ranks() const {
    std::vector<int> all;
    for (int rank = 0; rank < work().shape.ranks; ++rank)
      for (const int each : ranks_of(rank)) all.push_back(each);
    return all;
  }

  double healthy_s(const GroupCall& of_rank_0) const {
    return times_.of(CallTimes::key(healthy_, about_.scenario), of_rank_0);
  }
  // The longest of the groups of these ranks; of none, on a machine as it should be.
  double time_s(const LayoutCall& call, const std::vector<int>& ranks) {
    double longest_s = healthy_s(of_group(call, kStandsForAll));
    for (const int rank : ranks)
      if (const GroupCall group = of_group(call, rank); is_slow(group))
        longest_s = std::max(longest_s, slow_s(group));
    return longest_s;
  }
  double slow_s(const GroupCall& call) const {
    return times_.of(CallTimes::key(slow_, about_.scenario), call);
  }
  double transfer_s(const std::vector<int>& ranks) {
    double longest_s = healthy_s(message(kStandsForAll));
    for (const int rank : ranks)
      if (const GroupCall pair = message(rank); is_slow(pair))
        longest_s = std::max(longest_s, slow_s(pair));
    return longest_s;
  }

  // Of the exchanges in which `ranks` take part, and of the data that all ranks of the stage share.
  StageTimes stage_times(size_t stage, const std::vector<int>& ranks) {
    const StageWork& of_stage = work().stages[stage];
    StageTimes times;
    for (const ExchangeCounts* counts : {&of_stage.part.forward, &of_stage.part.backward})
      for (const auto& [exchange, count] : *counts) {
        double& longest_s = times.exchanges_s[exchange];
        for (const LayoutCall& call : work().calls_of(exchange))
          longest_s = std::max(longest_s, time_s(call, ranks));
      }
    const std::vector<int> all = ranks.empty() ? ranks : ranks_of(work().rank_of_stage(stage));
    for (const LayoutCall& call : of_stage.parameters) times.parameters_s += time_s(call, all);
    for (const LayoutCall& call : of_stage.gradients) times.gradients_s += time_s(call, all);
    return times;
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
    const double forward_s = slowness * part.forward_s + exchange_s(part.forward, times, slowness);
    StageCost cost{.forward_s = forward_s,
                   .backward_s = slowness * part.backward_s +
                                 exchange_s(part.backward, times, slowness) +
                                 stage.recomputed * forward_s};
    if (work().schedule->splits_backward) {
      cost.weights_s = slowness * part.weight_gradients_s;
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
    if (work().gathers_each_pass) {
      const double gathered_s = stage.parameter_parts * times.parameters_s;
      waits.data_s = wait(cost.forward_s, gathered_s);
      waits.data_s += wait(cost.backward_s, gathered_s + stage.gradient_parts * times.gradients_s);
      // Nothing hides the first layer's and the last one's.
      cost.parameters = {.time_s = times.parameters_s};
      cost.gradients = {.time_s = times.gradients_s};
    } else {
      cost.parameters = {.time_s = stage.parameter_parts * times.parameters_s,
                         .parts = stage.parameter_parts};
      cost.gradients = {.time_s = stage.gradient_parts * times.gradients_s,
                        .parts = stage.gradient_parts};
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
      times.push_back(stage_times(stage, {}));
      costs.push_back(cost_of(work().stages[stage], times[stage], 1, waits[stage]));
    }
    const double between_s = transfer_s({});
    answer_.times = pipeline_times(*work().schedule, work().shape, costs, between_s);
    answer_.norm_s = time_s(work().norm, {});
    const std::vector<double> update_s = optimizer_s();
    answer_.optimizer_s = *std::max_element(update_s.begin(), update_s.end());
    answer_.iteration_s = answer_.times.end_s() + answer_.norm_s + answer_.optimizer_s;
    const int longest = longest_rank(costs);
    for (size_t stage = 0; stage < work().stages.size(); ++stage)
      if (work().rank_of_stage(stage) == longest)
        add_to_breakdown(work().stages[stage], times[stage], waits[stage]);
    for (StageCost& cost : costs) cost.parameters = cost.gradients = {};
    const double passes_s =
        pipeline_times(*work().schedule, work().shape, costs, between_s).passes_end_s();
    const double known_s = answer_.compute_s + answer_.recompute_s + answer_.host_s +
                           answer_.tensor_s + answer_.context_s + answer_.expert_s + answer_.data_s;
    answer_.pipeline_s = std::max(0.0, passes_s - known_s);  // less by rounding alone
    answer_.data_s += answer_.times.end_s() - passes_s + answer_.norm_s;
    set_iteration(answer_.iteration_s);
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
      if (times.empty() || has_slow_links()) {
        times.emplace_back();
        for (size_t stage = 0; stage < work().stages.size(); ++stage)
          times.back().push_back(
              stage_times(stage, copy[static_cast<size_t>(work().rank_of_stage(stage))]));
        between_s.push_back(transfer_s(senders(copy)));
      } else {
        times.push_back(times.front());
        between_s.push_back(between_s.front());
      }
    }
    const double norm_s = time_s(work().norm, all_ranks());
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
      std::vector<PipelineTimes> ends = pipeline_times(*work().schedule, work().shape, unlike);
      const auto last = std::max_element(ends.begin(), ends.end(),
                                         [](const PipelineTimes& one, const PipelineTimes& other) {
                                           return one.passes_end_s() < other.passes_end_s();
                                         });
      double end_s = 0;
      for (const PipelineTimes& each : ends) end_s = std::max(end_s, each.end_s());
      sum_s += end_s + norm_s + updated_s;
      if (iteration == 0) answer_.times = std::move(*last);
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
    const auto micro_batches = static_cast<double>(work().shape.micro_batches);
    const StagePart& part = stage.part;
    answer_.host_s += micro_batches * waits.host_s;
    answer_.data_s += micro_batches * waits.data_s;
    answer_.compute_s += micro_batches * (part.forward_s + part.backward_s);
    answer_.recompute_s += micro_batches * stage.recomputed * part.forward_s;
    const auto both = [&](ExchangeGroup group) {
      return micro_batches * ((1 + stage.recomputed) * exchange_s(part.forward, times, 1, group) +
                              exchange_s(part.backward, times, 1, group));
    };
    answer_.tensor_s += both(ExchangeGroup::kTensor);
    answer_.context_s += both(ExchangeGroup::kContext);
    answer_.expert_s += both(ExchangeGroup::kExpert);
  }

  static constexpr int kStandsForAll = 0;  // rank

  const LayoutCase about_;
  const LayoutSetUp set_up_;
  const RankGrid grid_;
  const ComputeNoise noise_;
  const Question healthy_;  // machines
  const Question slow_;
  CallTimes& times_;
  std::optional<SlowLinks> slow_links_;
  std::vector<CopyRanks> copies_;  // where they may differ
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
