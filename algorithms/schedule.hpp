// Training schedules: how a strategy orders compute and communication on one rank. One file each in
// algorithms/schedules/, registered by name.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/schedule_options.hpp"
#include "algorithms/worker.hpp"
#include "base/registry.hpp"

namespace forescale {

// A layer with parameters, together with the parameterless layers that follow it.
struct TrainingStage {
  std::string name;
  double forward_s = 0;  // on this rank's share of the batch
  double backward_s = 0;
  double update_s = 0;  // ApplyUpdate of its parameters on the GPU
  std::int64_t parameter_bytes = 0;
  std::vector<std::int64_t> tensor_bytes = {};  // the same by tensor: weights, then bias
  // Of this rank's samples, what was looked up in tables that the workers have each some of
  // (models/workload/embedding_tables.hpp): it comes to a sample's worker after this stage's
  // forward pass, and its gradients go back before the backward one.
  std::int64_t looked_up_bytes = 0;
  std::int64_t matrix_rows = 0;     // M of a fully connected layer's M x N weights, else 0
  std::int64_t matrix_columns = 0;  // N
};

// What software does with parameters and gradients on hosts and GPUs, beside moving them. A rate of
// 0 costs nothing. Sources: the stack's "rpc" and "host" sections, the platform's processors.
struct HostCosts {
  double add_s_per_byte = 0;        // a += b on a server, all its threads together
  double update_s_per_byte = 0;     // ApplyUpdate of parameters in host memory
  double copy_s_per_byte = 0;       // from buffer to buffer, by one core
  double encode_s_per_byte = 0;     // serialising a tensor, and its copies
  double decode_s_per_byte = 0;     // the other way
  double request_s = 0;             // one remote procedure call, at either end
  std::int64_t request_bytes = 0;   // that ask for a tensor
  bool stages_through_host = true;  // tensors are copied between GPU and host for every message
  int threads = 1;                  // that serve messages at a rank
};

// What one rank trains. Stages in forward order.
struct TrainingJob {
  std::vector<TrainingStage> stages;
  int iterations = 1;
  std::int64_t batch = 1;          // images of this rank an iteration
  std::int64_t largest_batch = 0;  // of any rank; 0: all alike
  std::int64_t value_bytes = 4;    // of a parameter or gradient, where it is sent
  ScheduleOptions options;         // of the schedule, defaults filled in
  HostCosts host;
  double gpu_flops = 0;            // FLOP/s that a matrix product of the network reaches
  double gpu_pack_s_per_byte = 0;  // copy inside GPU memory, such as into a fusion buffer
  double gpu_launch_s = 0;         // launch and synchronisation of one kernel

  std::int64_t parameter_bytes() const {
    std::int64_t total = 0;
    for (const TrainingStage& stage : stages) total += stage.parameter_bytes;
    return total;
  }
};

// By rank; equal ones are the same.
using TrainingJobs = std::vector<std::shared_ptr<const TrainingJob>>;

// Ranks of a schedule beside its workers, without GPUs.
struct Servers {
  int count = 0;
  bool own_hosts = false;  // one a node after the workers' nodes; else spread over the workers'
  bool each_node = false;  // one on each of the workers' nodes, whatever `count` says
};

// What one iteration must move: its collectives, and the bytes of its messages by (from, to) rank.
// Control messages are left out.
struct Traffic {
  std::vector<CollectiveStep> collectives;
  std::map<std::pair<int, int>, double> messages;
};

struct Schedule {
  std::string name;
  std::string summary;
  std::string source;
  std::vector<Option> options = {};
  // The main thread of a rank, worker or server, for all iterations.
  void (*run)(Worker& worker, const TrainingJob& job) = nullptr;
  // Null: none. Throws InputError.
  Servers (*servers)(const TrainingJob& job, int workers) = nullptr;
  // By the definition of the schedule, from which bounds and tests count. `nodes[rank]` as
  // Worker::node().
  Traffic (*traffic)(const TrainingJob& job, int workers, const std::vector<int>& nodes) = nullptr;
  // Ranks do not wait for each other in every iteration: the period is a mean over ranks.
  bool is_asynchronous = false;
  // What a rank does next depends on what has come first: no fixed order of calls says what it
  // would do elsewhere.
  bool follows_arrivals = false;
  bool exchanges_tables = false;  // does what `looked_up_bytes` says
  // Every worker makes the same calls: kernels, and collectives without a root of all workers,
  // which traffic() names all.
  bool workers_are_alike = false;
  int iterations = 3;  // that show its steady state, unless the user says how many
};

}  // namespace forescale
