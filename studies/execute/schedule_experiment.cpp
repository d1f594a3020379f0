#include "studies/execute/schedule_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"
#include "base/options_text.hpp"
#include "studies/execute/executed_collectives.hpp"
#include "studies/predict/inputs.hpp"

namespace forescale {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& option, const std::string& value,
                         const std::string& constraint) {
  throw InputError({.source = option, .path = "", .value = value, .constraint = constraint});
}

void refuse_what_does_not_run(const PredictionInputs& inputs, const ScheduleExperimentText& text) {
  if (!inputs.platform.gpus_are_emulated)
    refuse("--platform", text.common.platform,
           "has real GPUs: schedules are executed on bare hosts with an \"emulated_gpu\" (see "
           "`forescale calibrate fit --emulated-gpu`)");
  if (!inputs.data.is_synthetic())
    refuse("--data", text.common.data, "cannot be executed: training data cost nothing here");
  if (inputs.noise.sigma > 0)
    refuse("--noise", text.common.noise,
           "cannot be executed: the machine has noise of its own (--straggler can)");
  for (const auto& [rank, factor] : inputs.noise.stragglers)
    if (rank >= text.workers)
      refuse("--straggler", std::to_string(rank),
             fmt::format("must be a rank below {}", text.workers));
  const std::int64_t share = batch_shares(inputs.batch, inputs.scaling, text.workers).front();
  if (share < 1 || batch_shares(inputs.batch, inputs.scaling, text.workers).back() < 1)
    refuse("--batch", text.common.batch,
           fmt::format("must be >= {}: an image for every GPU", text.workers));
  const Bytes needed = inputs.memory_at(share);
  if (needed > inputs.platform.gpu_models.front().memory)
    refuse("--batch", text.common.batch,
           fmt::format("needs {} on each {}, which has {}", to_text(needed),
                       inputs.platform.gpu_models.front().name,
                       to_text(inputs.platform.gpu_models.front().memory)));
}

void scale_parameters(Network& network, double scale) {
  if (scale == 1) return;
  const auto scaled = [](std::int64_t values, double factor) {
    return std::max<std::int64_t>(1, std::llround(static_cast<double>(values) * factor));
  };
  for (Layer& layer : network.layers) {
    if (layer.parameters == 0) continue;
    layer.parameters = layer.parameter_tensors.empty() ? scaled(layer.parameters, scale) : 0;
    for (std::int64_t& values : layer.parameter_tensors) {
      values = scaled(values, scale);
      layer.parameters += values;
    }
    if (layer.matrix_rows == 0) continue;
    layer.matrix_rows = scaled(layer.matrix_rows, std::sqrt(scale));
    layer.matrix_columns = scaled(layer.matrix_columns, std::sqrt(scale));
  }
}

std::map<CollectiveOp, PlanChoice> choices_of(const std::vector<std::string>& plans) {
  std::map<CollectiveOp, PlanChoice> choices;
  for (const std::string& text : plans) {
    const PlanChoice plan = parse_plan(text, "--algorithm");
    if (!choices.emplace(plan.collective->op, plan).second)
      refuse("--algorithm", text,
             fmt::format("gives {} for the second time", name_of(plan.collective->op)));
  }
  return choices;
}

PredictionInputs inputs_for(const ScheduleExperimentText& text, const std::string& schedule,
                            Scenario scenario) {
  PredictionText common = text.common;
  common.schedule = schedule;
  PredictionInputs inputs = load_inputs(common, scenario);
  if (common.iterations == 0) inputs.iterations = std::max(inputs.iterations, kIterationsMin);
  scale_parameters(inputs.network, text.bytes_scale);
  for (const auto& [op, choice] : choices_of(text.plans)) inputs.choices[op] = choice;
  if (!text.progress.empty())
    inputs.stack.progress =
        text.progress == "thread" ? Progress::kHardware : Progress::kInsideCalls;
  return inputs;
}

