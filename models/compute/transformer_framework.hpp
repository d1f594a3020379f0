// What a framework adds to the kernels of a transformer:
// models/compute/transformer_frameworks.json.
#pragma once

#include <optional>

#include "base/json_input.hpp"
#include "models/compute/framework.hpp"
#include "models/unmodelled.hpp"

namespace forescale {

// In what parts gradients are reduced while a backward pass goes on.
struct GradientBuckets {
  std::int64_t parameters = 0;         // of each part, at least
  std::int64_t parameters_a_rank = 0;  // and at least so many a rank of the group
  bool first_stage_only = false;       // of a pipeline: other stages reduce theirs in one
  bool gathers_ahead = false;          // parameters in the same parts, under the forward pass
  bool gradients_by_layers = false;    // sharded ones as parameters that are: each layer is a part
};

// Iterations where an allocator that finds little left frees and asks again, as they were measured:
// so many times what they take with room.
struct FullMemory {
  double from = 0;  // predicted share of a GPU's memory; 0: nothing is known
  double times = 1;
  double times_low = 1;
  double times_high = 1;
};

// What its iterations' times leave out, by the first of these that a layout is.
struct LayoutUnmodelled {
  std::optional<Unmodelled> experts = {};          // has experts
  std::optional<Unmodelled> whole_gradients = {};  // copies of a pipeline over nodes, without ZeRO
  std::optional<Unmodelled> tensor_over_nodes = {};
  Unmodelled pipeline;
  Unmodelled one_stage;
};

// Which of tensor parallelism's exchanges go on, backward, under both gradients of what reads them:
// with sequence parallelism what is gathered and scattered; without it the sum too.
enum class TensorHiding { kNone, kGathers, kAll };

struct TransformerFramework {
  double kernels = 1;            // time of all kernels over that of fused ones
  double others = 1;             // of those that are neither products nor attention, beside that
  double kernels_fp8 = 1;        // of all where products are in FP8, whose times have casts in them
  double attention = 1;          // time of its attention over the GPU model's, beside that
  std::int64_t score_bytes = 0;  // of a word's score while its loss is computed: all copies
  std::int64_t gradient_buffer_bytes = 0;  // a value of each shape of weights
  bool gates_are_two_kernels = false;      // the activation, kept, and the product
  // Of a layer's two results that tensor parallelism reduces and scatters: how many are whole in
  // memory still when the last layer's are made, where the CPU is ahead of the GPU.
  double held_results = 0;
  TensorHiding tensor_hiding = TensorHiding::kNone;
  bool stops_recompute_early = false;  // of a layer, when it has what is read again
  bool has_hybrid_sharding = false;
  // Of recompute=selective_op, where it has that: products in FP8 and those with a bias.
  std::optional<bool> saves_other_products = {};
  double memory =
      1;  // all that is allocated over the parts that are counted, and its 90 % interval
  double memory_low = 1;
  double memory_high = 1;
  FullMemory full_memory;
  // In which the CPU asks for a layer's kernels of both passes; of one with experts.
  double host_layer_s = 0;
  double host_expert_layer_s = 0;
  // For each GPU that shares the layer, at least so long where these are on several nodes.
  double host_tensor_layer_s = 0;
  // And longer for each, where a pipeline's stages are on several nodes.
  double host_pipeline_layer_s = 0;
  GradientBuckets buckets;
  LayoutUnmodelled unmodelled;
  Unmodelled from_measured;  // where kernels are scaled to an iteration that was measured
};

// Where nobody says.
inline constexpr Framework kDefaultTransformerFramework = Framework::kMegatron;

// Code that runs as it is written, kernel by kernel, or that torch.compile fuses.
enum class LayerCode { kCompiled, kEager };

// On a GPU of models/hardware/gpus/. InputError naming `option` for one that the file does not
// have, or whose eager execution it does not have.
TransformerFramework transformer_framework(Framework framework, LayerCode code,
                                           const std::string& gpu, const std::string& option,
                                           Provenance* provenance);

}  // namespace forescale
