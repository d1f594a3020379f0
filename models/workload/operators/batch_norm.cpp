// The running mean and variance are not learned and count as no parameter. Keeps the normalised
// values. With its own scale and shift it is the fused layer of cuDNN, whose backward pass needs
// the input: a copy where it works in place, else the blob that is there anyway. Tied ones are
// another layer's.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect batch_norm(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  LayerEffect effect{.outputs = {inputs[0]}};
  effect.kept_values = value_count(inputs[0], layer, file);
  if (!layer.scale_bias) return effect;
  for (const char* tied : {"tied_scale", "tied_shift"})
    if (!layer.flags.contains(tied)) effect.parameter_tensors.push_back(inputs[0][0]);
  if (layer.tops != layer.bottoms) effect.kept_values = 0;
  return effect;
}

const bool kBatchNormRegistered = Registry<Operator>::add({.name = "BatchNorm",
                                                           .may_be_in_place = true,
                                                           .options = {"scale_bias"},
                                                           .flags = {"tied_scale", "tied_shift"},
                                                           .apply = batch_norm});

}  // namespace
}  // namespace forescale
