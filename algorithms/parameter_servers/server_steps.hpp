// What schedules with parameter servers are made of: who keeps which tensor, and what a message
// costs the processors at its two ends.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "algorithms/schedule.hpp"
#include "algorithms/tensors.hpp"

namespace forescale {

// All parameters in one buffer.
std::vector<Tensor> packed_tensor(const TrainingJob& job);

enum class Sharding {
  kRoundRobin,  // tensor i on server i mod S
  kGreedy,      // each tensor on the server that has the fewest bytes so far
  kStriped      // every tensor in S equal parts, one a server
};

// What one server keeps of one tensor. Shards lie in the order of their tensors.
struct Shard {
  size_t tensor = 0;
  int server = 0;  // counted from 0
  std::int64_t bytes = 0;
};

std::vector<Shard> shards_of(const std::vector<Tensor>& tensors, Sharding sharding, int servers);
// A tensor in `servers` parts that differ by at most one value; empty parts are left out.
void append_stripes(std::vector<Shard>& shards, const std::vector<Tensor>& tensors, size_t tensor,
                    int servers);

// Every shard once from each worker to its server, and once back.
Traffic shard_traffic(const std::vector<Shard>& shards, int workers);

// The option "servers": 0 is one a worker.
Option servers_option(int fallback, const std::string& source);
Option own_hosts_option();
Servers chosen_servers(const TrainingJob& job, int workers);

// ---- processor time; memory traffic counts what is read and what is written ----

// One call and the serialisation of a tensor at the sender, or the other way at the receiver.
HostWork encode_work(const HostCosts& host, std::int64_t bytes, Phase phase);
HostWork decode_work(const HostCosts& host, std::int64_t bytes, Phase phase);
// a += b: reads both, writes one.
HostWork add_work(const HostCosts& host, std::int64_t bytes);
// v = m v + g, w -= r v: two such passes.
HostWork update_work(const HostCosts& host, std::int64_t bytes);
// Between the rank's GPU and its host, where the stack does not take GPU buffers.
void copy_tensor(Worker& worker, const TrainingJob& job, std::int64_t bytes, bool to_host);
// Nothing to do: not worth an event.
bool is_idle(const HostWork& work);
void run_if_any(Worker& worker, const HostWork& work);

// Processor threads that the helper threads of a rank share, first come, first served.
class ProcessorThreads {
 public:
  explicit ProcessorThreads(int count) : free_(count) {}
  void run(Worker& worker, const HostWork& work);

 private:
  int free_;
  std::vector<Request> waiting_;
};

}  // namespace forescale
