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
    if (settings_.wait_free) worker.set(clocked_[static_cast<size_t>(clock)]);
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

// A thread a layer, and one for the factors that it broadcasts; with staleness one more, as the
// next push may leave before the last pull is there.
void PoseidonClient::start_threads(Worker& worker) {
  for (int clock = 0; clock < job_.iterations; ++clock) {
    clocked_.push_back(worker.make_signal());
    layers_encoded_.push_back(0);
    gradients_ready_.emplace_back();
    factors_there_.emplace_back();
    parameters_there_.emplace_back();
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      gradients_ready_.back().push_back(worker.make_signal());
      factors_there_.back().push_back(worker.make_signal());
      parameters_there_.back().push_back(worker.make_signal());
    }
  }
  const bool together = settings_.staleness == 0;
  for (size_t layer = layers_.size(); layer-- > 0;) {
    threads_.push_back(worker.spawn([this, layer, together](Worker& thread) {
      for (size_t clock = 0; clock < gradients_ready_.size(); ++clock) {
        thread.wait(gradients_ready_[clock][layer]);
        std::vector<Request> parameters;
        if (together) parameters = expect(thread, layer);
        push(thread, clock, layer);
        if (together) pull(thread, clock, layer, parameters);
      }
    }));
    if (!together)
      threads_.push_back(worker.spawn([this, layer](Worker& thread) {
        for (size_t clock = 0; clock < gradients_ready_.size(); ++clock) {
          thread.wait(gradients_ready_[clock][layer]);
          pull(thread, clock, layer, expect(thread, layer));
        }
      }));
    if (layers_[layer].path != FactorPath::kBroadcast) continue;
    threads_.push_back(worker.spawn([this, layer](Worker& thread) {
      for (size_t clock = 0; clock < gradients_ready_.size(); ++clock) {
        thread.wait(gradients_ready_[clock][layer]);
        exchange_factors(thread, layer);
        thread.set(factors_there_[clock][layer]);
      }
    }));
  }
}

// Algorithm 3, lines 1 to 3 and 12: to the servers what the plan says, full gradients or factors.
void PoseidonClient::push(Worker& thread, size_t clock, size_t layer) {
  const LayerPlan& plan = layers_[layer];
  std::vector<Request> sent;
  if (plan.path == FactorPath::kBroadcast) {
    copy(thread, layer, plan.dense_bytes, true);
  } else {
    update(thread, layer, 1, 0);
    copy(thread, layer, plan.dense_bytes + plan.factor_bytes, true);
    if (plan.factor_bytes > 0 && !speaks()) send_factors(thread, layer, {members_.front()}, sent);
  }
  if (members_.size() > 1 && plan.dense_bytes > 0)
    thread.run(gather_at_client(job_, plan, layer, members_));
  if (speaks()) push_to_servers(thread, clock, layer, sent);
  for (const Request& message : sent) thread.wait(message);
}

// Lines 7 and 8: factors to every other client, beginning with the next, so that not all send to
// the same; then those of all peers, parsed.
void PoseidonClient::exchange_factors(Worker& thread, size_t layer) {
  const LayerPlan& plan = layers_[layer];
  const HostCosts& host = job_.host;
  const size_t clients = topology_.clients.size();
  std::vector<Request> arriving;
  for (int step = 1; step < topology_.workers && speaks(); ++step)
    arriving.push_back(thread.receive(
        message((rank_ + topology_.workers - step) % topology_.workers, plan.factor_bytes,
                factor_tag(layer), Phase::kPropagation, "factors", layer)));
  copy(thread, layer, plan.factor_bytes, true);
  std::vector<int> peers;
  for (size_t step = 1; step <= clients; ++step) {
    const int peer = topology_.clients[(client_ + step) % clients].front();
    if (peer != rank_) peers.push_back(peer);
  }
  std::vector<Request> sent;
  send_factors(thread, layer, peers, sent);
  const double parse_s =
      host.request_s + static_cast<double>(plan.factor_bytes) * host.decode_s_per_byte;
  for (const Request& factors : arriving) {
    thread.wait(factors);
    factor_work(thread, parse_s, 2, Phase::kPropagation, "decode", layer);
  }
  for (const Request& message : sent) thread.wait(message);
}

// Value by value into one message, which is copied for every peer.
void PoseidonClient::send_factors(Worker& thread, size_t layer, const std::vector<int>& peers,
                                  std::vector<Request>& sent) {
  const HostCosts& host = job_.host;
  const auto bytes = static_cast<double>(layers_[layer].factor_bytes);
  const auto copies = static_cast<double>(peers.size());
  if (peers.empty()) return;
  factor_work(
      thread,
      bytes * host.encode_s_per_byte + copies * (host.request_s + bytes * host.copy_s_per_byte),
      2 + 2 * static_cast<int>(peers.size()), Phase::kAggregation, "encode", layer);
  for (const int peer : peers)
    send(thread,
         message(peer, layers_[layer].factor_bytes, factor_tag(layer), Phase::kAggregation,
                 "factors", layer),
         layer, sent);
}

void PoseidonClient::factor_work(Worker& thread, double duration_s, int memory_passes, Phase phase,
                                 const char* what, size_t layer) {
  if (duration_s <= 0) return;
  factor_thread_.enter(thread, 0);
  work(thread, duration_s, layers_[layer].factor_bytes, memory_passes, phase, what, layer);
  factor_thread_.leave(thread);
}

