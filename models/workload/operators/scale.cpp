// A factor and a shift a channel; keeps its input.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect scale_channels(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  LayerEffect effect{.outputs = {inputs[0]}};
  effect.kept_values = value_count(inputs[0], layer, file);
  effect.parameter_tensors = {inputs[0][0]};
  if (layer.bias_term) effect.parameter_tensors.push_back(inputs[0][0]);
  return effect;
}

const bool kScaleRegistered = Registry<Operator>::add({.name = "Scale",
                                                       .may_be_in_place = true,
                                                       .bias_unless_said = false,
                                                       .options = {"bias_term"},
                                                       .apply = scale_channels});

}  // namespace
}  // namespace forescale
