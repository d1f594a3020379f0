// How much each two of a sample's vectors are alike: the products of all pairs of `bottom`'s
// vectors and one more, behind that one's own values, and a value that fills up (Naumov et al.,
// arXiv:1906.00091, section 2.1). One product of the vectors with themselves, padded to the 16 rows
// of a tensor core's tile (NVIDIA/DeepLearningExamples 115867b, PyTorch/Recommendation/DLRM,
// dot_based_interact_fp16_fwd.cu); both gradients are products of the same FLOP.
#include <fmt/format.h>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kTile = 16;

LayerEffect dot_interaction(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_sequence(layer, file, inputs[0]);
  const std::int64_t width = inputs[0][1];
  if (inputs[1] != Shape{width})
    layer_error(layer, file,
                {.key = "bottom",
                 .value = to_text(inputs[1]),
                 .constraint = fmt::format("must be one vector of {} values", width)});
  const std::int64_t vectors = inputs[0][0] + 1;
  LayerEffect effect{.outputs = {{width + vectors * (vectors - 1) / 2 + 1}}};
  const std::int64_t padded = (vectors + kTile - 1) / kTile * kTile;
  effect.work = GemmShape{.m = padded, .n = padded, .k = width};
  effect.forward_flops = forward_flops_of(effect.work);
  return effect;
}

const bool kDotInteractionRegistered = Registry<Operator>::add({.name = "DotInteraction",
                                                                .bottoms_min = 2,
                                                                .bottoms_max = 2,
                                                                .reads_inputs_again = true,
                                                                .apply = dot_interaction});

}  // namespace
}  // namespace forescale
