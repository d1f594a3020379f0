#include "studies/predict/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "algorithms/system.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/options_text.hpp"
#include "models/compute/fitted_compute.hpp"
#include "models/compute/kernel_fit_json.hpp"
#include "sim/isolate.hpp"
#include "studies/execute/executed_collectives.hpp"
#include "studies/predict/inputs.hpp"
#include "studies/predict/progress.hpp"
#include "topologies/placement.hpp"
#include "traces/timeline/timeline.hpp"

namespace forescale {
namespace {

using nlohmann::json;

// Schedule and stack: those of --system, unless --schedule or --stack replace one of them.
void choose_schedule(const PredictionText& text, PredictionInputs& inputs, Scenario scenario) {
  std::string schedule = text.schedule;
  std::string stack = text.stack;
  std::map<std::string, std::string> given;  // options of the schedule
  if (!text.system.empty()) {
    const System system = load_system(text.system, "--system");
    inputs.framework = system.framework;
    if (!system.data.empty()) inputs.data = load_data_source(system.data, scenario);
    if (schedule.empty()) {
      schedule = system.schedule;
      given = system.options;
    }
    if (stack.empty()) {
      stack = system.stack;
      inputs.choices = system.collectives;
    }
  }
  if (!text.framework.empty()) inputs.framework = read_framework(text.framework, "--framework");
  if (schedule.empty())
    throw InputError({.source = "--system",
                      .path = "",
                      .value = "",
                      .constraint = "is required (or --schedule and --stack); see "
                                    "`forescale system list`"});
  const OptionsText named = OptionsText::parse(schedule, "--schedule");
  inputs.schedule = &Registry<Schedule>::find(named.name(), "--schedule");
  for (const auto& [name, value] : named.values()) given[name] = value;
  for (const auto& [name, value] : text.options) given[name] = value;
  inputs.options =
      ScheduleOptions::parse(inputs.schedule->options, given, "schedule " + inputs.schedule->name);
  inputs.stack = stack_for(inputs.platform, stack, scenario);
}

// What `forescale replay` has to know beside what the ranks do.
void describe(Program& program, const PredictionText& text, const PredictionInputs& inputs,
              int gpus) {
  program.title = fmt::format("{}: {} on {} GPUs of {}",
                              text.system.empty() ? inputs.schedule->name : text.system,
                              inputs.network.name, gpus, inputs.platform.name);
  const System system = text.system.empty() ? System() : load_system(text.system, "--system");
  program.platform = text.platform;
  program.stack = text.stack.empty() ? system.stack : text.stack;
  program.placement = text.placement;
  program.data = text.data.empty() ? system.data : text.data;
  program.noise = text.noise;
  program.stragglers = text.stragglers;
  for (const auto& [op, plan] : inputs.choices) program.plans[op] = plan_text(plan);
  if (inputs.schedule->servers != nullptr)
    program.servers_have_nodes = inputs.schedule->servers(training_job(inputs, 1), gpus).own_hosts;
}

std::string point_task(const PredictionText& text, const PredictionInputs& inputs, int gpus,
                       bool is_shown) {
  Timeline timeline;
  Program program;
  const std::string trace = is_shown ? text.trace : "";
  const std::string record = is_shown ? text.record : "";
  const PredictionPoint point = predict_point(inputs, gpus, trace.empty() ? nullptr : &timeline,
                                              record.empty() ? nullptr : &program);
  if (!record.empty()) {
    describe(program, text, inputs, gpus);
    std::ofstream file(record);
    write_program(program, file);
    file.flush();
    if (!file)
      throw InputError(
          {.source = "--record", .path = "", .value = record, .constraint = "cannot be written"});
  }
  if (!trace.empty()) {
    std::ofstream file(trace);
    const TrainingRun run = training_run(inputs, gpus);
    write_chrome_trace(timeline, rank_places(run.platform, static_cast<int>(run.jobs.size())),
                       file);
    file.flush();
    if (!file)
      throw InputError(
          {.source = "--trace", .path = "", .value = trace, .constraint = "cannot be written"});
  }
  return json(point).dump();
}

void add_warnings(Prediction& prediction, const PredictionInputs& inputs) {
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
    prediction.warnings.push_back(fmt::format(
        "no measurement of {} on {}: its compute times are assumed", compute.network, compute.gpu));
  if (!unsteady.empty())
    prediction.warnings.push_back(
        "no steady state after the iterations simulated (--iterations) at GPU counts:" + unsteady);
  if (!tight.empty())
    prediction.warnings.push_back(
        "no range, as a GPU's share fits in its memory only while uncertain numbers are not at "
        "their ends, at GPU counts:" +
        tight);
  if (inputs.stack.name == "ideal")
    prediction.warnings.push_back("the stack `ideal` has no overheads and free reductions");
  if (inputs.data.is_synthetic())
    prediction.warnings.push_back(
        "training data costs nothing here (--data names a source, see --help)");
}

void add_ratios(Prediction& prediction, double epoch_images) {
  const Row* baseline = nullptr;
  for (Row& row : prediction.rows) {
    if (!row.point.fits) continue;
    if (baseline == nullptr) {
      baseline = &row;
      prediction.baseline_gpus = row.point.gpus;
    }
    row.speedup = row.point.images_per_s / baseline->point.images_per_s;
    row.efficiency = row.speedup * baseline->point.gpus / row.point.gpus;
    row.epoch_s = epoch_images / row.point.images_per_s;
  }
}

std::vector<std::string> simulate(const PredictionText& text,
                                  const std::vector<PredictionInputs>& scenarios,
                                  const std::vector<int>& gpus, const std::string& title) {
  int traced = 0;
  if (!text.trace.empty() || !text.record.empty())
    for (const int count : gpus) {
      const auto shares = batch_shares(scenarios.front().batch, scenarios.front().scaling, count);
      const bool fits = scenarios.front().memory_at(std::max<std::int64_t>(1, shares.front())) <=
                        scenarios.front().platform.gpu_models.front().memory;
      if (fits) traced = std::max(traced, count);
    }
  // The largest counts take longest: they go first, so that no core waits for them at the end.
  std::vector<std::function<std::string()>> tasks;
  for (size_t i = gpus.size(); i-- > 0;)
    for (const PredictionInputs& inputs : scenarios) {
      const bool trace = gpus[i] == traced && &inputs == scenarios.data();
      tasks.push_back([&text, &inputs, count = gpus[i], trace] {
        return point_task(text, inputs, count, trace);
      });
    }
  ProgressLine progress("simulating " + title, tasks.size());
  auto texts =
      run_isolated(tasks, available_cores(), [&](size_t finished) { progress.done(finished); });
  std::vector<std::string> in_order;
  for (size_t i = gpus.size(); i-- > 0;)
    for (size_t s = 0; s < scenarios.size(); ++s)
      in_order.push_back(std::move(texts[i * scenarios.size() + s]));
  return in_order;
}

// As many iterations as show a steady state; noise has none, only a mean.
int steady_iterations(const PredictionInputs& inputs) {
  constexpr int kWithNoise = 20;
  int iterations = inputs.schedule->iterations;
  // A worker uses up its staleness before it is held to the pace of the others.
  if (inputs.options.values().contains("staleness"))
    iterations += 4 * static_cast<int>(inputs.options.integer("staleness"));
  if (inputs.noise.sigma > 0) iterations = std::max(iterations, kWithNoise);
  // Batches read ahead must have been used up.
  if (!inputs.data.is_synthetic()) iterations = std::max(iterations, inputs.data.prefetch + 4);
  return iterations;
}

void scale_compute(ComputeTable& compute, double scale) {
  for (LayerTime& layer : compute.layers)
    for (double* time_s :
         {&layer.forward_t0_s, &layer.forward_t1_s, &layer.backward_t0_s, &layer.backward_t1_s})
      *time_s *= scale;
}

// The GPU model's numbers in place of the platform's, on every GPU. One that is asked for goes
// before one that the platform names.
void choose_compute(const PredictionText& text, PredictionInputs& inputs) {
  GpuModel& gpu = inputs.platform.gpu_models.front();
  const std::string& measured =
      text.gpu_model.empty() ? inputs.platform.fitted_gpu : text.gpu_model;
  const Precision precision = parse_precision(text.precision, "--precision");
  if (measured.empty()) {
    if (precision != Precision::kFp32)
      throw InputError({.source = "--precision",
                        .path = "",
                        .value = text.precision,
                        .constraint = "needs --gpu-model: the tables of GPUs are FP32"});
    inputs.compute = compute_table(gpu, inputs.network, &inputs.provenance, inputs.framework);
    return;
  }
  const bool is_asked = !text.gpu_model.empty();
  Provenance of_platform{.scenario = inputs.provenance.scenario, .numbers = {}};  // noted there
  const FittedGpu fitted =
      load_fitted_gpu(measured, "--gpu-model", is_asked ? &inputs.provenance : &of_platform);
  if (is_asked) gpu = with_measured(gpu, fitted, &inputs.platform.provenance);
  inputs.compute = fitted_compute(fitted, gpu, inputs.network, precision, &inputs.provenance).table;
}

}  // namespace

PredictionInputs load_inputs(const PredictionText& text, Scenario scenario) {
  PredictionInputs inputs;
  inputs.platform = load_platform(text.platform, scenario);
  if (!inputs.platform.can_train())
    throw InputError({.source = "--platform",
                      .path = "",
                      .value = text.platform,
                      .constraint = "has no GPUs to train on (see `forescale platform list`)"});
  choose_schedule(text, inputs, scenario);
  if (!text.placement.empty()) place_ranks(inputs.platform, text.placement, "--placement");
  if (!text.data.empty()) inputs.data = load_data_source(text.data, scenario);
  inputs.provenance.scenario = scenario;
  inputs.network = load_network(text.model, "--model", parse_shape(text.input_shape));
  choose_compute(text, inputs);
  scale_compute(inputs.compute, text.compute_scale);
  inputs.batch = parse_integer(text.batch, "--batch");
  if (inputs.batch < 1)
    throw InputError(
        {.source = "--batch", .path = "", .value = text.batch, .constraint = "must be >= 1"});
  inputs.scaling = text.scaling == "weak" ? Scaling::kWeak : Scaling::kStrong;
  inputs.noise = parse_noise(text.noise, text.stragglers);
  inputs.iterations = text.iterations == 0 ? steady_iterations(inputs) : text.iterations;
  if (inputs.iterations < 2)
    throw InputError({.source = "--iterations",
                      .path = "",
                      .value = std::to_string(text.iterations),
                      .constraint = "must be >= 2 to see a steady state"});
  return inputs;
}

std::vector<int> gpu_counts(const PredictionText& text, const PredictionInputs& inputs) {
  const std::string range =
      text.gpus.empty() ? fmt::format("1..{}", inputs.platform.slot_count()) : text.gpus;
  std::vector<std::int64_t> counts = parse_integers(range, "--gpus");
  check_ranks(inputs.platform, counts, "--gpus");
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return {counts.begin(), counts.end()};
}

Prediction run_prediction(const PredictionText& text) {
  Prediction prediction;
  prediction.text = text;
  std::vector<PredictionInputs> scenarios;
  scenarios.push_back(load_inputs(text, Scenario::kNominal));
  if (text.range)
    for (const Scenario scenario : {Scenario::kFast, Scenario::kSlow})
      scenarios.push_back(load_inputs(text, scenario));
  const PredictionInputs& nominal = scenarios.front();
  const std::vector<int> gpus = gpu_counts(text, nominal);
  for (const auto& [rank, factor] : nominal.noise.stragglers)
    if (rank < 0 || rank >= gpus.back())
      throw InputError({.source = "--straggler",
                        .path = "",
                        .value = std::to_string(rank),
                        .constraint = fmt::format("must be a rank below {}", gpus.back())});
  const std::int64_t epoch_images = parse_integer(text.epoch_images, "--epoch-images");
  if (epoch_images < 1)
    throw InputError({.source = "--epoch-images",
                      .path = "",
                      .value = text.epoch_images,
                      .constraint = "must be >= 1"});
  prediction.schedule = nominal.schedule->name;
  prediction.data = nominal.data.name;
  prediction.framework = nominal.framework ? to_text(*nominal.framework) : "";
  for (const Option& option : nominal.schedule->options)
    prediction.options[option.name] = to_text(option, nominal.options.number(option.name));
  prediction.stack = nominal.stack.name;
  prediction.title = fmt::format(
      "{}: {} on {}, batch {} {}", text.system.empty() ? prediction.schedule : text.system,
      nominal.network.name, nominal.platform.name, nominal.batch,
      nominal.scaling == Scaling::kStrong ? "in all (strong scaling)" : "a GPU (weak scaling)");
  for (const Provenance* provenance :
       {&nominal.platform.provenance, &nominal.stack.provenance, &nominal.provenance})
    prediction.numbers.insert(prediction.numbers.end(), provenance->numbers.begin(),
                              provenance->numbers.end());
  for (const NumberSource& number : data_numbers(nominal.data, nominal.platform))
    prediction.numbers.push_back(number);
  prediction.compute_description = nominal.compute.description;
  const std::vector<std::string> answers = simulate(text, scenarios, gpus, prediction.title);
  for (size_t i = 0; i < gpus.size(); ++i) {
    std::vector<PredictionPoint> points;
    for (size_t s = 0; s < scenarios.size(); ++s)
      points.push_back(parse_json(answers[i * scenarios.size() + s]).get<PredictionPoint>());
    Row row{.point = points.front()};
    row.iteration_fast_s = text.range ? points[1].iteration_s : row.point.iteration_s;
    row.iteration_slow_s = text.range ? points[2].iteration_s : row.point.iteration_s;
    prediction.rows.push_back(std::move(row));
  }
  add_ratios(prediction, static_cast<double>(epoch_images));
  add_warnings(prediction, nominal);
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
    points.push_back(std::move(point));
  }
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
          {"platform", prediction.text.platform},
          {"model", prediction.text.model},
          {"system", prediction.text.system},
          {"schedule", prediction.schedule},
          {"stack", prediction.stack},
          {"batch", prediction.text.batch},
          {"scaling", prediction.text.scaling},
          {"options", prediction.options},
          {"framework", prediction.framework},
          {"data", prediction.data},
          {"placement", prediction.text.placement},
          {"baseline_gpus", prediction.baseline_gpus},
          {"points", points},
          {"compute", prediction.compute_description},
          {"warnings", prediction.warnings},
          {"numbers", numbers}};
}

}  // namespace forescale
