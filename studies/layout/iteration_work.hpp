// What the ranks of a layout do in an iteration, by pipeline stage. Its time follows from it:
// folded (layout_prediction.hpp), or rank by rank in the simulator (layout_program.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/layout/layout.hpp"
#include "algorithms/layout/pipeline.hpp"
#include "models/compute/transformer_framework.hpp"
#include "studies/layout/stage_parts.hpp"

namespace forescale {

// Groups of ranks that a layout makes. kExpertNode: those of kExpert on one node; kExpertRail:
// those at the same place of each of its nodes; kData: those that have the same weights, with
// context, of hybrid sharding a share each of one copy; kExpertData: of experts; kReplica and
// kExpertReplica: in hybrid sharding, those with the same share; kModel: tensor and pipeline, who
// share a copy of the model.
enum class LayoutGroup {
  kTensor,
  kContext,
  kExpert,
  kExpertNode,
  kExpertRail,
  kData,
  kExpertData,
  kReplica,
  kExpertReplica,
  kModel
};
// `nodes`: by rank.
std::vector<int> group_ranks(const RankGrid& grid, LayoutGroup group, std::int64_t rank,
                             const std::vector<int>& nodes);

// A collective of a group of that kind; `op` as the command line names it.
struct LayoutCall {
  std::string op;
  LayoutGroup group = LayoutGroup::kTensor;
  std::int64_t bytes = 0;

  bool operator==(const LayoutCall&) const = default;
};

// Over how many of the GPUs and nodes that share its experts a token's copies go, over the copies:
// experts chosen with the same chance each.
struct CopyShares {
  double gpus = 1;
  double nodes = 1;
};
CopyShares copy_shares(const ExpertShape& experts, std::int64_t gpus, std::int64_t nodes);

struct StageWork {
  StagePart part;
  double recomputed = 0;  // share of its layers whose forward pass runs again before the backward
  // In which the CPU asks for a pass's kernels: none ends before.
  double host_forward_s = 0;
  double host_backward_s = 0;
  // Each of the equal parts in which parameters are gathered and gradients reduced: once an
  // iteration, or (gathers_each_pass) in every pass.
  std::vector<LayoutCall> parameters = {};
  int parameter_parts = 1;
  std::vector<LayoutCall> gradients = {};
  int gradient_parts = 1;
  // Of hybrid sharding with gathers_each_pass: of each part of gradients, once an iteration, beside
  // what is gathered and scattered under the last pass.
  std::vector<LayoutCall> replicas = {};
  double replicas_slow_s = 0;         // as below
  bool replicas_share_links = false;  // with what is gathered and scattered
  // How much longer the kernels beside them take: of all parts, under one pass.
  double parameters_slow_s = 0;
  double gradients_slow_s = 0;
  double optimizer_s = 0;
};

struct IterationWork {
  std::shared_ptr<const PipelineSchedule> schedule = nullptr;
  PipelineShape shape = {};
  std::vector<StageWork> stages = {};
  bool gathers_each_pass = false;  // ZeRO 3
  bool overlaps = true;            // that goes on under the pass, and not before and after it
  std::int64_t message_bytes = 0;  // from stage to stage
  // Of the gradients' norm, which all wait for before the optimizer (Megatron-LM,
  // core/optimizer/clip_grads.py).
  LayoutCall norm = {};
  std::vector<int> nodes = {};  // by rank
  CopyShares copies = {};

  // Those that go on at once.
  std::vector<LayoutCall> calls_of(const StageExchange& exchange) const;

  int micro_batches_of_a_stage() const { return shape.micro_batches / schedule->copies; }
  int rank_of_stage(size_t stage) const {
    return rank_of(*schedule, shape, static_cast<int>(stage));
  }
};

// Whether the pipeline's schedule leaves gradients by weights for later. InputError as of
// iteration_work().
bool splits_backward(const Layout& layout, const std::string& option);

struct IterationInputs {
  const Layout* layout = nullptr;  // resolved
  const TransformerFramework* framework = nullptr;
  const GpuModel* gpu = nullptr;
  const Stack* stack = nullptr;
  std::int64_t value_bytes = 2;  // of a parameter
  std::optional<ExpertShape> experts = {};
  std::vector<int> nodes = {};  // by rank
};

// InputError naming `option` for a schedule that is not there or not for such stages; one that ends
// with .csv is a file.
IterationWork iteration_work(const IterationInputs& inputs, std::vector<StagePart> parts,
                             const std::string& option);

// Parameters of a stage that one rank of its data-parallel group has, all or a share.
double parameters_held(const StagePart& part, const Layout& layout, bool is_sharded);
// The same of what is frozen, in bytes.
double frozen_held(const StagePart& part, const Layout& layout);

}  // namespace forescale
