#include "sim/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/dnn/training_memory.hpp"
#include "models/error.hpp"
#include "sim/simulate.hpp"

namespace forescale {
namespace {

std::map<std::string, double> by_name(const Attribution& attribution) {
  std::map<std::string, double> named;
  for (int phase = 0; phase < kPhaseCount; ++phase)
    named[name_of(static_cast<Phase>(phase))] = attribution.phase_s[static_cast<size_t>(phase)];
  named["idle"] = attribution.idle_s;
  return named;
}

std::map<std::string, double> mean_by_name(const std::vector<Attribution>& attributions) {
  std::map<std::string, double> mean;
  for (const Attribution& attribution : attributions)
    for (const auto& [name, time_s] : by_name(attribution))
      mean[name] += time_s / static_cast<double>(attributions.size());
  return mean;
}

// An iteration lasts at least as long as the largest share's compute, the broadcast of the
// parameters, or the reduce of the gradients, whichever is longest: a schedule may overlap all.
Bound iteration_bound(const PredictionInputs& inputs, int gpus, const TrainingJob& job) {
  Bound bound;
  for (const TrainingStage& stage : job.stages) bound.time_s += stage.forward_s + stage.backward_s;
  bound.reason = "compute of the largest share";
  const Lanes lanes(inputs.platform, inputs.stack);
  CollectiveCall call;
  call.rank_count = gpus;
  call.bytes = job.parameter_bytes();
  for (const CollectiveOp op : {CollectiveOp::kBroadcast, CollectiveOp::kReduce}) {
    const Bound floor = collective_bound(op, call, lanes, lanes.default_place());
    if (floor.time_s > bound.time_s)
      bound = {floor.time_s, std::string(name_of(op)) + ": " + floor.reason};
  }
  return bound;
}

}  // namespace

Bytes PredictionInputs::memory_at(std::int64_t batch_per_gpu) const {
  Provenance quiet{.scenario = provenance.scenario, .numbers = {}};
  return training_memory(network, batch_per_gpu, &quiet);
}

std::vector<std::int64_t> batch_shares(std::int64_t batch, Scaling scaling, int gpus) {
  std::vector<std::int64_t> shares(static_cast<size_t>(gpus), batch);
  if (scaling == Scaling::kStrong)
    for (int rank = 0; rank < gpus; ++rank)
      shares[static_cast<size_t>(rank)] = batch / gpus + (rank < batch % gpus ? 1 : 0);
  return shares;
}

TrainingJob training_job(const PredictionInputs& inputs, std::int64_t batch_share) {
  TrainingJob job;
  job.iterations = inputs.iterations;
  const auto batch = static_cast<double>(batch_share);
  const auto parameters = static_cast<double>(inputs.network.parameters());
  for (size_t i = 0; i < inputs.network.layers.size(); ++i) {
    const Layer& layer = inputs.network.layers[i];
    const LayerTime& time = inputs.compute.layers[i];
    if (job.stages.empty() || (layer.parameters > 0 && job.stages.back().parameter_bytes > 0))
      job.stages.push_back({.name = layer.name});
    TrainingStage& stage = job.stages.back();
    if (layer.parameters > 0) stage.name = layer.name;
    // A rank without images still runs the kernels' launches.
    stage.forward_s += time.forward_t0_s + batch * time.forward_t1_s;
    stage.backward_s += time.backward_t0_s + batch * time.backward_t1_s;
    stage.parameter_bytes += layer.parameter_bytes().value;
    stage.update_s += inputs.compute.update_s * static_cast<double>(layer.parameters) / parameters;
  }
  return job;
}

PredictionPoint predict_point(const PredictionInputs& inputs, int gpus, Timeline* timeline) {
  PredictionPoint point;
  point.gpus = gpus;
  const std::vector<std::int64_t> shares = batch_shares(inputs.batch, inputs.scaling, gpus);
  point.batch_per_gpu = shares.front();
  for (const std::int64_t share : shares) point.images_per_iteration += share;
  if (shares.back() < 1)
    throw InputError({.source = "--batch",
                      .path = "",
                      .value = std::to_string(inputs.batch),
                      .constraint = fmt::format("must be >= {}: an image for every GPU", gpus)});
  point.memory_bytes = inputs.memory_at(point.batch_per_gpu).value;
  point.fits = point.memory_bytes <= inputs.platform.gpu_models.front().memory.value;
  if (!point.fits) return point;

  std::map<std::int64_t, TrainingJob> by_share;
  std::vector<TrainingJob> jobs;
  for (const std::int64_t share : shares) {
    if (!by_share.contains(share)) by_share[share] = training_job(inputs, share);
    jobs.push_back(by_share[share]);
  }
  const TrainingOutcome outcome = simulate_training(
      inputs.platform, inputs.stack, *inputs.schedule, jobs,
      {.choices = inputs.choices, .solver = SharingSolver::kLazy, .timeline = timeline});
  point.iteration_s = outcome.iteration_s;
  point.images_per_s = static_cast<double>(point.images_per_iteration) / point.iteration_s;
  point.root_s = by_name(outcome.attributions.front());
  point.mean_s = mean_by_name(outcome.attributions);
  point.compute_s = point.root_s["forward"] + point.root_s["backward"] + point.root_s["update"];
  point.exposed_communication_s = point.root_s["propagation"] + point.root_s["aggregation"];
  double simulated_s = 0;
  for (const double period_s : outcome.periods_s) simulated_s += period_s;
  if (timeline != nullptr) timeline->keep_from(simulated_s - outcome.iteration_s);
  point.busiest = outcome.busiest.name;
  point.busiest_share = outcome.busiest.busy_s / simulated_s;
  point.is_steady = outcome.is_steady;
  point.messages = outcome.messages;
  point.bytes_sent = outcome.bytes_sent;
  const Bound bound = iteration_bound(inputs, gpus, by_share[point.batch_per_gpu]);
  point.bound_s = bound.time_s;
  point.bound_reason = bound.reason;
  enforce(bound, point.iteration_s, fmt::format("iteration on {} GPUs", gpus));
  return point;
}

std::vector<RankPlace> rank_places(const Platform& platform, int rank_count) {
  std::vector<RankPlace> places;
  for (int rank = 0; rank < rank_count; ++rank) {
    const Device& device =
        platform.devices[static_cast<size_t>(platform.endpoints[static_cast<size_t>(rank)])];
    places.push_back({.node = device.node,
                      .node_name = fmt::format("node{}", device.node),
                      .rank_name = fmt::format("rank {} ({})", rank, device.name)});
  }
  return places;
}

}  // namespace forescale