// A straggler's kernels take longer, whatever they are.
void slow_down(TrainingJob& job, double factor) {
  for (TrainingStage& stage : job.stages)
    for (double* time_s : {&stage.forward_s, &stage.backward_s, &stage.update_s}) *time_s *= factor;
  job.gpu_pack_s_per_byte *= factor;
  job.gpu_flops /= factor;
}

void check_places(const TrainingRun& run, int hosts) {
  if (hosts == 0) return;
  for (size_t rank = 0; rank < run.nodes.size(); ++rank) {
    const int host = static_cast<int>(rank) % hosts;
    if (run.nodes[rank] != host)
      refuse("--gpus", std::to_string(run.workers),
             fmt::format("puts rank {} on node {} of the platform, but MPI on host {} of {}", rank,
                         run.nodes[rank], host, hosts));
  }
}

ScheduleRequest request_for(const PredictionInputs& inputs, const TrainingRun& run,
                            Compute compute) {
  ScheduleRequest request;
  request.schedule = inputs.schedule->name;
  request.workers = run.workers;
  request.jobs = run.jobs;
  for (const auto& [rank, factor] : inputs.noise.stragglers)
    slow_down(request.jobs[static_cast<size_t>(rank)], factor);
  request.nodes = run.nodes;
  request.choices = inputs.stack.selection;
  request.control_choices = inputs.stack.selection;
  for (const auto& [op, choice] : inputs.choices) {
    SelectionRule rule;
    rule.algorithm = choice.collective->algorithm;
    rule.options = choice.options;
    request.choices[name_of(op)] = {rule};
  }
  request.compute = compute;
  request.progress_thread = inputs.stack.progress == Progress::kHardware;
  request.host_copy_bytes_per_s = inputs.platform.gpu_models.front().host_copy.value;
  return request;
}

}  // namespace

ScheduleExperiment make_experiment(const ScheduleExperimentText& text, const std::string& schedule,
                                   int hosts) {
  if (text.workers < 1) refuse("--gpus", std::to_string(text.workers), "must be >= 1");
  if (!(text.bytes_scale > 0) || text.bytes_scale > 1)
    refuse("--bytes-scale", fmt::format("{}", text.bytes_scale), "must be above 0 and at most 1");
  ScheduleExperiment experiment;
  experiment.schedule = schedule;
  experiment.scenarios.push_back(inputs_for(text, schedule, Scenario::kNominal));
  const PredictionInputs& nominal = experiment.scenarios.front();
  check_ranks(nominal.platform, {text.workers}, "--gpus");
  refuse_what_does_not_run(nominal, text);
  experiment.run = training_run(nominal, text.workers);
  check_places(experiment.run, hosts);
  experiment.request = request_for(nominal, experiment.run, text.compute);
  if (text.common.range)
    for (const Scenario scenario : {Scenario::kFast, Scenario::kSlow})
      experiment.scenarios.push_back(inputs_for(text, schedule, scenario));
  return experiment;
}

json mpi_request(const ScheduleExperiment& experiment, double nap_s) {
  json request = schedule_request_to_json(experiment.request);
  request["format"] = "forescale-mpi-request-1";
  request["wait"] = {{"nap_s", nap_s}};
  request["channels"] = experiment.scenarios.front().stack.channels;
  return request;
}

std::vector<std::string> schedules_of(const ScheduleExperimentText& text) {
  if (text.schedules.empty()) refuse("--schedules", "", "must name one (see `schedule list`)");
  std::vector<std::string> names;
  for (const std::string& given : text.schedules) {
    if (given == "all") {
      for (const std::string& name : Registry<Schedule>::names()) names.push_back(name);
      continue;
    }
    // With options the commas are theirs.
    std::istringstream bare(given);
    const bool has_options = given.find(':') != std::string::npos;
    for (std::string name; std::getline(bare, name, has_options ? '\0' : ',');) {
      Registry<Schedule>::find(OptionsText::parse(name, "--schedules").name(), "--schedules");
      names.push_back(name);
    }
  }
  return names;
}

}  // namespace forescale
