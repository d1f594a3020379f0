#include "algorithms/parameter_servers/server_steps.hpp"

#include <algorithm>

namespace forescale {
namespace {

// Smaller tensors stay in the processor's cache: they load no memory.
constexpr std::int64_t kCachedBytes = 1 << 20;
// Copies of smaller ones cost their calls alone. They are most of a network's tensors and a
// hundredth of its bytes.
constexpr std::int64_t kSmallCopyBytes = 65536;

double memory_traffic(double passes, double s_per_byte, std::int64_t bytes) {
  return s_per_byte > 0 && bytes > kCachedBytes ? passes * static_cast<double>(bytes) : 0;
}

HostWork message_work(const HostCosts& host, double s_per_byte, std::int64_t bytes, Phase phase) {
  const auto payload = static_cast<double>(bytes);
  // A copy reads and writes every byte.
  return {.duration_s = host.request_s + s_per_byte * payload,
          .memory_bytes = memory_traffic(2, s_per_byte, bytes),
          .phase = phase,
          .label = ""};
}

}  // namespace

std::vector<Tensor> packed_tensor(const TrainingJob& job) {
  return {{.stage = 0, .bytes = job.parameter_bytes(), .value_bytes = job.value_bytes}};
}

void append_stripes(std::vector<Shard>& shards, const std::vector<Tensor>& tensors, size_t tensor,
                    int servers) {
  const auto [stage, bytes, value_bytes] = tensors[tensor];
  const std::int64_t values = bytes / value_bytes;
  for (int server = 0; server < servers; ++server) {
    const std::int64_t begin = values * server / servers;
    const std::int64_t end = values * (server + 1) / servers;
    // What is no whole value goes with the last part.
    const std::int64_t rest = server == servers - 1 ? bytes - values * value_bytes : 0;
    const std::int64_t part = (end - begin) * value_bytes + rest;
    if (part > 0) shards.push_back({.tensor = tensor, .server = server, .bytes = part});
  }
}

std::vector<Shard> shards_of(const std::vector<Tensor>& tensors, Sharding sharding, int servers) {
  std::vector<Shard> shards;
  std::vector<std::int64_t> load(static_cast<size_t>(servers), 0);
  for (size_t i = 0; i < tensors.size(); ++i) {
    switch (sharding) {
      case Sharding::kRoundRobin:
        shards.push_back({.tensor = i,
                          .server = static_cast<int>(i % static_cast<size_t>(servers)),
                          .bytes = tensors[i].bytes});
        break;
      case Sharding::kGreedy: {
        const auto least = std::min_element(load.begin(), load.end());
        *least += tensors[i].bytes;
        shards.push_back({.tensor = i,
                          .server = static_cast<int>(least - load.begin()),
                          .bytes = tensors[i].bytes});
        break;
      }
      case Sharding::kStriped:
        append_stripes(shards, tensors, i, servers);
        break;
    }
  }
  return shards;
}

Traffic shard_traffic(const std::vector<Shard>& shards, int workers) {
  Traffic traffic;
  for (const Shard& shard : shards) {
    for (int worker = 0; worker < workers; ++worker) {
      traffic.messages[{worker, workers + shard.server}] += static_cast<double>(shard.bytes);
      traffic.messages[{workers + shard.server, worker}] += static_cast<double>(shard.bytes);
    }
  }
  return traffic;
}

Option servers_option(int fallback, const std::string& source) {
  constexpr double kServersMax = 65536;
  return {.name = "servers",
          .summary = "parameter servers; 0: one a worker",
          .unit = OptionUnit::kCount,
          .fallback = static_cast<double>(fallback),
          .min = 0,
          .max = kServersMax,
          .choices = {},
          .source = source,
          .tried = doublings(1, 64)};
}

Option own_hosts_option() {
  return {.name = "own_hosts",
          .summary = "servers on nodes without workers; else spread over the workers' nodes",
          .unit = OptionUnit::kFlag,
          .fallback = 0,
          .min = 0,
          .max = 1,
          .choices = {},
          .source = ""};
}

Servers chosen_servers(const TrainingJob& job, int workers) {
  const int count = static_cast<int>(job.options.integer("servers"));
  return {.count = count == 0 ? workers : count, .own_hosts = job.options.flag("own_hosts")};
}

HostWork encode_work(const HostCosts& host, std::int64_t bytes, Phase phase) {
  HostWork work = message_work(host, host.encode_s_per_byte, bytes, phase);
  work.label = "serve and encode";
  return work;
}

HostWork decode_work(const HostCosts& host, std::int64_t bytes, Phase phase) {
  HostWork work = message_work(host, host.decode_s_per_byte, bytes, phase);
  work.label = "decode";
  return work;
}

HostWork add_work(const HostCosts& host, std::int64_t bytes) {
  const auto payload = static_cast<double>(bytes);
  return {.duration_s = host.add_s_per_byte * payload,
          .memory_bytes = memory_traffic(3, host.add_s_per_byte, bytes),
          .phase = Phase::kAggregation,
          .label = "add"};
}

HostWork update_work(const HostCosts& host, std::int64_t bytes) {
  const auto payload = static_cast<double>(bytes);
  return {.duration_s = host.update_s_per_byte * payload,
          .memory_bytes = memory_traffic(6, host.update_s_per_byte, bytes),
          .phase = Phase::kUpdate,
          .label = "update"};
}

void copy_tensor(Worker& worker, const TrainingJob& job, std::int64_t bytes, bool to_host) {
  if (!job.host.stages_through_host) return;
  const Phase phase = to_host ? Phase::kAggregation : Phase::kPropagation;
  const std::string label = to_host ? "gradients to host" : "parameters to GPU";
  if (bytes <= kSmallCopyBytes)
    worker.run(HostWork{
        .duration_s = job.gpu_launch_s, .memory_bytes = 0, .phase = phase, .label = label});
  else
    worker.run(HostCopy{.bytes = bytes, .to_host = to_host, .phase = phase, .label = label});
}

bool is_idle(const HostWork& work) { return work.duration_s <= 0 && work.memory_bytes <= 0; }

void run_if_any(Worker& worker, const HostWork& work) {
  if (!is_idle(work)) worker.run(work);
}

void ProcessorThreads::run(Worker& worker, const HostWork& work) {
  if (is_idle(work)) return;
  if (free_ > 0) {
    --free_;
  } else {
    const Request turn = worker.make_signal();
    waiting_.push_back(turn);
    worker.wait(turn);
  }
  worker.run(work);
  if (waiting_.empty()) {
    ++free_;
    return;
  }
  const Request next = waiting_.front();
  waiting_.erase(waiting_.begin());
  worker.set(next);
}

}  // namespace forescale