void PoseidonClient::push_to_servers(Worker& thread, size_t clock, size_t layer,
                                     std::vector<Request>& sent) {
  const LayerPlan& plan = layers_[layer];
  if (plan.path == FactorPath::kToServer)
    for (const int member : members_)
      if (member != rank_)
        thread.wait(thread.receive(message(member, plan.factor_bytes, factor_tag(layer),
                                           Phase::kAggregation, "factors", layer)));
  const auto members = static_cast<std::int64_t>(members_.size());
  const auto bytes_to = [&](const ServerShare& share) {
    return share.dense_bytes + members * share.factor_bytes;
  };
  std::int64_t encoded = 0;
  for (size_t step = 0; step < plan.shares.size(); ++step) {
    const ServerShare& share = plan.shares[(client_ + step) % plan.shares.size()];
    if (settings_.at_clock) {
      encoded += bytes_to(share);
      continue;
    }
    row_work(thread, job_.host.encode_s_per_byte, bytes_to(share), Phase::kAggregation, "encode",
             layer);
    send_to_server(thread, share, bytes_to(share), layer, sent);
  }
  if (!settings_.at_clock) return;
  row_work(thread, job_.host.encode_s_per_byte, encoded, Phase::kAggregation, "encode", layer);
  // Without DWBP the main thread has encoded all layers when it ends the clock.
  if (!settings_.wait_free && ++layers_encoded_[clock] == layers_.size())
    thread.set(clocked_[clock]);
  thread.wait(clocked_[clock]);
  for (size_t step = 0; step < plan.shares.size(); ++step) {
    const ServerShare& share = plan.shares[(client_ + step) % plan.shares.size()];
    send_to_server(thread, share, bytes_to(share), layer, sent);
  }
}

void PoseidonClient::send_to_server(Worker& thread, const ServerShare& share, std::int64_t bytes,
                                    size_t layer, std::vector<Request>& sent) {
  send(thread,
       message(server_rank(share.server), bytes, dense_tag(layer), Phase::kAggregation, "gradients",
               layer),
       layer, sent);
}

void PoseidonClient::row_work(Worker& thread, double s_per_byte, std::int64_t bytes, Phase phase,
                              const char* what, size_t layer) {
  const double duration_s = job_.host.request_s + static_cast<double>(bytes) * s_per_byte;
  if (duration_s <= 0) return;
  if (!settings_.wait_free) main_thread_.enter(thread, 0);
  work(thread, duration_s, bytes, 2, phase, what, layer);
  if (!settings_.wait_free) main_thread_.leave(thread);
}

// Algorithm 3, lines 3 and 13: what the servers send of the layer's new parameters.
std::vector<Request> PoseidonClient::expect(Worker& thread, size_t layer) const {
  std::vector<Request> parameters;
  if (!speaks()) return parameters;
  for (const ServerShare& share : layers_[layer].shares)
    parameters.push_back(
        thread.receive(message(server_rank(share.server), share.pull_bytes, dense_tag(layer),
                               Phase::kPropagation, "parameters", layer)));
  return parameters;
}

// Lines 3, 9 and 13: parameters replace the old ones; factors are multiplied and added.
void PoseidonClient::pull(Worker& thread, size_t clock, size_t layer,
                          const std::vector<Request>& parameters) {
  const LayerPlan& plan = layers_[layer];
  const bool has_factors = plan.path == FactorPath::kBroadcast;
  int peers = has_factors ? topology_.workers - 1 : 0;
  if (has_factors && settings_.waits_for_factors)
    thread.wait(factors_there_[clock][layer]);
  else if (has_factors && clock > 0)
    thread.wait(factors_there_[clock - 1][layer]);
  else
    peers = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    thread.wait(parameters[i]);
    row_work(thread, job_.host.decode_s_per_byte, plan.shares[i].pull_bytes, Phase::kPropagation,
             "decode", layer);
  }
  if (members_.size() > 1) thread.run(spread_from_client(job_, plan, layer, topology_, members_));
  copy(thread, layer, plan.pull_bytes + peers * plan.factor_bytes, false);
  if (has_factors) {
    const double flops = plan.reconstruction_flops * (peers + 1) / topology_.workers;
    update(thread, layer, peers + 1, job_.gpu_flops > 0 ? flops / job_.gpu_flops : 0);
  }
  thread.set(parameters_there_[clock][layer]);
}

void PoseidonClient::copy(Worker& thread, size_t layer, std::int64_t bytes, bool to_host) const {
  if (!job_.host.stages_through_host || bytes == 0) return;
  thread.run(HostCopy{.bytes = bytes,
                      .to_host = to_host,
                      .phase = to_host ? Phase::kAggregation : Phase::kPropagation,
                      .label = (to_host ? "to host " : "to GPU ") + stage(layer).name});
}

// The update values of the layer (momentum, decay) on the GPU, with its reconstruction if any: one
// for each worker whose factors are applied.
void PoseidonClient::update(Worker& thread, size_t layer, int updates,
                            double reconstruction_s) const {
  const double duration_s = reconstruction_s + updates * stage(layer).update_s;
  if (duration_s > 0)
    thread.run(Kernel{.stream = kUpdateStream,
                      .duration_s = duration_s,
                      .phase = Phase::kUpdate,
                      .label = "update " + stage(layer).name});
}

}  // namespace forescale
