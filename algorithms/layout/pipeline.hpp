// Schedules of pipeline parallelism: in which order each rank runs the passes of its stages over
// the micro-batches. One file each in algorithms/layout/pipelines/, registered by name; others are
// read of files (pipeline_file.hpp).
//
// The layers are cut into ranks * stages_a_rank stages, numbered along the network; where ranks
// hold the network more than once, into as many fewer, the stages of one copy after those of the
// other. A pass waits for the one that feeds it: forward for the stage before, backward for the
// stage after. Letters are PyTorch's (torch/distributed/pipelining/schedules.py): F; B both
// gradients; I that of the input, W that of the weights.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/registry.hpp"

namespace forescale {

enum class PassKind { kForward, kBackward, kInputGradient, kWeightGradient };
char letter_of(PassKind kind);  // 'F', 'B', 'I', 'W'

struct PipelinePass {
  PassKind kind = PassKind::kForward;
  int stage = 0;
  int micro_batch = 0;
  // Runs side by side with the rank's next pass: both begin when what feeds either has come, and
  // what they make is there when both have ended.
  bool with_next = false;
  bool operator==(const PipelinePass&) const = default;
};

struct PipelineShape {
  int ranks = 1;
  int stages_a_rank = 1;
  int micro_batches = 1;
  int stages() const { return ranks * stages_a_rank; }
};

struct PipelineSchedule {
  std::string name;
  std::string summary;
  std::string source;
  // How many a rank may have; max 0: any.
  int stages_a_rank_min = 1;
  int stages_a_rank_max = 1;
  bool splits_backward = false;  // into I and W, all or some
  // Of the network on the ranks; micro-batch i goes through copy i % copies.
  int copies = 1;
  // Micro-batches must be a multiple of the ranks.
  bool needs_full_rounds = false;
  int micro_batches_a_rank_min = 0;
  // Null: stage % ranks.
  std::function<int(const PipelineShape& shape, int stage)> rank_of = nullptr;
  // Of each rank.
  std::function<std::vector<std::vector<PipelinePass>>(const PipelineShape& shape)> orders =
      nullptr;
};

int rank_of(const PipelineSchedule& schedule, const PipelineShape& shape, int stage);
// Along the network; -1: none.
int stage_before(const PipelineSchedule& schedule, const PipelineShape& shape, int stage);
int stage_after(const PipelineSchedule& schedule, const PipelineShape& shape, int stage);
// Of a layout's schedule, by name; of one that is read of a file, 1. InputError naming `option`.
int network_copies_of(const std::string& schedule, const std::string& option);

// InputError naming `option` for a shape that the schedule is not for.
void check_shape(const PipelineSchedule& schedule, const PipelineShape& shape,
                 const std::string& option);

// What a stage sends beside its passes, once an iteration, in equal parts that overlap with as many
// equal parts of a pass.
struct BesidePass {
  double time_s = 0;
  int parts = 1;             // 1: overlaps with nothing of that pass
  double slows_s = 0;        // that pass takes longer by so much: kernels beside it are slowed
  double before_last_s = 0;  // something else, from the pass's end on, before the last part
  double others_s = 0;       // of that pass, in which the links have something else to do

  bool operator==(const BesidePass&) const = default;
};

// Seconds of one micro-batch in each stage. With schedules that do not split it, backward is all of
// it; else that of the inputs, and weights its rest, which a B has too.
struct StageCost {
  double forward_s = 0;
  double backward_s = 0;
  double weights_s = 0;
  // From the iteration's start: each part before that part of the stage's first forward pass.
  BesidePass parameters = {};
  // Each part once that part of the stage's last pass is done.
  BesidePass gradients = {};

  bool operator==(const StageCost&) const = default;
};

// Ranks that run the passes of other micro-batches at the same time.
struct PipelineCopy {
  std::vector<StageCost> stages;
  double transfer_s = 0;  // from stage to stage

  bool operator==(const PipelineCopy&) const = default;
};

struct PassTime {
  PipelinePass pass;
  double begin_s = 0;
  double end_s = 0;
};

// When parameters or gradients of a stage were under way. Parameters of a rank's stages go one
// after the other, and its gradients.
struct StateTime {
  int stage = 0;
  bool of_gradients = false;
  double begin_s = 0;
  double end_s = 0;
};

// Of one iteration, by rank.
struct PipelineTimes {
  std::vector<std::vector<PassTime>> passes = {};
  std::vector<std::vector<StateTime>> states = {};

  double passes_end_s() const;  // of the last pass of any rank
  double end_s() const;         // and when all gradients have been sent
};

// When every pass runs: each as soon as its rank is free and what feeds it has come `transfer_s`
// after its end (0 within a rank, twice as long for two messages of passes side by side that go to
// the same rank). Of two that run side by side the first is shown first.
// SimulationStuck where orders wait for each other.
PipelineTimes pipeline_times(const PipelineSchedule& schedule, const PipelineShape& shape,
                             const std::vector<StageCost>& stages, double transfer_s);
// The same of copies, in their order, that reduce their gradients together: each part once all have
// it.
std::vector<PipelineTimes> pipeline_times(const PipelineSchedule& schedule,
                                          const PipelineShape& shape,
                                          const std::vector<PipelineCopy>& copies);

// The greatest number of micro-batches whose activations a stage's rank holds at once, by rank; of
// several stages a rank, the sum of theirs.
std::vector<int> activations_held(const std::vector<std::vector<PipelinePass>>& orders);

}  // namespace forescale
