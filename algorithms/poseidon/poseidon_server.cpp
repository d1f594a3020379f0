// A shard of Poseidon's parameter server, and what it shares with the workers.
#include <algorithm>
#include <deque>

#include "algorithms/poseidon/poseidon.hpp"
#include "base/seeded_random.hpp"

namespace forescale {
namespace {

std::vector<int> nodes_of(const Worker& worker) {
  std::vector<int> nodes;
  for (int rank = 0; rank < worker.rank_count(); ++rank) nodes.push_back(worker.node(rank));
  return nodes;
}

}  // namespace

PoseidonRank::PoseidonRank(const Worker& worker, const TrainingJob& job,
                           const PoseidonSettings& settings)
    : job_(job),
      settings_(settings),
      topology_(poseidon_topology(nodes_of(worker), worker.worker_count(), settings)),
      layers_(plan_layers(job, topology_, settings)),
      rank_(static_cast<std::uint64_t>(worker.rank())) {}

double PoseidonRank::urgency(size_t layer) {
  switch (settings_.order) {
    case SendOrder::kLayer:
      return static_cast<double>(layer);
    case SendOrder::kArrival:
      return 0;
    case SendOrder::kMagnitude:
      return static_cast<double>(mixed((rank_ << 40) ^ sent_) >> 11);
  }
  return 0;
}

void PoseidonRank::send(Worker& thread, const MessageStep& step, size_t layer,
                        std::vector<Request>& sent) {
  ++sent_;
  if (settings_.budget_bytes_per_s <= 0) {
    sent.push_back(thread.send(step));
    return;
  }
  bandwidth_manager_.enter(thread, urgency(layer));
  const Request message = thread.send(step);
  thread.wait(thread.timer(static_cast<double>(step.bytes) / settings_.budget_bytes_per_s));
  thread.wait(message);
  bandwidth_manager_.leave(thread);
}

MessageStep PoseidonRank::message(int peer, std::int64_t bytes, int tag, Phase phase,
                                  const std::string& what, size_t layer) const {
  return {.peer = peer,
          .bytes = bytes,
          .tag = tag,
          .phase = phase,
          .label = what + " " + stage(layer).name,
          .on_host = job_.host.stages_through_host};
}

void PoseidonRank::work(Worker& thread, double duration_s, std::int64_t bytes, int memory_passes,
                        Phase phase, const std::string& what, size_t layer) const {
  if (duration_s <= 0) return;
  // Small pieces of work leave memory bandwidth alone: they are many, and each is a flow.
  constexpr std::int64_t kMemoryWorkBytes = 1 << 20;
  const std::int64_t memory_bytes = bytes < kMemoryWorkBytes ? 0 : memory_passes * bytes;
  thread.run(HostWork{.duration_s = duration_s,
                      .memory_bytes = static_cast<double>(memory_bytes),
                      .phase = phase,
                      .label = what + " " + stage(layer).name});
}

PoseidonServer::PoseidonServer(const Worker& worker, const TrainingJob& job,
                               const PoseidonSettings& settings)
    : PoseidonRank(worker, job, settings), server_(worker.rank() - worker.worker_count()) {}

void PoseidonServer::run(Worker& worker) {
  std::vector<Request> threads;
  for (size_t layer = layers_.size(); layer-- > 0;)
    for (const ServerShare& share : layers_[layer].shares)
      if (share.server == server_)
        threads.push_back(
            worker.spawn([this, layer, &share](Worker& thread) { serve(thread, layer, share); }));
  for (const Request& thread : threads) worker.wait(thread);
}

// Clock by clock: adds every client's gradients as they come, then sends the new parameters to all.
// Layers take turns; the channels of the server work on a layer's rows side by side.
void PoseidonServer::serve(Worker& thread, size_t layer, const ServerShare& share) {
  const HostCosts& host = job_.host;
  const auto on_cpu = [&](double duration_s, std::int64_t bytes, int passes, Phase phase,
                          const std::string& what) {
    if (duration_s <= 0) return;
    cpu_.enter(thread, 0);
    work(thread, duration_s, bytes, passes, phase, what, layer);
    cpu_.leave(thread);
  };
  const auto expect = [&] {
    std::vector<Request> pushes;
    for (const std::vector<int>& members : topology_.clients)
      pushes.push_back(thread.receive(message(
          members.front(),
          share.dense_bytes + static_cast<std::int64_t>(members.size()) * share.factor_bytes,
          dense_tag(layer), Phase::kAggregation, "gradients", layer)));
    return pushes;
  };
  // A client may be this many clocks ahead of the slowest.
  std::deque<std::vector<Request>> expected;
  for (int ahead = 0; ahead <= std::min(settings_.staleness, job_.iterations - 1); ++ahead)
    expected.push_back(expect());
  std::vector<Request> sent;
  for (int clock = 0; clock < job_.iterations; ++clock) {
    for (size_t client = 0; client < topology_.clients.size(); ++client) {
      thread.wait(expected.front()[client]);
      const auto workers = static_cast<double>(topology_.clients[client].size());
      const std::int64_t added = share.product_flops > 0 ? share.pull_bytes : share.dense_bytes;
      double add_s =
          host.request_s + static_cast<double>(added) * host.add_s_per_byte / share.channels;
      if (share.product_flops > 0 && settings_.server_flops > 0)
        add_s += workers * share.product_flops / settings_.server_flops;
      on_cpu(add_s, added, 3, Phase::kAggregation, "add");
    }
    expected.pop_front();
    if (clock + settings_.staleness + 1 < job_.iterations) expected.push_back(expect());
    for (const std::vector<int>& members : topology_.clients) {
      // Copied into a client's message.
      on_cpu(host.request_s +
                 static_cast<double>(share.pull_bytes) * host.copy_s_per_byte / share.channels,
             share.pull_bytes, 2, Phase::kPropagation, "copy");
      send(thread,
           message(members.front(), share.pull_bytes, dense_tag(layer), Phase::kPropagation,
                   "parameters", layer),
           layer, sent);
    }
  }
  for (const Request& message : sent) thread.wait(message);
}

}  // namespace forescale
