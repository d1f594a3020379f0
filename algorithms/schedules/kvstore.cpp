// MXNet's distributed KVStore (dist_sync): push and pull by key over ps-lite.
//
// Every tensor is a key. The push of a key is ready when its gradient is; its pull follows it, and
// the next forward pass of a layer waits for the pull of its keys alone. A key of fewer values than
// the big-array bound lives on server (key x 9973) mod S; a bigger one is cut into S equal parts.
// apache/incubator-mxnet, src/kvstore/kvstore_dist.h; doc: MXNET_KVSTORE_BIGARRAY_BOUND.
#include "algorithms/parameter_servers/push_pull.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kKeyPrime = 9973;

PushPull kvstore_plan(const TrainingJob& job, int servers) {
  PushPull plan;
  plan.tensors = tensors_of(job);
  const std::int64_t bound = job.options.integer("bigarray_bound");
  for (size_t key = 0; key < plan.tensors.size(); ++key) {
    const std::int64_t bytes = plan.tensors[key].bytes;
    if (bytes / job.value_bytes >= bound) {
      append_stripes(plan.shards, plan.tensors, key, servers);
      continue;
    }
    const auto server = static_cast<int>(static_cast<std::int64_t>(key) * kKeyPrime % servers);
    plan.shards.push_back({.tensor = key, .server = server, .bytes = bytes});
  }
  return plan;
}

void run_kvstore(Worker& worker, const TrainingJob& job) {
  run_push_pull(worker, job, kvstore_plan(job, worker.rank_count() - worker.worker_count()));
}

const bool kKvstoreRegistered = Registry<Schedule>::add(
    {.name = "kvstore",
     .summary = "MXNet's KVStore: push and pull by key, big arrays on all servers",
     .source = "apache/incubator-mxnet, src/kvstore/kvstore_dist.h",
     .options = {servers_option(0, "MXNet's launcher: as many servers as workers by default"),
                 own_hosts_option(),
                 {.name = "bigarray_bound",
                  .summary = "values from which on a key is shared by all servers",
                  .unit = OptionUnit::kCount,
                  .fallback = 1e6,
                  .min = 1,
                  .choices = {},
                  .source = "MXNet documentation, MXNET_KVSTORE_BIGARRAY_BOUND: 1000000",
                  .tried = {1e4, 1e5, 1e6, 1e7}}},
     .run = run_kvstore,
     .servers = chosen_servers,
     .traffic = [](const TrainingJob& job, int workers, const std::vector<int>& /*nodes*/) {
       return shard_traffic(kvstore_plan(job, chosen_servers(job, workers).count).shards, workers);
     }});

}  // namespace
}  // namespace forescale
