#include "studies/execute/schedule_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"
#include "base/options_text.hpp"
#include "sim/ask/inputs.hpp"
#include "studies/execute/executed_collectives.hpp"

namespace forescale {
namespace {

using nlohmann::json;

void refuse_what_does_not_run(const PredictionInputs& inputs,
                              const ScheduleExperimentSettings& settings) {
  if (!inputs.platform.gpus_are_emulated)
    refuse("--platform", settings.question.platform,
           "has real GPUs: schedules are executed on bare hosts with an \"emulated_gpu\" (see "
           "`forescale calibrate fit --emulated-gpu`)");
  if (whole_bytes_a_value(inputs.precision) != kBytesPerValue)
    refuse("--precision", name_of(inputs.precision), "cannot be executed: MPI adds FP32 values");
  if (!inputs.data.is_synthetic())
    refuse("--data", settings.question.data, "cannot be executed: training data cost nothing here");
  if (inputs.noise.sigma > 0)
    refuse("--noise", settings.question.noise,
           "cannot be executed: the machine has noise of its own (--straggler can)");
  for (const auto& [rank, factor] : inputs.noise.stragglers)
    if (rank >= settings.workers)
      refuse("--straggler", std::to_string(rank),
             fmt::format("must be a rank below {}", settings.workers));
  const std::int64_t share = batch_shares(inputs.batch, inputs.scaling, settings.workers).front();
  if (share < 1 || batch_shares(inputs.batch, inputs.scaling, settings.workers).back() < 1)
    refuse("--batch", std::to_string(settings.question.batch),
           fmt::format("must be >= {}: an image for every GPU", settings.workers));
  const Bytes needed = inputs.memory_at(share, settings.workers);
  if (needed > inputs.platform.gpu_models.front().memory)
    refuse("--batch", std::to_string(settings.question.batch),
           fmt::format("needs {} on each {}, which has {}", to_text(needed),
                       inputs.platform.gpu_models.front().name,
                       to_text(inputs.platform.gpu_models.front().memory)));
}

Question question_of(const ScheduleExperimentSettings& settings, const std::string& schedule) {
  Question question = settings.question;
  question.schedule = schedule;
  question.gpus = {settings.workers};
  if (question.iterations == 0)
    question.iterations =
        std::max(load_inputs(question, Scenario::kNominal).iterations, kIterationsMin);
  return question;
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
  for (const auto& job : run.jobs) request.jobs.push_back(*job);
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

ScheduleExperiment make_experiment(const ScheduleExperimentSettings& settings,
                                   const std::string& schedule, int hosts) {
  if (settings.workers < 1) refuse("--gpus", std::to_string(settings.workers), "must be >= 1");
  const double bytes_scale = settings.question.bytes_scale;
  if (!(bytes_scale > 0) || bytes_scale > 1)
    refuse("--bytes-scale", fmt::format("{}", bytes_scale), "must be above 0 and at most 1");
  ScheduleExperiment experiment;
  experiment.question = question_of(settings, schedule);
  experiment.inputs = load_inputs(experiment.question, Scenario::kNominal);
  check_ranks(experiment.inputs.platform, {settings.workers}, "--gpus");
  refuse_what_does_not_run(experiment.inputs, settings);
  experiment.run = training_run(experiment.inputs, settings.workers);
  check_places(experiment.run, hosts);
  experiment.request = request_for(experiment.inputs, experiment.run, settings.compute);
  return experiment;
}

json mpi_request(const ScheduleExperiment& experiment, double nap_s) {
  json request = schedule_request_to_json(experiment.request);
  request["format"] = "forescale-mpi-request-1";
  request["wait"] = {{"nap_s", nap_s}};
  request["channels"] = experiment.inputs.stack.channels;
  return request;
}

std::vector<std::string> schedules_of(const ScheduleExperimentSettings& settings) {
  if (settings.schedules.empty()) refuse("--schedules", "", "must name one (see `schedule list`)");
  std::vector<std::string> names;
  for (const std::string& given : settings.schedules) {
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
