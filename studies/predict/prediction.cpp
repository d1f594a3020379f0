#include "studies/predict/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "topologies/link_faults.hpp"
#include "topologies/placement.hpp"

namespace forescale {
namespace {

using nlohmann::json;

// Of the ranks, servers and other jobs of the largest count.
std::set<int> nodes_of_most(const Prediction& prediction, const PredictionInputs& inputs) {
  if (inputs.platform.unlike_nodes.empty()) return {};
  const TrainingRun run = training_run(inputs, prediction.rows.back().point.gpus);
  std::set<int> nodes;
  const int ranks = static_cast<int>(run.jobs.size()) * (inputs.others.count + 1);
  for (int slot = 0; slot < ranks; ++slot) nodes.insert(node_of_slot(run.platform, slot));
  return nodes;
}

void add_warnings(Prediction& prediction, const PredictionInputs& inputs) {
  prediction.warnings = inputs.network.architecture.warnings;
  std::string unsteady;
  std::string tight;
  std::string outside;
  const ComputeTable& compute = inputs.compute;
  for (const Row& row : prediction.rows) {
    const PredictionPoint& point = row.point;
    if (!point.fits) continue;
    if (!point.is_steady) unsteady += fmt::format(" {}", point.gpus);
    if (row.iteration_fast_s <= 0 || row.iteration_slow_s <= 0)
      tight += fmt::format(" {}", point.gpus);
    if (compute.measured_batch_min > 0 && (point.batch_per_gpu < compute.measured_batch_min ||
                                           point.batch_per_gpu > compute.measured_batch_max))
      outside += fmt::format(" {} (batch {})", point.gpus, point.batch_per_gpu);
  }
  if (!outside.empty())
    prediction.warnings.push_back(
        fmt::format("compute times are extrapolated beyond the measured batches {}..{} at GPU "
                    "counts:{}",
                    compute.measured_batch_min, compute.measured_batch_max, outside));
  if (compute.assumed)
    prediction.warnings.push_back(
        fmt::format("no measurement of {} on {}{}: its compute times are assumed", compute.network,
                    compute.gpu, inputs.framework ? " with " + to_text(*inputs.framework) : ""));
  if (!unsteady.empty())
    prediction.warnings.push_back(
        "no steady state after the iterations simulated (--iterations) at GPU counts:" + unsteady);
  if (!tight.empty())
    prediction.warnings.push_back(
        "no range, as a GPU's share fits in its memory only while uncertain numbers are not at "
        "their ends, at GPU counts:" +
        tight);
  for (auto row = prediction.rows.rbegin(); row != prediction.rows.rend(); ++row)
    if (!row->point.beyond_measured.empty()) {  // those of the largest count will do
      prediction.warnings.push_back(row->point.beyond_measured);
      break;
    }
  if (const std::string elsewhere =
          faults_elsewhere(inputs.platform, nodes_of_most(prediction, inputs));
      !elsewhere.empty())
    prediction.warnings.push_back(elsewhere);
  if (inputs.stack.name == "ideal")
    prediction.warnings.push_back("the stack `ideal` has no overheads and free reductions");
  if (inputs.data.is_synthetic())
    prediction.warnings.push_back(
        "training data costs nothing here (--data names a source, see --help)");
}

void add_ratios(Prediction& prediction) {
  const auto epoch_images = static_cast<double>(prediction.question.epoch_images);
  std::optional<Failures> failures;
  if (prediction.has_failures())
    failures = parse_failures(prediction.question.failures, "--failures");
  const Row* baseline = nullptr;
  for (Row& row : prediction.rows) {
    if (!row.point.fits) continue;
    if (baseline == nullptr) {
      baseline = &row;
      prediction.baseline_gpus = row.point.gpus;
    }
    row.speedup = row.point.images_per_s / baseline->point.images_per_s;
    row.efficiency = row.speedup * baseline->point.gpus / row.point.gpus;
    if (failures) row.goodput = goodput_of(*failures, row.nodes);
    row.epoch_s = epoch_images / row.point.images_per_s / row.goodput.share;
  }
}

// An efficiency above 100 % says more of the baseline than of the rest: what it waits for (a server
// of its own, reading) is shared by more GPUs later. Against its kernels alone there is none.
void explain_superlinear(Prediction& prediction) {
  constexpr double kWorthSaying = 1.01;
  const Row* best = nullptr;
  for (const Row& row : prediction.rows)
    if (row.efficiency > kWorthSaying && (best == nullptr || row.efficiency > best->efficiency))
      best = &row;
  if (best == nullptr) return;
  const auto baseline = std::find_if(
      prediction.rows.begin(), prediction.rows.end(),
      [&](const Row& row) { return row.point.gpus == prediction.baseline_gpus && row.point.fits; });
  const PredictionPoint& base = baseline->point;
  const double kernels_alone =
      static_cast<double>(base.images_per_iteration) / base.compute_s / base.gpus;
  prediction.warnings.push_back(fmt::format(
      "{:.0f} % at {} GPUs is above 100 % because the baseline waits: of its iteration {:.0f} % "
      "are kernels; against a GPU that does nothing else ({:.4g} {}/s) it is {:.0f} %",
      100 * best->efficiency, best->point.gpus, 100 * base.compute_s / base.iteration_s,
      kernels_alone, prediction.samples,
      100 * best->point.images_per_s / best->point.gpus / kernels_alone));
}

// The largest count that fits: the one that is written down.
int largest_fitting(const PredictionInputs& inputs, const std::vector<int>& gpus) {
  int largest = 0;
  for (const int count : gpus) {
    const std::int64_t share =
        std::max<std::int64_t>(1, batch_shares(inputs.batch, inputs.scaling, count).front());
    if (inputs.memory_at(share, count) <= inputs.platform.gpu_models.front().memory)
      largest = std::max(largest, count);
  }
  return largest;
}

}  // namespace

std::string title_of(const Question& question, const PredictionInputs& inputs) {
  return fmt::format(
      "{}: {} on {}, batch {} {}",
      question.system.empty() ? inputs.schedule->name : question.system, inputs.network.name,
      inputs.platform.name, inputs.batch,
      inputs.scaling == Scaling::kStrong ? "in all (strong scaling)" : "a GPU (weak scaling)");
}

Prediction run_prediction(const Question& question, const PredictionSettings& settings) {
  Asker asker;
  return run_prediction(question, settings, asker);
}

Prediction run_prediction(const Question& question, const PredictionSettings& settings,
                          Asker& asker) {
  Prediction prediction;
  prediction.question = question;
  prediction.draws = settings.draws;
  const PredictionInputs& nominal = asker.inputs(question);
  const std::vector<int> gpus = gpu_counts(question, nominal);
  for (const auto& [rank, factor] : nominal.noise.stragglers)
    if (rank < 0 || rank >= gpus.back())
      throw InputError({.source = "--straggler",
                        .path = "",
                        .value = std::to_string(rank),
                        .constraint = fmt::format("must be a rank below {}", gpus.back())});
  prediction.schedule = nominal.schedule->name;
  prediction.data = nominal.data.name;
  prediction.framework = nominal.framework ? to_text(*nominal.framework) : "";
  for (const Option& option : nominal.schedule->options)
    prediction.options[option.name] = to_text(option, nominal.options.number(option.name));
  prediction.samples = nominal.network.samples();
  prediction.stack = nominal.stack.name;
  prediction.title = title_of(question, nominal);
  for (const Provenance* provenance :
       {&nominal.platform.provenance, &nominal.stack.provenance, &nominal.provenance})
    prediction.numbers.insert(prediction.numbers.end(), provenance->numbers.begin(),
                              provenance->numbers.end());
  for (const NumberSource& number : data_numbers(nominal.data, nominal.platform))
    prediction.numbers.push_back(number);
  prediction.compute_description = nominal.compute.description;

  AskSettings asked{.label = "simulating " + prediction.title, .draws = settings.draws};
  std::vector<Question> questions;
  const int largest = largest_fitting(nominal, gpus);
  for (const int count : gpus) {
    if (count == largest) asked.files_of = questions.size();
    questions.push_back(question);
    questions.back().gpus = {count};
    questions.back().failures.clear();  // whatever fails, an iteration takes as long
  }
  asked.files = settings.files;
  if (settings.files.trace.empty() && settings.files.record.empty()) asked.files_of.reset();
  for (const RangedAnswer& answer : asker.ask(questions, asked)) {
    const Spread spread = spread_of(
        {&answer}, [](const std::vector<Answer>& answers) { return answers.front().time_s(); });
    const bool is_known = !settings.draws.has_range() || spread.is_known;
    prediction.rows.push_back({.point = answer.nominal.training,
                               .iteration_fast_s = is_known ? spread.low : 0,
                               .iteration_slow_s = is_known ? spread.high : 0,
                               .influences = spread.shares,
                               .nodes = answer.nominal.nodes});
    if (settings.draws.drawn == 0 || answer.nominal.training.gpus != largest || !spread.is_known)
      continue;
    std::vector<double> drawn_s;
    for (const Answer& drawn : answer.drawn) drawn_s.push_back(drawn.time_s());
    prediction.shares = shares_of(prediction.numbers, drawn_s);
  }
  add_ratios(prediction);
  add_warnings(prediction, nominal);
  explain_superlinear(prediction);
  return prediction;
}

json to_json(const Prediction& prediction) {
  json points = json::array();
  for (const Row& row : prediction.rows) {
    json point = row.point;
    point["speedup"] = row.speedup;
    point["efficiency"] = row.efficiency;
    point["epoch_s"] = row.epoch_s;
    const auto end = [](double time_s) { return time_s > 0 ? json(time_s) : json(nullptr); };
    point["iteration_fast_s"] = end(row.iteration_fast_s);
    point["iteration_slow_s"] = end(row.iteration_slow_s);
    point["influences"] = row.influences;
    point["nodes"] = row.nodes;
    point["goodput"] = row.goodput.share;
    if (prediction.has_failures() && row.point.fits)
      point["failures"] = {{"mtbf_s", row.goodput.mtbf.value},
                           {"checkpoint_every_s", row.goodput.every.value}};
    points.push_back(std::move(point));
  }
  json shares = json::array();
  for (const NumberShare& share : prediction.shares)
    shares.push_back(
        {{"file", share.number.file}, {"path", share.number.path}, {"share", share.share}});
  json numbers = json::array();
  for (const NumberSource& number : prediction.numbers)
    numbers.push_back({{"file", number.file},
                       {"path", number.path},
                       {"value", number.value},
                       {"source", number.source},
                       {"assumed", number.assumed},
                       {"fast", number.fast},
                       {"slow", number.slow}});
  return {{"format", "forescale-prediction-1"},
          {"title", prediction.title},
          {"question", to_json(prediction.question)},
          {"command", command_of(prediction.question)},
          {"platform", prediction.question.platform},
          {"model", prediction.question.model},
          {"system", prediction.question.system},
          {"schedule", prediction.schedule},
          {"stack", prediction.stack},
          {"batch", std::to_string(prediction.question.batch)},
          {"scaling", prediction.question.scaling == Scaling::kWeak ? "weak" : "strong"},
          {"options", prediction.options},
          {"framework", prediction.framework},
          {"data", prediction.data},
          {"placement", prediction.question.placement},
          {"baseline_gpus", prediction.baseline_gpus},
          {"points", points},
          {"compute", prediction.compute_description},
          {"warnings", prediction.warnings},
          {"shares", shares},
          {"numbers", numbers}};
}

}  // namespace forescale
