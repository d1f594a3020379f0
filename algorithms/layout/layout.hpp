// How one training run is spread over GPUs: the degrees of each parallelism, what is sharded, and
// which ranks lie next to each other.
//
// As text "tp=2,pp=2,micro=1,global=128"; Megatron-LM's names are aliases, with dashes or
// underscores ("tensor-model-parallel-size=2"). A rank has one place in each dimension; the first
// of `order` changes fastest from rank to rank. Expert parallelism has its own grid over the same
// ranks: within a pipeline stage etp x ep x what is left of tp x cp x dp.
// Source: Megatron-LM, core/parallel_state.py (RankGenerator) and core/model_parallel_config.py.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace forescale {

// Tensor, context, expert, data, pipeline parallelism. In hybrid sharding kData's ranks share one
// copy of the state, next to each other, and kReplica's have the same share of its copies.
enum class Dimension { kTensor, kContext, kExpert, kData, kReplica, kPipeline };
const char* name_of(Dimension dimension);  // "tp"

// What the ranks of a data-parallel group hold a part of, and no longer all: nothing; the
// optimizer's state (ZeRO 1); gradients too (2); parameters too (3, FSDP).
enum class StateSharding { kNone, kOptimizer, kGradients, kParameters };
const char* name_of(StateSharding sharding);  // "none", "optimizer", ...

// What is computed again in the backward pass: nothing; attention's inside, or what
// recompute_modules names (Megatron-LM); all but attention and every second product (torchtitan's
// selective_ac_option "op"); all but each layer's input.
enum class Recompute { kNone, kSelective, kSelectiveOp, kFull };
const char* name_of(Recompute recompute);

// How attention gets at the tokens of the other GPUs with `context`: their keys and values come
// round piece by piece, under attention of the piece before (ring attention); all before it begins;
// or each GPU has all tokens of some heads (Ulysses).
enum class ContextExchange { kRing, kAllGather, kAllToAll };
const char* name_of(ContextExchange exchange);  // "p2p", as Transformer Engine has it

// How tokens get to their experts: copies each to its GPU (NCCL); or once to each node, and on from
// there to its GPUs (DeepEP, HybridEP).
enum class Dispatcher { kAllToAll, kDeepEp };
const char* name_of(Dispatcher dispatcher);

// How attention is computed: fused, with no scores in memory; or as products, softmax and dropout
// apart, as Megatron-LM's before it had FlashAttention.
enum class AttentionKind { kFlash, kUnfused };
const char* name_of(AttentionKind attention);

// How many layers each pipeline stage has: equal shares; equal ones if the embedding and the output
// count as a layer each (Megatron-LM, account_for_embedding_in_pipeline_split and ..._loss_...); or
// so many that the weights of each, the output's included, are near an equal share (nanotron).
enum class LayerSplit { kEven, kEnds, kCost };
const char* name_of(LayerSplit split);  // "even"

struct Layout {
  std::int64_t tensor = 1;
  std::int64_t context = 1;
  ContextExchange context_exchange = ContextExchange::kRing;
  std::int64_t pipeline = 1;
  std::int64_t data = 0;        // 0: what is left of the GPUs
  std::int64_t data_shard = 0;  // copies that share what `sharding` divides; 0: all
  std::int64_t expert = 1;
  std::int64_t expert_tensor = 0;  // 0: as tensor
  Dispatcher dispatcher = Dispatcher::kAllToAll;
  bool expert_overlaps = false;     // tokens move under another micro-batch's pass
  double imbalance = 1;             // tokens of the GPU whose experts get most, over an equal share
  std::int64_t virtual_stages = 1;  // of each pipeline rank
  // Of the parameters on the ranks of one pipeline, as its schedule has them: resolved() says.
  std::int64_t pipeline_copies = 1;
  std::int64_t first_layers = 0;  // of the first and the last stage; 0: an equal share
  std::int64_t last_layers = 0;
  LayerSplit split = LayerSplit::kEven;
  std::int64_t gradient_bytes = 4;    // of a value where gradients are added up and reduced
  bool has_sequence_parallel = true;  // where tensor > 1
  bool tensor_overlaps = false;       // its exchanges go on under the products beside them
  bool overlaps = true;               // gradients and parameters move under passes
  bool loss_in_place = false;         // its gradient takes the place of the words' scores
  bool has_graphs = false;            // the CPU asks for all kernels at once
  bool is_compiled = true;            // where a framework can run otherwise: eagerly
  StateSharding sharding = StateSharding::kNone;
  AttentionKind attention = AttentionKind::kFlash;
  Recompute recompute = Recompute::kNone;
  std::string recompute_modules = "core_attn";  // with kSelective, "+" between them
  std::int64_t recompute_layers = 0;            // of each stage, with kFull; 0: all
  // Rank of adapters that learn in place of the weights, which are frozen; 0: all learn.
  std::int64_t lora = 0;
  std::string lora_targets = "linear_qkv+linear_proj+linear_fc1+linear_fc2";
  std::int64_t lora_weight_bytes = 2;  // of a frozen value
  std::int64_t micro_batch = 1;        // sequences
  std::int64_t packed_texts = 1;       // of each sequence, equally long; attention stays in each
  std::int64_t global_batch = 0;       // 0: one micro-batch for each data-parallel rank
  std::string schedule = "1f1b";       // of the pipeline (algorithms/layout/pipelines/)
  std::string order = "tp-cp-ep-dp-pp";

