// Attention with its scores in memory, as libraries had it before FlashAttention. AttentionScores:
// queries and keys S x heads * D give heads x S x S, one product a head; AttentionMix:
// probabilities heads x S x S and values S x heads * D give S x heads * D. With "heads", and
// "kv_heads" where they are fewer, queries, keys and values are side by side in one blob, as
// Attention has them. Both gradients are products of the same FLOP. Causal masks save nothing.
// Between them AttentionScale, AttentionMask and AttentionSoftmax, each a pass over the scores; the
// softmax's gradient needs its result alone.
#include <fmt/format.h>

#include <string>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

// Of a blob that has so many heads side by side.
std::int64_t head_size(const LayerSpec& layer, const std::string& file, std::int64_t width,
                       std::int64_t heads) {
  if (width % heads != 0)
    layer_error(layer, file,
                {.key = "heads",
                 .value = std::to_string(heads),
                 .constraint = fmt::format("must divide the width {}", width)});
  return width / heads;
}

// Queries, keys and values.
std::int64_t all_heads(const LayerSpec& layer, const std::string& file, std::int64_t heads) {
  const std::int64_t kv_heads =
      layer.sizes.contains("kv_heads") ? size_of(layer, file, "kv_heads") : heads;
  return heads + 2 * kv_heads;
}

LayerEffect scores(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  const std::int64_t heads = size_of(layer, file, "heads");
  require_sequence(layer, file, inputs[0]);
  const bool is_apart = inputs.size() > 1;
  if (is_apart && inputs[1] != inputs[0])
    layer_error(layer, file,
                {.key = "bottom",
                 .value = to_text(inputs[1]),
                 .constraint = "must be " + to_text(inputs[0])});
  const std::int64_t sequence = inputs[0][0];
  LayerEffect effect{.outputs = {{heads, sequence, sequence}}};
  effect.work = GemmShape{
      .m = sequence,
      .n = sequence,
      .k = head_size(layer, file, inputs[0][1], is_apart ? heads : all_heads(layer, file, heads)),
      .count = heads};
  effect.forward_flops = forward_flops_of(effect.work);
  return effect;
}

LayerEffect mix(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_sequence(layer, file, inputs[1]);
  const Shape& probabilities = inputs[0];
  const std::int64_t sequence = inputs[1][0];
  std::int64_t width = inputs[1][1];
  if (layer.sizes.contains("heads")) {
    const std::int64_t heads = size_of(layer, file, "heads");
    width = heads * head_size(layer, file, width, all_heads(layer, file, heads));
  }
  if (probabilities.size() != 3 || probabilities[1] != sequence || probabilities[2] != sequence ||
      width % probabilities[0] != 0)
    layer_error(layer, file,
                {.key = "bottom",
                 .value = to_text(probabilities),
                 .constraint = fmt::format("must be heads x {0} x {0}, heads a divisor of {1}",
                                           sequence, width)});
  LayerEffect effect{.outputs = {{sequence, width}}};
  effect.work = GemmShape{
      .m = width / probabilities[0], .n = sequence, .k = sequence, .count = probabilities[0]};
  effect.forward_flops = forward_flops_of(effect.work);
  return effect;
}

LayerEffect probabilities(const LayerSpec&, const std::string&, const Inputs& inputs) {
  return {.outputs = {inputs[0]}};
}

const bool kAttentionScoresRegistered = Registry<Operator>::add({.name = "AttentionScores",
                                                                 .bottoms_max = 2,
                                                                 .reads_inputs_again = true,
                                                                 .sizes = {"heads", "kv_heads"},
                                                                 .apply = scores});

const bool kAttentionMixRegistered = Registry<Operator>::add({.name = "AttentionMix",
                                                              .bottoms_min = 2,
                                                              .bottoms_max = 2,
                                                              .reads_inputs_again = true,
                                                              .sizes = {"heads", "kv_heads"},
                                                              .apply = mix});

const bool kScoresPassesRegistered = [] {
  for (const char* name : {"AttentionScale", "AttentionMask", "AttentionSoftmax"})
    Registry<Operator>::add(
        {.name = name,
         .may_be_in_place = true,
         .reads_outputs_again = std::string(name) == "AttentionSoftmax",
         .pointwise = std::string(name) == "AttentionSoftmax" ? Pointwise::kNo : Pointwise::kOther,
         .apply = probabilities});
  return true;
}();

}  // namespace
}  // namespace forescale
