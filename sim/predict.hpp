// A prediction: platform x stack x workload x schedule -> one row a GPU count.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "algorithms/schedule.hpp"
#include "models/compute/compute_time.hpp"
#include "models/stack.hpp"
#include "models/storage.hpp"
#include "models/workload/network.hpp"
#include "sim/ask/question.hpp"
#include "sim/limits.hpp"
#include "sim/run/other_jobs.hpp"
#include "sim/run/session.hpp"
#include "topologies/platform.hpp"
#include "traces/program/program.hpp"

namespace forescale {

struct PredictionInputs {
  Platform platform;
  Stack stack;
  Network network;
  ComputeTable compute;
  std::optional<ComputeTable> compute_at_end = {};  // of a scenario's fast or slow end
  std::optional<Framework> framework;               // whose compute times and memory count
  Precision precision = Precision::kFp32;
  Bytes memory_at(std::int64_t batch_per_gpu, int gpus) const;
  const Schedule* schedule = nullptr;
  std::int64_t batch = 0;  // strong: of all GPUs together; weak: of each GPU
  Scaling scaling = Scaling::kStrong;
  int iterations = 3;
  ScheduleOptions options;  // of the schedule
  ComputeNoise noise;
  MessageNoise message_noise;
  OtherJobs others;
  DataSource data;  // of training images; synthetic unless set
  std::map<CollectiveOp, PlanChoice> choices;
  double gpu_variation = 0;  // of GPUs that are alike (models/compute/gpu_variation.hpp)
  double gpu_variation_at_end = 0;
  int waited_for = 0;     // GPUs, of which the slowest counts; 0: all of the run
  Provenance provenance;  // of the workload's numbers
  bool whole = false;     // no worker stands for others
  SimulationLimits limits = {};
};

// One row. Times of the steady state, seconds.
struct PredictionPoint {
  int gpus = 0;
  std::int64_t batch_per_gpu = 0;  // the largest share
  std::int64_t images_per_iteration = 0;
  double slowest_gpu = 1;         // its kernels' times over one GPU's; every GPU has them
  std::int64_t memory_bytes = 0;  // that the largest share needs
  bool fits = true;               // in GPU memory; if not, everything below is 0
  double iteration_s = 0;
  double images_per_s = 0;
  int servers = 0;  // ranks beside the GPUs
  // Of rank 0, by kinds of phases (algorithms/phase.hpp).
  double compute_s = 0;                // forward + backward + update
  double io_s = 0;                     // waiting for training data
  double exposed_communication_s = 0;  // propagation + aggregation that nothing hides
  double waiting_s = 0;                // for ranks that have not called a collective yet
  // Rank 0: by phase, and "idle"; together the iteration, but for asynchronous schedules, whose
  // ranks have periods of their own.
  PhaseTimes root_s;
  PhaseTimes mean_s;  // the same, mean over the ranks
  double bound_s = 0;
  std::string bound_reason;
  std::string busiest;       // the resource busiest in the simulation
  double busiest_share = 0;  // its busy time over the simulated time
  bool is_steady = true;
  std::uint64_t messages = 0;
  double bytes_sent = 0;             // all iterations, control messages included
  double payload_bytes = 0;          // of one iteration, control messages left out
  std::string beyond_measured = {};  // Stack::beyond_measured() of its messages
  // Where a few ranks stand for all (lockstep.hpp): how many at once, at most, and the relative
  // error of the iteration that comes of it; 0: all ranks were simulated.
  std::int64_t simulated_ranks = 0;
  int simulated_workers = 0;  // whose kernels
  double folded_error = 0;
};
void to_json(nlohmann::json& json, const PredictionPoint& point);
void from_json(const nlohmann::json& json, PredictionPoint& point);

// Image shares of the ranks: whole images, the first ranks one more when it does not divide.
std::vector<std::int64_t> batch_shares(std::int64_t batch, Scaling scaling, int gpus);

// Forward and backward passes of a share on one GPU, seconds.
double compute_s(const ComputeTable& compute, std::int64_t batch_share);

// The kernels' times of the slowest of the GPUs that every iteration waits for, over those of one;
// 1 where none waits.
double slowest_gpu(const PredictionInputs& inputs, int gpus, double variation);

// The stages that a schedule sees, for one rank's share, on one GPU.
TrainingJob training_job(const PredictionInputs& inputs, std::int64_t batch_share);

// What one training run of this size simulates: a job a rank, servers after the workers, on a
// platform whose slots are those ranks. InputError when no node is left for a server.
struct TrainingRun {
  Platform platform;
  TrainingJobs jobs;
  std::vector<int> nodes;  // by rank
  int workers = 0;
};
TrainingRun training_run(const PredictionInputs& inputs, int gpus);

// Simulates one GPU count (one call a process); `timeline`, if any, gets the last iteration, and
// `record`, if any, what every rank does. Throws InputError, SimulationStuck, CheckFailed.
PredictionPoint predict_point(const PredictionInputs& inputs, int gpus, Timeline* timeline,
                              Program* record = nullptr);

// Nodes and names of the ranks, for a trace.
std::vector<RankPlace> rank_places(const Platform& platform, int rank_count);

}  // namespace forescale
