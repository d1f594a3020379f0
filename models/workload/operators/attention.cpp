// Fused scaled dot-product attention (FlashAttention): queries S x heads * D, keys and values
// S x kv_heads * D, as three blobs or side by side in one. No scores in memory; keeps one number a
// query and head. Forward FLOP 4 S^2 heads D, half where causal; backward 2.5 times as many, as the
// scores are computed again. Of a sequence that "parts" GPUs share, each has S tokens of it and the
// same part of the work, as causal attention is dealt out in two parts each. Of "texts" behind each
// other, equally long, each attends to itself alone. "sinks": a learned number a head beside the
// scores (gpt-oss). Source: Dao et al., FlashAttention, NeurIPS 2022, and
// FlashAttention-2, 2023, section 4.1.
//
// LatentAttention: queries S x heads * D of head_size D; keys without and values V side by side, S
// x heads * (plain + V); a key with a position that all heads share. Costs what heads of size (D +
// V) / 2 do. Source: DeepSeek-V2, arXiv:2405.04434, section 2.1.
#include <fmt/format.h>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect attention_effect(const AttentionShape& shape, std::int64_t width) {
  const std::int64_t tokens = shape.batch * shape.sequence / shape.parts;
  LayerEffect effect{.outputs = {{tokens, width}}};
  effect.forward_flops = flops_of(GpuKernel{.shape = shape});
  effect.backward_over_forward =
      flops_of(GpuKernel{.shape = shape, .pass = KernelPass::kBackward}) / effect.forward_flops;
  effect.kept_values = shape.heads * tokens;
  effect.work = shape;
  return effect;
}

// Of "heads" and "kv_heads" (as many unless it is said), of which the second divides the first, and
// of "texts", which divides the sequence.
AttentionShape heads_of(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_sequence(layer, file, inputs[0]);
  AttentionShape shape{.batch = 1};
  if (layer.sizes.contains("parts")) shape.parts = size_of(layer, file, "parts");
  if (layer.sizes.contains("texts")) shape.batch = size_of(layer, file, "texts");
  shape.sequence = shape.parts * inputs[0][0] / shape.batch;
  if (shape.parts * inputs[0][0] % shape.batch != 0)
    layer_error(
        layer, file,
        {.key = "texts",
         .value = std::to_string(shape.batch),
         .constraint = fmt::format("must divide the sequence of {}", shape.parts * inputs[0][0])});
  shape.heads = size_of(layer, file, "heads");
  shape.kv_heads =
      layer.sizes.contains("kv_heads") ? size_of(layer, file, "kv_heads") : shape.heads;
  shape.is_causal = layer.flags.contains("causal");
  const std::int64_t parts = inputs.size() == 1 ? shape.heads + 2 * shape.kv_heads : shape.heads;
  if (inputs[0][1] % parts != 0 || shape.heads % shape.kv_heads != 0)
    layer_error(
        layer, file,
        {.key = "heads",
         .value = std::to_string(shape.heads),
         .constraint = fmt::format("must divide the width {} and be a multiple of kv_heads {}",
                                   inputs[0][1], shape.kv_heads)});
  shape.head_size = inputs[0][1] / parts;
  return shape;
}

LayerEffect attention(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  const AttentionShape shape = heads_of(layer, file, inputs);
  if (inputs.size() == 2)
    layer_error(
        layer, file,
        {.key = "bottom", .value = "2", .constraint = "must be 1 or 3: values are missing"});
  const Shape keys{inputs[0][0], shape.kv_heads * shape.head_size};
  for (std::size_t i = 1; i < inputs.size(); ++i)
    if (inputs[i] != keys)
      layer_error(layer, file,
                  {.key = "bottom",
                   .value = fmt::format("{} {}", layer.bottoms[i], to_text(inputs[i])),
                   .constraint = "must be " + to_text(keys)});
  LayerEffect effect = attention_effect(shape, shape.heads * shape.head_size);
  if (layer.flags.contains("sinks")) effect.parameter_tensors = {shape.heads};
  return effect;
}

LayerEffect latent_attention(const LayerSpec& layer, const std::string& file,
                             const Inputs& inputs) {
  AttentionShape shape = heads_of(layer, file, inputs);
  const std::int64_t values = size_of(layer, file, "value_size");
  shape.head_size = (shape.head_size + values) / 2;
  return attention_effect(shape, shape.heads * values);
}

const bool kAttentionRegistered =
    Registry<Operator>::add({.name = "Attention",
                             .bottoms_max = 3,
                             .reads_inputs_again = true,
                             .reads_outputs_again = true,
                             .sizes = {"heads", "kv_heads", "parts", "texts"},
                             .flags = {"causal", "sinks"},
                             .apply = attention});

const bool kLatentAttentionRegistered =
    Registry<Operator>::add({.name = "LatentAttention",
                             .bottoms_min = 3,
                             .bottoms_max = 3,
                             .reads_inputs_again = true,
                             .reads_outputs_again = true,
                             .sizes = {"heads", "parts", "texts", "value_size"},
                             .flags = {"causal"},
                             .apply = latent_attention});

}  // namespace
}  // namespace forescale
