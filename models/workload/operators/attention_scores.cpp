// Attention with its scores in memory, as libraries had it before FlashAttention. AttentionScores:
// queries and keys S x heads * D give heads x S x S, one product a head; AttentionMix:
// probabilities heads x S x S and values S x heads * D give S x heads * D. Both gradients are
// products of the same FLOP. Causal masks save nothing. Between them AttentionScale, AttentionMask
// and AttentionSoftmax, each a pass over the scores; the softmax's gradient needs its result alone.
#include <fmt/format.h>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect scores(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  const std::int64_t heads = size_of(layer, file, "heads");
  require_sequence(layer, file, inputs[0]);
  if (inputs[1] != inputs[0])
    layer_error(layer, file,
                {.key = "bottom",
                 .value = to_text(inputs[1]),
                 .constraint = "must be " + to_text(inputs[0])});
  if (inputs[0][1] % heads != 0)
    layer_error(layer, file,
                {.key = "heads",
                 .value = std::to_string(heads),
                 .constraint = fmt::format("must divide the width {}", inputs[0][1])});
  const std::int64_t sequence = inputs[0][0];
  LayerEffect effect{.outputs = {{heads, sequence, sequence}}};
  effect.work = GemmShape{.m = sequence, .n = sequence, .k = inputs[0][1] / heads, .count = heads};
  effect.forward_flops = forward_flops_of(effect.work);
  return effect;
}

LayerEffect mix(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_sequence(layer, file, inputs[1]);
  const Shape& probabilities = inputs[0];
  const std::int64_t sequence = inputs[1][0];
  if (probabilities.size() != 3 || probabilities[1] != sequence || probabilities[2] != sequence ||
      inputs[1][1] % probabilities[0] != 0)
    layer_error(layer, file,
                {.key = "bottom",
                 .value = to_text(probabilities),
                 .constraint = fmt::format("must be heads x {0} x {0}, heads a divisor of {1}",
                                           sequence, inputs[1][1])});
  LayerEffect effect{.outputs = {inputs[1]}};
  effect.work = GemmShape{.m = inputs[1][1] / probabilities[0],
                          .n = sequence,
                          .k = sequence,
                          .count = probabilities[0]};
  effect.forward_flops = forward_flops_of(effect.work);
  return effect;
}

LayerEffect probabilities(const LayerSpec&, const std::string&, const Inputs& inputs) {
  return {.outputs = {inputs[0]}};
}

const bool kAttentionScoresRegistered = Registry<Operator>::add({.name = "AttentionScores",
                                                                 .bottoms_min = 2,
                                                                 .bottoms_max = 2,
                                                                 .sizes = {"heads"},
                                                                 .apply = scores});

const bool kAttentionMixRegistered = Registry<Operator>::add(
    {.name = "AttentionMix", .bottoms_min = 2, .bottoms_max = 2, .apply = mix});

const bool kScoresPassesRegistered = [] {
  for (const char* name : {"AttentionScale", "AttentionMask", "AttentionSoftmax"})
    Registry<Operator>::add({.name = name, .may_be_in_place = true, .apply = probabilities});
  return true;
}();

}  // namespace
}  // namespace forescale
