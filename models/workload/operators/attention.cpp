// Fused scaled dot-product attention (FlashAttention): queries S x heads * D, keys and values
// S x kv_heads * D. No scores in memory; keeps one number a query and head. Forward FLOP
// 4 S^2 heads D, half where causal; backward 2.5 times as many, as the scores are computed again.
// Source: Dao et al., FlashAttention, NeurIPS 2022, and FlashAttention-2, 2023, section 4.1.
#include <fmt/format.h>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect attention(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  const std::int64_t heads = size_of(layer, file, "heads");
  const std::int64_t kv_heads =
      layer.sizes.contains("kv_heads") ? size_of(layer, file, "kv_heads") : heads;
  require_sequence(layer, file, inputs[0]);
  const AttentionShape shape{.batch = 1,
                             .sequence = inputs[0][0],
                             .heads = heads,
                             .kv_heads = kv_heads,
                             .head_size = inputs[0][1] / heads,
                             .is_causal = layer.flags.contains("causal")};
  if (inputs[0][1] % heads != 0 || heads % kv_heads != 0)
    layer_error(
        layer, file,
        {.key = "heads",
         .value = std::to_string(heads),
         .constraint = fmt::format("must divide the width {} and be a multiple of kv_heads {}",
                                   inputs[0][1], kv_heads)});
  const Shape keys{shape.sequence, kv_heads * shape.head_size};
  for (std::size_t i = 1; i < inputs.size(); ++i)
    if (inputs[i] != keys)
      layer_error(layer, file,
                  {.key = "bottom",
                   .value = fmt::format("{} {}", layer.bottoms[i], to_text(inputs[i])),
                   .constraint = "must be " + to_text(keys)});
  LayerEffect effect{.outputs = {inputs[0]}};
  effect.forward_flops = flops_of(GpuKernel{.shape = shape});
  effect.backward_over_forward =
      flops_of(GpuKernel{.shape = shape, .pass = KernelPass::kBackward}) / effect.forward_flops;
  effect.kept_values = heads * shape.sequence;
  effect.work = shape;
  return effect;
}

const bool kAttentionRegistered = Registry<Operator>::add({.name = "Attention",
                                                           .bottoms_min = 3,
                                                           .bottoms_max = 3,
                                                           .sizes = {"heads", "kv_heads"},
                                                           .flags = {"causal"},
                                                           .apply = attention});

}  // namespace
}  // namespace forescale
