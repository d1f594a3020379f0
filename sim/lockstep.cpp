#include "sim/lockstep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "sim/engine/world.hpp"
#include "sim/folded.hpp"
#include "sim/isolate.hpp"
#include "sim/ring_call.hpp"

namespace forescale {
namespace {

using CallKey = std::pair<CollectiveOp, std::int64_t>;  // and bytes: of all workers, without a root
using Prices = std::map<CallKey, Folded>;

CallKey price_key(const CollectiveStep& step) { return {step.op, step.bytes}; }

ResolvedCall resolved_call(const PredictionInputs& inputs, const Lanes& lanes,
                           const SharedGroup& workers, const CollectiveStep& step) {
  const auto choice = inputs.choices.find(step.op);
  return resolve(lanes, workers,
                 {.op = step.op,
                  .bytes = step.bytes,
                  .plan = choice == inputs.choices.end() ? nullptr : &choice->second,
                  .place = step.on_host ? std::optional(BufferPlace::kHost) : std::nullopt,
                  .element_bytes = whole_bytes_a_value(inputs.precision)});
}

std::vector<CollectiveStep> traffic_of(const PredictionInputs& inputs, const TrainingRun& run) {
  return inputs.schedule->traffic(*run.jobs.front(), run.workers, run.nodes).collectives;
}

// What a run's collectives take, simulated beside each other.
class Pricing {
 public:
  Pricing(const PredictionInputs& inputs, const TrainingRun& run)
      : lanes_(run.platform, inputs.stack) {
    const SharedGroup workers = shared_first_slots(run.platform, run.workers);
    for (const CollectiveStep& step : traffic_of(inputs, run))
      calls_.try_emplace(price_key(step), resolved_call(inputs, lanes_, workers, step));
  }
  Pricing(const Pricing&) = delete;
  Pricing& operator=(const Pricing&) = delete;

  // That calls do not begin at once on all ranks, which the prices say nothing of.
  double skew_error(const CallKey& key) const {
    const ResolvedCall& call = calls_.at(key);
    return is_ring(*call.collective) && parts_share_busiest_link(call) ? kSkewedRingError : 0;
  }

  void add_tasks(std::vector<std::function<std::string()>>& tasks) const {
    for (const auto& [key, call] : calls_)
      tasks.emplace_back([&call] { return nlohmann::json(simulate_call(call)).dump(); });
  }
  // From the answers of those tasks.
  Prices prices(std::span<const std::string> answers) const {
    Prices prices;
    for (const auto& [key, call] : calls_) {
      Folded& price = prices[key];
      parse_json(answers[prices.size() - 1]).get_to(price);
      price.error += skew_error(key);
    }
    return prices;
  }
  std::size_t count() const { return calls_.size(); }

