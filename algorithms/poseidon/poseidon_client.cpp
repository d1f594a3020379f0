// Poseidon's workers: Algorithm 1 (main thread), Algorithm 2 (when a layer is sent), Algorithm 3
// (how).
#include <algorithm>

#include "algorithms/poseidon/poseidon.hpp"
#include "algorithms/steps/training_steps.hpp"

namespace forescale {
namespace {

// Updates and reconstructions run beside the main thread's kernels.
constexpr int kUpdateStream = 1;

}  // namespace

void run_poseidon(Worker& worker, const TrainingJob& job, const PoseidonSettings& settings) {
  if (worker.rank() < worker.worker_count())
    PoseidonClient(worker, job, settings).run(worker);
  else
    PoseidonServer(worker, job, settings).run(worker);
}

PoseidonClient::PoseidonClient(const Worker& worker, const TrainingJob& job,
                               const PoseidonSettings& settings)
    : PoseidonRank(worker, job, settings),
      rank_(worker.rank()),
      client_(topology_.client_of(rank_)),
      members_(topology_.clients[client_]) {}

void PoseidonClient::run(Worker& worker) {
  start_threads(worker);
  for (int clock = 0; clock < job_.iterations; ++clock) {
    take_batch(worker);
    for (size_t i = 0; i < job_.stages.size(); ++i) {
      if (settings_.join_by_layer)
        wait_for_layer(worker, clock - 1 - settings_.staleness, static_cast<int>(i));
      worker.run(forward(job_.stages[i]));
    }
    size_t layer = layers_.size();
    for (size_t i = job_.stages.size(); i-- > 0;) {
      worker.run(backward(job_.stages[i]));
      const bool has_parameters = layer > 0 && layers_[layer - 1].stage == static_cast<int>(i);
      if (!has_parameters) continue;
      --layer;
      // Algorithm 2, line 11: the layer leaves while those below it still compute.
      if (settings_.wait_free) worker.set(gradients_ready_[static_cast<size_t>(clock)][layer]);
    }
    if (!settings_.wait_free)
      for (layer = layers_.size(); layer-- > 0;)
        worker.set(gradients_ready_[static_cast<size_t>(clock)][layer]);
    // The newest parameters that the next iteration must have seen.
    if (!settings_.join_by_layer)
      for (const LayerPlan& plan : layers_)
        wait_for_layer(worker, clock - settings_.staleness, plan.stage);
    worker.end_iteration();
  }
  for (const Request& thread : threads_) worker.wait(thread);
}

void PoseidonClient::wait_for_layer(Worker& worker, int clock, int stage) {
  if (clock < 0) return;
  for (size_t layer = 0; layer < layers_.size(); ++layer)
    if (layers_[layer].stage == stage)
      worker.wait(parameters_there_[static_cast<size_t>(clock)][layer]);
}

// A thread a layer; with staleness two, as the next push may leave before the last pull is there.
void PoseidonClient::start_threads(Worker& worker) {
  for (int clock = 0; clock < job_.iterations; ++clock) {
    gradients_ready_.emplace_back();
    parameters_there_.emplace_back();
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      gradients_ready_.back().push_back(worker.make_signal());
      parameters_there_.back().push_back(worker.make_signal());
    }
  }
  const bool together = settings_.staleness == 0;
  for (size_t layer = layers_.size(); layer-- > 0;) {
    threads_.push_back(worker.spawn([this, layer, together](Worker& thread) {
      for (size_t clock = 0; clock < gradients_ready_.size(); ++clock) {
        thread.wait(gradients_ready_[clock][layer]);
        Arrivals arrivals;
        if (together) arrivals = expect(thread, layer);
        push(thread, layer);
        if (!together) continue;
        pull(thread, layer, arrivals);
        thread.set(parameters_there_[clock][layer]);
      }
    }));
    if (together) continue;
    threads_.push_back(worker.spawn([this, layer](Worker& thread) {
      for (size_t clock = 0; clock < gradients_ready_.size(); ++clock) {
        thread.wait(gradients_ready_[clock][layer]);
        pull(thread, layer, expect(thread, layer));
        thread.set(parameters_there_[clock][layer]);
      }
    }));
  }
}

// Algorithm 3, lines 1 to 3, 7 and 12: by path, factors to the peers, and to the servers what the
// plan says: full gradients, or factors.
void PoseidonClient::push(Worker& thread, size_t layer) {
  const LayerPlan& plan = layers_[layer];
  if (plan.path != FactorPath::kBroadcast) update(thread, layer, 0);
  copy(thread, layer, plan.dense_bytes + plan.factor_bytes, true);
  std::vector<Request> sent;
  if (plan.factor_bytes > 0) push_factors(thread, layer, sent);
  if (members_.size() > 1 && plan.dense_bytes > 0)
    thread.run(gather_at_client(job_, plan, layer, members_));
  if (speaks()) push_to_servers(thread, layer, sent);
  for (const Request& message : sent) thread.wait(message);
}

