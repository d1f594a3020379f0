#include "sim/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <tuple>

#include "base/error.hpp"
#include "models/compute/gpu_variation.hpp"
#include "models/workload/training_memory.hpp"
#include "sim/lockstep.hpp"
#include "sim/resolved_call.hpp"
#include "sim/run/simulate.hpp"
#include "topologies/placement.hpp"

namespace forescale {
namespace {

PhaseTimes mean_by_name(const std::vector<Attribution>& attributions) {
  PhaseTimes mean;
  for (const Attribution& attribution : attributions)
    for (const auto& [name, time_s] : by_name(attribution.phase_s, attribution.idle_s))
      mean[name] += time_s / static_cast<double>(attributions.size());
  return mean;
}

// The largest share's compute; where ranks go at their own pace, all images over the sum of rates.
Bound compute_bound(const TrainingRun& run, const ComputeNoise& noise, bool asynchronous) {
  double largest_s = 0;
  double images = 0;
  double images_per_s = 0;
  for (int rank = 0; rank < run.workers; ++rank) {
    const TrainingJob& job = *run.jobs[static_cast<size_t>(rank)];
    double kernels_s = 0;
    for (const TrainingStage& stage : job.stages) kernels_s += stage.forward_s + stage.backward_s;
    kernels_s *= noise.slowness(rank);
    largest_s = std::max(largest_s, kernels_s);
    images += static_cast<double>(job.batch);
    images_per_s += static_cast<double>(job.batch) / kernels_s;
  }
  if (asynchronous) return {images / images_per_s, "compute of all shares"};
  return {largest_s, "compute of the largest share"};
}

// An iteration lasts at least as long as the largest share's compute, its collectives of one kind,
// or its messages, whichever is longest: a schedule may overlap all.
Bound iteration_bound(const PredictionInputs& inputs, const TrainingRun& run) {
  const TrainingJob& job = *run.jobs.front();  // the largest share
  Bound bound;
  // With noise kernels may be faster than the table says.
  if (!inputs.noise.varies())
    bound = compute_bound(run, inputs.noise, inputs.schedule->is_asynchronous);
  const Lanes lanes(run.platform, inputs.stack);
  const Traffic traffic = inputs.schedule->traffic(job, run.workers, run.nodes);
  // By operation, where the stack has it work, ranks (none: all workers) and root.
  std::map<std::tuple<CollectiveOp, BufferPlace, std::vector<int>, int>, CollectiveCall> calls;
  std::vector<int> workers(static_cast<size_t>(run.workers));
  std::iota(workers.begin(), workers.end(), 0);
  std::map<std::vector<int>, SharedGroup> groups;
  for (const CollectiveStep& step : traffic.collectives) {
    const std::vector<int>& ranks = step.group ? *step.group : workers;
    const int root = step.group ? step.root : 0;
    SharedGroup& group = groups[ranks];
    if (!group) group = shared_group(run.platform, ranks);
    const auto choice = inputs.choices.find(step.op);
    const BufferPlace place =
        resolve(lanes, group,
                {.op = step.op,
                 .bytes = step.bytes,
                 .root = root,
                 .plan = choice == inputs.choices.end() ? nullptr : &choice->second,
                 .element_bytes = job.value_bytes})
            .place;
    CollectiveCall& call = calls[{step.op, place, ranks, root}];
    call.bytes += step.bytes;
    call.element_bytes = job.value_bytes;
  }
  for (auto& [key, call] : calls) {
    const auto& [op, place, ranks, root] = key;
    call.rank_count = static_cast<int>(ranks.size());
    call.root = root;
    const Bound floor = collective_bound(op, call, lanes, place, ranks);
    if (floor.time_s > bound.time_s)
      bound = {floor.time_s, std::string(name_of(op)) + ": " + floor.reason};
  }
  const Bound floor = message_bound(traffic.messages, lanes);
  if (floor.time_s > bound.time_s) bound = {floor.time_s, "messages: " + floor.reason};
  return bound;
}

// What software does with tensors on this platform's hosts and GPUs.
HostCosts host_costs(const Platform& platform, const ServiceCosts& service) {
  HostCosts costs;
  costs.threads = service.threads;
  costs.request_bytes = service.request.value;
  costs.request_s = service.request_time.value;
  costs.stages_through_host = service.stages_through_host;
  if (service.encode.value > 0) costs.encode_s_per_byte = 1 / service.encode.value;
  if (service.decode.value > 0) costs.decode_s_per_byte = 1 / service.decode.value;
  if (platform.cpu_models.empty()) return costs;
  const CpuModel& cpu = platform.cpu_models.front();
  const int adding = service.compute_threads > 0 ? service.compute_threads : service.threads;
  const int threads = std::min(adding, cpu.cores);
  costs.add_s_per_byte = 1 / (cpu.reduce_per_core.value * threads);
  costs.copy_s_per_byte = 1 / cpu.copy_per_core.value;
  costs.update_s_per_byte = 2 * costs.add_s_per_byte;  // v = m v + g, w -= r v
  return costs;
}

std::vector<std::string> schedules_with_tables() {
  std::vector<std::string> names = Registry<Schedule>::names();
  std::erase_if(names, [](const std::string& name) {
    return !Registry<Schedule>::find(name, "schedule").exchanges_tables;
  });
  return names;
}

bool is_learning(const TrainingStage& stage) {
  return stage.parameter_bytes > 0 || stage.looked_up_bytes > 0;
}

namespace members {
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(PredictionPoint, gpus, servers, io_s, batch_per_gpu,
                                   images_per_iteration, memory_bytes, fits, iteration_s,
                                   images_per_s, compute_s, exposed_communication_s, waiting_s,
                                   root_s, mean_s, bound_s, bound_reason, busiest, busiest_share,
                                   is_steady, messages, bytes_sent, payload_bytes, beyond_measured,
                                   simulated_ranks, simulated_workers, folded_error, slowest_gpu)
}  // namespace members

}  // namespace

void to_json(nlohmann::json& json, const PredictionPoint& point) { members::to_json(json, point); }
void from_json(const nlohmann::json& json, PredictionPoint& point) {
  members::from_json(json, point);
}

Bytes PredictionInputs::memory_at(std::int64_t batch_per_gpu, int gpus) const {
  Provenance quiet{.scenario = provenance.scenario, .numbers = {}};
  return training_memory(network, batch_per_gpu, &quiet, framework, precision, gpus);
}

std::vector<std::int64_t> batch_shares(std::int64_t batch, Scaling scaling, int gpus) {
  std::vector<std::int64_t> shares(static_cast<size_t>(gpus), batch);
  if (scaling == Scaling::kStrong)
    for (int rank = 0; rank < gpus; ++rank)
      shares[static_cast<size_t>(rank)] = batch / gpus + (rank < batch % gpus ? 1 : 0);
  return shares;
}

double compute_s(const ComputeTable& compute, std::int64_t batch_share) {
  double time_s = 0;
  for (const LayerTime& layer : compute.layers)
    time_s += layer.forward_t0_s + layer.backward_t0_s +
              static_cast<double>(batch_share) * (layer.forward_t1_s + layer.backward_t1_s);
  return time_s;
}

double slowest_gpu(const PredictionInputs& inputs, int gpus, double variation) {
  const bool has_staleness = inputs.options.values().contains("staleness");  // who is ahead waits
  if (inputs.schedule->is_asynchronous && !has_staleness) return 1;
  return slowest_of(inputs.waited_for > 0 ? inputs.waited_for : gpus, variation);
}

TrainingJob training_job(const PredictionInputs& inputs, std::int64_t batch_share) {
  TrainingJob job;
  job.iterations = inputs.iterations;
  job.batch = batch_share;
  job.value_bytes = whole_bytes_a_value(inputs.precision);
  job.options = inputs.options;
  job.host = host_costs(inputs.platform, inputs.stack.service);
  const GpuModel& gpu = inputs.platform.gpu_models.front();
  job.gpu_flops = gpu.peak_flops.value / std::max(1.0, inputs.compute.roofline_factor);
  job.gpu_pack_s_per_byte = 2 / gpu.memory_bandwidth.value;  // read and written
  job.gpu_launch_s = gpu.kernel_launch.value + gpu.synchronize.value;
  const auto batch = static_cast<double>(batch_share);
  const auto parameters = static_cast<double>(inputs.network.parameters());
  for (size_t i = 0; i < inputs.network.layers.size(); ++i) {
    const Layer& layer = inputs.network.layers[i];
    const LayerTime& time = inputs.compute.layers[i];
    const bool learns = layer.parameters > 0 || layer.tables.values > 0;
    if (job.stages.empty() || (learns && is_learning(job.stages.back())))
      job.stages.push_back({.name = layer.name});
    TrainingStage& stage = job.stages.back();
    if (learns) stage.name = layer.name;
    // A rank without images still runs the kernels' launches.
    stage.forward_s += time.forward_t0_s + batch * time.forward_t1_s;
    stage.backward_s += time.backward_t0_s + batch * time.backward_t1_s;
    stage.parameter_bytes += layer.parameters * job.value_bytes;
    stage.looked_up_bytes += batch_share * layer.tables.looked_up * job.value_bytes;
    for (const std::int64_t values : layer.parameter_tensors)
      stage.tensor_bytes.push_back(values * job.value_bytes);
    if (const LinearShape* matrix = layer.fully_connected()) {
      stage.matrix_rows = matrix->outputs;
      stage.matrix_columns = matrix->inputs;
    }
    if (layer.parameters > 0)
      stage.update_s +=
          inputs.compute.update_s * static_cast<double>(layer.parameters) / parameters;
  }
  return job;
}

namespace {

void take_longer(TrainingJob& job, double factor) {
  for (TrainingStage& stage : job.stages)
    for (double* time_s : {&stage.forward_s, &stage.backward_s, &stage.update_s}) *time_s *= factor;
}

// Of each of so many jobs, one behind the other.
int nodes_of_each(const Platform& platform, int gpus, int jobs) {
  const int nodes = nodes_of(platform, gpus);
  for (int job = 1; job < jobs; ++job)
    if (nodes_of(platform, gpus, job * gpus) != nodes)
      throw InputError({.source = "--gpus",
                        .path = "",
                        .value = std::to_string(gpus),
                        .constraint =
                            "must fill nodes, of which each has a server: the jobs beside "
                            "each other would have servers of different number"});
  return nodes;
}

}  // namespace

TrainingRun training_run(const PredictionInputs& inputs, int gpus) {
  TrainingRun run{.platform = inputs.platform, .jobs = {}, .nodes = {}, .workers = gpus};
  const double slowest = slowest_gpu(inputs, gpus, inputs.gpu_variation);
  std::map<std::int64_t, std::shared_ptr<const TrainingJob>> by_share;
  for (const std::int64_t share : batch_shares(inputs.batch, inputs.scaling, gpus)) {
    std::shared_ptr<const TrainingJob>& known = by_share[share];
    if (!known) {
      TrainingJob job = training_job(inputs, share);
      take_longer(job, slowest);
      const TrainingJob& largest = run.jobs.empty() ? job : *run.jobs.front();
      job.largest_batch = largest.batch;
      // An all-to-all is of equal blocks: those of the largest share.
      for (std::size_t i = 0; i < job.stages.size(); ++i)
        job.stages[i].looked_up_bytes = largest.stages[i].looked_up_bytes;
      known = std::make_shared<const TrainingJob>(std::move(job));
    }
    run.jobs.push_back(known);
  }
  if (inputs.schedule->servers != nullptr) {
    Servers servers = inputs.schedule->servers(*run.jobs.front(), gpus);
    if (servers.each_node)
      servers.count = nodes_of_each(run.platform, gpus, inputs.others.count + 1);
    place_servers(run.platform,
                  {.workers = gpus,
                   .servers = servers.count,
                   .own_nodes = servers.own_hosts,
                   .jobs = inputs.others.count + 1},
                  "--gpus");
    run.platform.uniform_pairs = run.platform.uniform_pairs && servers.count == 0;
    for (int server = 0; server < servers.count; ++server) run.jobs.push_back(run.jobs.front());
  }
  for (size_t rank = 0; rank < run.jobs.size(); ++rank)
    run.nodes.push_back(
        run.platform.devices[static_cast<size_t>(run.platform.endpoints[rank])].node);
  return run;
}

PredictionPoint predict_point(const PredictionInputs& inputs, int gpus, Timeline* timeline,
                              Program* record) {
  PredictionPoint point;
  point.gpus = gpus;
  const std::vector<std::int64_t> shares = batch_shares(inputs.batch, inputs.scaling, gpus);
  point.batch_per_gpu = shares.front();
  for (const std::int64_t share : shares) point.images_per_iteration += share;
  point.slowest_gpu = slowest_gpu(inputs, gpus, inputs.gpu_variation);
  if (shares.back() < 1)
    throw InputError({.source = "--batch",
                      .path = "",
                      .value = std::to_string(inputs.batch),
                      .constraint = fmt::format("must be >= {}: an image for every GPU", gpus)});
  if (gpus > 1 && inputs.network.tables().values > 0 && !inputs.schedule->exchanges_tables)
    refuse("schedule", inputs.schedule->name,
           fmt::format("does not share out the tables of {} over GPUs, as {} does",
                       inputs.network.name, fmt::join(schedules_with_tables(), ", ")));
  point.memory_bytes = inputs.memory_at(point.batch_per_gpu, gpus).value;
  point.fits = point.memory_bytes <= inputs.platform.gpu_models.front().memory.value;
  if (!point.fits) return point;

  WholeSimulation all{.option = "--gpus",
                      .ranks = std::int64_t{gpus} * (inputs.others.count + 1),
                      .rank_bytes = kTrainingRankBytes,
                      .why = why_workers_differ(*inputs.schedule)};
  // Before places are found for as many servers.
  if (!all.why.empty()) check_size(all, inputs.limits);
  const TrainingRun run = training_run(inputs, gpus);
  std::vector<std::int64_t> images = shares;
  images.resize(run.jobs.size());  // servers read nothing
  point.servers = static_cast<int>(run.jobs.size()) - gpus;
  all.ranks = static_cast<std::int64_t>(run.jobs.size()) * (inputs.others.count + 1);
  all.why = inputs.whole                               ? kAskedForWhole
            : timeline != nullptr || record != nullptr ? "what each does is written down"
                                                       : why_not_lockstep(inputs, run);
  std::optional<Lockstep> found;
  if (gpus > kWholeWorkersMax && all.why.empty()) {
    if (inputs.noise.varies()) {
      all.why = "kernels vary";
      check_size(all, inputs.limits);
    }
    found = simulate_lockstep(inputs, run, why_too_large(all, inputs.limits).empty());
  }
  TrainingOutcome outcome;
  if (found) {
    outcome = std::move(found->outcome);
    point.simulated_ranks = found->ranks;
    point.simulated_workers = found->workers;
    point.folded_error = found->error;
  } else {
    check_size(all, inputs.limits);
    SessionOptions options{.workers = gpus,
                           .choices = inputs.choices,
                           .solver = SharingSolver::kLazy,
                           .timeline = timeline,
                           .noise = inputs.noise,
                           .message_noise = inputs.message_noise,
                           .data = &inputs.data,
                           .images_per_rank = images,
                           .batches = inputs.iterations};
    outcome = inputs.others.count > 0
                  ? simulate_beside(run.platform, inputs.stack, *inputs.schedule, run.jobs,
                                    inputs.others, std::move(options))
                  : simulate_training(run.platform, inputs.stack, *inputs.schedule, run.jobs,
                                      std::move(options), record);
  }
  point.iteration_s = outcome.iteration_s;
  point.images_per_s = static_cast<double>(point.images_per_iteration) / point.iteration_s;
  const Attribution& root = outcome.attributions.front();
  point.root_s = by_name(root.phase_s, root.idle_s);
  point.mean_s = mean_by_name({outcome.attributions.begin(), outcome.attributions.begin() + gpus});
  point.compute_s = time_of(point.root_s, TimeKind::kCompute);
  point.io_s = time_of(point.root_s, TimeKind::kInput);
  point.exposed_communication_s = time_of(point.root_s, TimeKind::kCommunication);
  point.waiting_s = time_of(point.root_s, TimeKind::kWaiting);
  if (timeline != nullptr) timeline->keep_from(outcome.simulated_s - outcome.iteration_s);
  point.busiest = outcome.busiest.name;
  point.busiest_share = outcome.busiest.busy_s / outcome.finished_s;
  point.is_steady = outcome.is_steady;
  point.messages = outcome.messages;
  point.beyond_measured = inputs.stack.beyond_measured(outcome.sizes);
  point.bytes_sent = outcome.bytes_sent;
  point.payload_bytes = (outcome.bytes_sent - outcome.control_bytes) / inputs.iterations;
  const Bound bound = inputs.message_noise.varies() ? Bound{.reason = "none, as messages vary"}
                                                    : iteration_bound(inputs, run);
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
    const bool is_server = platform.has_gpus() && device.kind != DeviceKind::kGpu;
    places.push_back({.node = device.node,
                      .node_name = fmt::format("node{}", device.node),
                      .rank_name = fmt::format("{}rank {} ({})", is_server ? "server, " : "", rank,
                                               device.name)});
  }
  return places;
}

}  // namespace forescale