 private:
  Lanes lanes_;
  std::map<CallKey, ResolvedCall> calls_;
};

// One worker of each kind; every collective takes its price. `slow`: and its error more, and those
// that are under way together take as long as one after the other.
TrainingOutcome simulate_few(const PredictionInputs& inputs, const TrainingRun& run,
                             const Prices& prices, bool slow) {
  SessionOptions options;
  options.workers = run.workers;
  options.choices = inputs.choices;
  options.value_bytes = run.jobs.front()->value_bytes;
  options.noise = inputs.noise;
  TrainingOutcome all;
  std::map<std::string, double> busy_s;  // by resource
  options.price = [&](const CollectiveStep& step) {
    const auto price = prices.find(price_key(step));
    FORESCALE_CHECK(price != prices.end(), inputs.schedule->name + "'s traffic names all it calls");
    const CollectiveOutcome& outcome = price->second.outcome;
    all.messages += outcome.messages;
    all.bytes_sent += outcome.bytes_sent;
    all.sizes.add(outcome.sizes);
    busy_s[outcome.busiest.name] += outcome.busiest.busy_s;
    return CollectivePrice{.time_s = outcome.time_s * (1 + (slow ? price->second.error : 0)),
                           .share = slow ? 1
                                    : outcome.time_s > 0
                                        ? std::min(1.0, outcome.busiest.busy_s / outcome.time_s)
                                        : 0};
  };
  TrainingOutcome outcome = simulate_alike(run.platform, inputs.stack, *inputs.schedule, run.jobs,
                                           stand_ins(inputs, run), std::move(options));
  outcome.messages = all.messages;
  outcome.bytes_sent = all.bytes_sent;
  outcome.sizes = all.sizes;
  for (const auto& [name, time_s] : busy_s)
    if (time_s > outcome.busiest.busy_s)
      outcome.busiest = {.name = name, .busy_s = time_s, .bytes = 0};
  return outcome;
}

// Stragglers among so many workers: those that are, and of the others the slowest, from the last
// worker on.
std::map<int, double> stragglers_among(const std::map<int, double>& stragglers, int workers) {
  std::map<int, double> among;
  std::vector<double> others;
  for (const auto& [rank, slowness] : stragglers)
    if (rank < workers)
      among[rank] = slowness;
    else
      others.push_back(slowness);
  std::ranges::sort(others, std::greater<>());
  auto next = others.begin();
  for (int rank = workers - 1; rank > 0 && next != others.end(); --rank)
    if (among.try_emplace(rank, *next).second) ++next;
  return among;
}

// Of both ways the second is compared, where all are alike.
constexpr int kComparedIterations = 2;

// The same share a GPU on the first nodes.
PredictionInputs on_few_nodes(const PredictionInputs& inputs, const TrainingRun& run, int workers) {
  PredictionInputs few = inputs;
  few.scaling = Scaling::kWeak;
  few.batch = run.jobs.front()->batch;
  few.noise.stragglers = stragglers_among(inputs.noise.stragglers, workers);
  few.waited_for = run.workers;
  if (!inputs.noise.varies()) few.iterations = std::min(few.iterations, kComparedIterations);
  return few;
}

int workers_of_nodes(const TrainingRun& run, int nodes) {
  const auto end = std::find_if(run.nodes.begin(), run.nodes.end(),
                                [&](int node) { return node >= run.nodes.front() + nodes; });
  return static_cast<int>(end - run.nodes.begin());
}

double simulate_whole_s(const PredictionInputs& inputs, const TrainingRun& run) {
  SessionOptions options;
  options.workers = run.workers;
  options.choices = inputs.choices;
  options.noise = inputs.noise;
  return simulate_training(run.platform, inputs.stack, *inputs.schedule, run.jobs,
                           std::move(options))
      .iteration_s;
}

std::vector<std::string> beside_each_other(const std::vector<std::function<std::string()>>& tasks) {
  load_simgrid();
  return run_isolated(tasks, available_cores(), [](size_t) {});
}

}  // namespace

std::string why_workers_differ(const Schedule& schedule) {
  if (schedule.workers_are_alike) return "";
  return fmt::format("the workers of {} do not all do the same", schedule.name);
}

std::string why_not_lockstep(const PredictionInputs& inputs, const TrainingRun& run) {
  if (std::string reason = why_workers_differ(*inputs.schedule); !reason.empty()) return reason;
  if (inputs.message_noise.varies()) return "messages vary";
  if (inputs.others.count > 0) return "other jobs run beside it";
  if (!inputs.data.is_synthetic()) return "training data is read";
  if (inputs.stack.progress != Progress::kHardware)
    return "collectives advance inside calls of their stack only";
  const Lanes lanes(run.platform, inputs.stack);
  const SharedGroup workers = shared_first_slots(run.platform, run.workers);
  for (const CollectiveStep& step : traffic_of(inputs, run)) {
    if (step.group) return "it has groups of some workers";
    const ResolvedCall resolved = resolved_call(inputs, lanes, workers, step);
    if (lanes.reduction(resolved.place).place == ReductionPlace::kGpu)
      return "reductions share the GPU with kernels";
    if (std::string reason = why_not_folded(resolved); !reason.empty()) return reason;
  }
  return "";
}

std::vector<int> stand_ins(const PredictionInputs& inputs, const TrainingRun& run) {
  std::vector<int> ranks;
  std::map<std::pair<std::int64_t, double>, int> firsts;  // by images and slowness
  for (int rank = 0; rank < run.workers; ++rank) {
    const std::pair kind{run.jobs[static_cast<std::size_t>(rank)]->batch,
                         inputs.noise.slowness(rank)};
    ranks.push_back(inputs.noise.varies() ? rank : firsts.try_emplace(kind, rank).first->second);
  }
  return ranks;
}

std::optional<Lockstep> simulate_lockstep(const PredictionInputs& inputs, const TrainingRun& run,
                                          bool may_be_whole) {
  const int few_workers = workers_of_nodes(run, kComparedNodes);
  const PredictionInputs few = on_few_nodes(inputs, run, few_workers);
  const TrainingRun small = training_run(few, few_workers);
  const Pricing of_all(inputs, run);
  const Pricing of_small(few, small);
  std::vector<std::function<std::string()>> tasks;
  tasks.emplace_back([&] { return fmt::format("{}", simulate_whole_s(few, small)); });
  of_all.add_tasks(tasks);
  of_small.add_tasks(tasks);
  const std::vector<std::string> answers = beside_each_other(tasks);
  const std::span<const std::string> priced = std::span(answers).subspan(1);
  const Prices prices = of_all.prices(priced);
  const Prices small_prices = of_small.prices(priced.subspan(of_all.count()));

  const std::vector<std::string> compared = beside_each_other(
      {[&] { return fmt::format("{}", simulate_few(few, small, small_prices, false).iteration_s); },
       [&] { return fmt::format("{}", simulate_few(inputs, run, prices, true).iteration_s); }});
  const double small_s = std::stod(compared[0]);
  const double slow_s = std::stod(compared[1]);
  const double few_off = kLockstepUnsure * std::abs(small_s / std::stod(answers.front()) - 1);
  const auto off = [&](double all_s) { return few_off + std::abs(slow_s / all_s - 1); };
  if (may_be_whole && off(small_s) > kMostFoldedError / 2) {
    const std::vector<std::string> alone = beside_each_other(
        {[&] { return fmt::format("{}", simulate_few(inputs, run, prices, false).iteration_s); }});
    if (off(std::stod(alone.front())) > kMostFoldedError) return std::nullopt;
  }
  const std::vector<int> stand_in = stand_ins(inputs, run);
  Lockstep found{
      .outcome = simulate_few(inputs, run, prices, false),
      .workers = static_cast<int>(std::set<int>(stand_in.begin(), stand_in.end()).size()),
      .ranks = small.workers};
  for (const auto& [key, price] : prices) found.ranks = std::max(found.ranks, price.ranks);
  found.error =
      std::max(inputs.noise.stragglers.empty() ? kLeastLockstepError : kLeastStragglerError,
               off(found.outcome.iteration_s));
  return found;
}

}  // namespace forescale
