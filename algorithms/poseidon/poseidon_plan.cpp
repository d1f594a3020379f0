#include "algorithms/poseidon/poseidon_plan.hpp"

#include <algorithm>
#include <map>

#include "algorithms/tensors.hpp"

namespace forescale {
namespace {

// The path of one layer; FactorPath::kMatrices unless it is fully connected.
FactorPath path_of(const TrainingStage& stage, const FactorCase& layer,
                   const PoseidonSettings& settings) {
  if (stage.matrix_rows == 0) return FactorPath::kMatrices;
  switch (settings.fully_connected) {
    case FullyConnected::kAuto:
      return choose_factor_path(layer);
    case FullyConnected::kFactors:
      return FactorPath::kBroadcast;
    case FullyConnected::kFactorsToServer:
      return FactorPath::kToServer;
    case FullyConnected::kMatrices:
      return FactorPath::kMatrices;
  }
  return FactorPath::kMatrices;
}

ServerShare& share_of(LayerPlan& plan, int server) {
  for (ServerShare& share : plan.shares)
    if (share.server == server) return share;
  plan.shares.push_back({.server = server});
  return plan.shares.back();
}

// A tensor's rows over the servers; the last ones may be short or empty.
void add_tensor(LayerPlan& plan, const Tensor& tensor, int servers,
                const PoseidonSettings& settings) {
  const std::int64_t row_bytes =
      (tensor.bytes / tensor.value_bytes + settings.rows - 1) / settings.rows * tensor.value_bytes;
  std::int64_t left = tensor.bytes;
  for (int row = 0; left > 0; ++row) {
    const std::int64_t bytes = std::min(row_bytes, left);
    ServerShare& share = share_of(plan, row / settings.comm_channels % servers);
    share.dense_bytes += bytes;
    share.pull_bytes += bytes;
    share.channels = std::max(share.channels, row % settings.comm_channels + 1);
    left -= bytes;
  }
  plan.dense_bytes += tensor.bytes;
}

// Tensors of a stage: weights first.
std::vector<std::int64_t> stage_tensors(const TrainingStage& stage, std::int64_t value_bytes) {
  if (!stage.tensor_bytes.empty()) return stage.tensor_bytes;
  const std::int64_t weights = stage.matrix_rows * stage.matrix_columns * value_bytes;
  if (weights == 0 || weights >= stage.parameter_bytes) return {stage.parameter_bytes};
  return {weights, stage.parameter_bytes - weights};
}

RankGroup group_of(const std::vector<int>& members) {
  return std::make_shared<const std::vector<int>>(members);
}

}  // namespace

size_t PoseidonTopology::client_of(int worker) const {
  for (size_t client = 0; client < clients.size(); ++client)
    if (std::count(clients[client].begin(), clients[client].end(), worker) > 0) return client;
  return 0;
}

PoseidonTopology poseidon_topology(const std::vector<int>& nodes, int workers,
                                   const PoseidonSettings& settings) {
  PoseidonTopology topology{
      .clients = {}, .workers = workers, .servers = static_cast<int>(nodes.size()) - workers};
  std::map<int, size_t> client_of_node;
  for (int worker = 0; worker < workers; ++worker) {
    const auto [entry, fresh] =
        client_of_node.try_emplace(nodes[static_cast<size_t>(worker)], topology.clients.size());
    if (fresh || !settings.three_level)
      topology.clients.push_back({worker});
    else
      topology.clients[entry->second].push_back(worker);
  }
  return topology;
}

std::vector<LayerPlan> plan_layers(const TrainingJob& job, const PoseidonTopology& topology,
                                   const PoseidonSettings& settings) {
  const std::int64_t batch = std::max(job.batch, job.largest_batch);
  const auto members = static_cast<std::int64_t>(topology.clients.front().size());
  std::vector<LayerPlan> plans;
  int factored = 0;
  for (size_t i = 0; i < job.stages.size(); ++i) {
    const TrainingStage& stage = job.stages[i];
    if (stage.parameter_bytes == 0) continue;
    // To the servers and peers, a client is one worker with all its images.
    const FactorCase layer{.rows = stage.matrix_rows,
                           .columns = stage.matrix_columns,
                           .batch = batch * members,
                           .workers = static_cast<int>(topology.clients.size())};
    LayerPlan plan;
    plan.stage = static_cast<int>(i);
    plan.path = path_of(stage, layer, settings);
    std::vector<std::int64_t> tensors = stage_tensors(stage, job.value_bytes);
    if (plan.path != FactorPath::kMatrices) {
      // The weights leave as factors; the bias, a vector, takes the way of the matrices.
      tensors.erase(tensors.begin());
      const FactorCase own{.rows = stage.matrix_rows,
                           .columns = stage.matrix_columns,
                           .batch = batch,
                           .workers = topology.workers};
      plan.factor_bytes = batch * (own.rows + own.columns) * job.value_bytes;
      if (plan.path == FactorPath::kBroadcast) {
        plan.reconstruction_flops = reconstruction_flops(own);
      } else {
        ServerShare& share = share_of(plan, factored++ % topology.servers);
        share.factor_bytes = plan.factor_bytes;
        share.pull_bytes = own.rows * own.columns * job.value_bytes;
        share.product_flops = reconstruction_flops(own) / own.workers;
      }
    }
    for (const std::int64_t bytes : tensors)
      add_tensor(plan, {.stage = i, .bytes = bytes, .value_bytes = job.value_bytes},
                 topology.servers, settings);
    for (const ServerShare& share : plan.shares) plan.pull_bytes += share.pull_bytes;
    plans.push_back(std::move(plan));
  }
  return plans;
}

CollectiveStep gather_at_client(const TrainingJob& job, const LayerPlan& layer, size_t index,
                                const std::vector<int>& members) {
  return {.op = CollectiveOp::kReduce,
          .bytes = layer.dense_bytes,
          .root = 0,
          .communicator = static_cast<int>(2 * index),
          .phase = Phase::kAggregation,
          .label = "node adds " + job.stages[static_cast<size_t>(layer.stage)].name,
          .group = group_of(members),
          .on_host = job.host.stages_through_host};
}

CollectiveStep spread_from_client(const TrainingJob& job, const LayerPlan& layer, size_t index,
                                  const PoseidonTopology& topology,
                                  const std::vector<int>& members) {
  const std::int64_t factors =
      layer.path == FactorPath::kBroadcast ? topology.workers * layer.factor_bytes : 0;
  return {.op = CollectiveOp::kBroadcast,
          .bytes = layer.pull_bytes + factors,
          .root = 0,
          .communicator = static_cast<int>(2 * index + 1),
          .phase = Phase::kPropagation,
          .label = "node spreads " + job.stages[static_cast<size_t>(layer.stage)].name,
          .group = group_of(members),
          .on_host = job.host.stages_through_host};
}

Traffic poseidon_traffic(const TrainingJob& job, int workers, const std::vector<int>& nodes,
                         const PoseidonSettings& settings) {
  const PoseidonTopology topology = poseidon_topology(nodes, workers, settings);
  const std::vector<LayerPlan> layers = plan_layers(job, topology, settings);
  Traffic traffic;
  const auto add = [&](int from, int to, std::int64_t bytes) {
    traffic.messages[{from, to}] += static_cast<double>(bytes);
  };
  for (size_t index = 0; index < layers.size(); ++index) {
    const LayerPlan& layer = layers[index];
    for (const std::vector<int>& members : topology.clients) {
      const int client = members.front();
      for (const ServerShare& share : layer.shares) {
        const auto factors = static_cast<std::int64_t>(members.size()) * share.factor_bytes;
        add(client, workers + share.server, share.dense_bytes + factors);
        add(workers + share.server, client, share.pull_bytes);
      }
      // Factors of all workers to this client: every peer's, or those of its own workers only.
      for (int worker = 0; worker < workers && layer.factor_bytes > 0; ++worker) {
        const bool own = std::count(members.begin(), members.end(), worker) > 0;
        if (worker != client && (own || layer.path == FactorPath::kBroadcast))
          add(worker, client, layer.factor_bytes);
      }
      if (members.size() < 2) continue;
      if (layer.dense_bytes > 0)
        traffic.collectives.push_back(gather_at_client(job, layer, index, members));
      traffic.collectives.push_back(spread_from_client(job, layer, index, topology, members));
    }
  }
  return traffic;
}

}  // namespace forescale