  bool operator==(const Layout&) const = default;

  std::int64_t micro_batches() const { return global_batch / (micro_batch * data); }
  std::vector<std::string> modules() const;
  std::vector<std::string> adapted() const;  // lora_targets
  std::int64_t ranks() const { return tensor * context * pipeline * data; }
  std::int64_t replicas() const { return data_shard == 0 ? 1 : data / data_shard; }
};

struct LayoutField {
  std::string name;                  // "tp"
  std::vector<std::string> aliases;  // Megatron-LM's
  std::string doc;                   // one line
};
const std::vector<LayoutField>& layout_fields();

// InputError naming `option` for an unknown name (with the nearest), a value that is none, a name
// twice.
Layout parse_layout(const std::string& text, const std::string& option);
// Names of the fields that such a text gives. InputError as of parse_layout().
std::set<std::string> fields_named(const std::string& text, const std::string& option);
// What parse_layout() reads back: what is not at its default, and the fields that `also` names.
std::string to_text(const Layout& layout, const std::set<std::string>& also = {});

// With data, global batch and expert_tensor filled in for so many GPUs. InputError naming `option`
// and the two numbers that do not fit.
Layout resolved(Layout layout, std::int64_t gpus, const std::string& option);

// Where a rank is in tp, cp, dp (two dimensions) and pp, by Dimension (kExpert: 0).
using GridPlace = std::array<std::int64_t, 6>;

// Of a resolved layout.
class RankGrid {
 public:
  // InputError naming `option` for an order that is no permutation of tp, cp, ep, dp, pp.
  RankGrid(const Layout& layout, const std::string& option);

  std::int64_t ranks() const { return ranks_; }
  GridPlace place_of(std::int64_t rank) const;
  std::int64_t rank_at(const GridPlace& place) const;
  // Ranks that differ from `rank` in these dimensions alone, itself included, in the order of their
  // places: those of {kTensor} share a layer's weights, those of {kContext, kData} their gradients,
  // which those of {kReplica} have the same share of.
  std::vector<int> group(std::int64_t rank, const std::vector<Dimension>& dimensions) const;
  // Of the experts' own grid: {kExpert}: those that hold a layer's different experts; {kData}: the
  // same ones.
  std::vector<int> expert_group(std::int64_t rank, Dimension dimension) const;
  // Where a pipeline's ranks hold the network twice, that which has the same parameters.
  std::optional<std::int64_t> mirror_of(std::int64_t rank) const;

 private:
  struct Axis {
    Dimension dimension;
    std::int64_t size = 1;
    std::int64_t stride = 1;
  };
  static std::vector<int> line(std::int64_t rank, const std::vector<Axis>& axes,
                               const std::vector<Dimension>& dimensions);
  static const Axis& axis_of(const std::vector<Axis>& axes, Dimension dimension);

  std::vector<Axis> axes_;     // tp, cp, dp and its replicas, pp in the layout's order
  std::vector<Axis> experts_;  // etp, ep, expert data and its replicas, pp in it
  std::int64_t ranks_ = 1;
  bool has_mirrors_ = false;
};

}  // namespace forescale