// To every other client, or to the own one that passes them on to the server; beginning with the
// next, so that not all send to the same.
void PoseidonClient::push_factors(Worker& thread, size_t layer, std::vector<Request>& sent) {
  const LayerPlan& plan = layers_[layer];
  const size_t clients = topology_.clients.size();
  for (size_t step = 1; step <= clients; ++step) {
    const size_t client = (client_ + step) % clients;
    const int peer = topology_.clients[client].front();
    const bool goes = plan.path == FactorPath::kBroadcast || client == client_;
    if (goes && peer != rank_)
      send(thread,
           message(peer, plan.factor_bytes, factor_tag(layer), Phase::kAggregation, "factors",
                   layer),
           layer, sent);
  }
}

void PoseidonClient::push_to_servers(Worker& thread, size_t layer, std::vector<Request>& sent) {
  const LayerPlan& plan = layers_[layer];
  if (plan.path == FactorPath::kToServer)
    for (const int member : members_)
      if (member != rank_)
        thread.wait(thread.receive(message(member, plan.factor_bytes, factor_tag(layer),
                                           Phase::kAggregation, "factors", layer)));
  const auto members = static_cast<std::int64_t>(members_.size());
  for (size_t step = 0; step < plan.shares.size(); ++step) {
    const ServerShare& share = plan.shares[(client_ + step) % plan.shares.size()];
    const std::int64_t bytes = share.dense_bytes + members * share.factor_bytes;
    work(thread, job_.host.request_s + static_cast<double>(bytes) * job_.host.encode_s_per_byte,
         bytes, 2, Phase::kAggregation, "encode", layer);
    send(thread,
         message(server_rank(share.server), bytes, dense_tag(layer), Phase::kAggregation,
                 "gradients", layer),
         layer, sent);
  }
}

// Algorithm 3, lines 3, 8 and 13: all that the layer's new parameters are made of.
PoseidonClient::Arrivals PoseidonClient::expect(Worker& thread, size_t layer) const {
  const LayerPlan& plan = layers_[layer];
  Arrivals arrivals;
  if (!speaks()) return arrivals;
  if (plan.path == FactorPath::kBroadcast)
    for (int step = 1; step < topology_.workers; ++step)
      arrivals.factors.push_back(thread.receive(
          message((rank_ + topology_.workers - step) % topology_.workers, plan.factor_bytes,
                  factor_tag(layer), Phase::kPropagation, "factors", layer)));
  for (const ServerShare& share : plan.shares)
    arrivals.parameters.push_back(
        thread.receive(message(server_rank(share.server), share.pull_bytes, dense_tag(layer),
                               Phase::kPropagation, "parameters", layer)));
  return arrivals;
}

// Lines 3, 9 and 13: parameters replace the old ones; factors are multiplied and added.
void PoseidonClient::pull(Worker& thread, size_t layer, const Arrivals& arrivals) {
  const LayerPlan& plan = layers_[layer];
  for (const Request& factors : arrivals.factors) thread.wait(factors);
  for (size_t i = 0; i < arrivals.parameters.size(); ++i) {
    thread.wait(arrivals.parameters[i]);
    const std::int64_t bytes = plan.shares[i].pull_bytes;
    work(thread, job_.host.request_s + static_cast<double>(bytes) * job_.host.decode_s_per_byte,
         bytes, 2, Phase::kPropagation, "decode", layer);
  }
  if (members_.size() > 1) thread.run(spread_from_client(job_, plan, layer, topology_, members_));
  const std::int64_t factors =
      plan.path == FactorPath::kBroadcast ? (topology_.workers - 1) * plan.factor_bytes : 0;
  copy(thread, layer, plan.pull_bytes + factors, false);
  if (plan.path == FactorPath::kBroadcast)
    update(thread, layer, job_.gpu_flops > 0 ? plan.reconstruction_flops / job_.gpu_flops : 0);
}

void PoseidonClient::copy(Worker& thread, size_t layer, std::int64_t bytes, bool to_host) const {
  if (!job_.host.stages_through_host || bytes == 0) return;
  thread.run(HostCopy{.bytes = bytes,
                      .to_host = to_host,
                      .phase = to_host ? Phase::kAggregation : Phase::kPropagation,
                      .label = (to_host ? "to host " : "to GPU ") + stage(layer).name});
}

// The update value of the layer (momentum, decay) on the GPU, after its reconstruction if any.
void PoseidonClient::update(Worker& thread, size_t layer, double reconstruction_s) const {
  const double duration_s = reconstruction_s + stage(layer).update_s;
  if (duration_s > 0)
    thread.run(Kernel{.stream = kUpdateStream,
                      .duration_s = duration_s,
                      .phase = Phase::kUpdate,
                      .label = "update " + stage(layer).name});
}

}  // namespace forescale
