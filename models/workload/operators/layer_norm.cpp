// Normalises each vector, with a scale and a shift a value (LayerNorm) or a scale alone (RMSNorm).
// Keeps mean and deviation of each vector; its backward pass needs the input.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect normalised(const LayerSpec& layer, const std::string& file, const Inputs& inputs,
                       std::int64_t statistics) {
  const std::int64_t width = inputs[0].back();
  LayerEffect effect{.outputs = {inputs[0]}};
  effect.parameter_tensors = {width};
  effect.kept_values = statistics * (value_count(inputs[0], layer, file) / width);
  return effect;
}

LayerEffect layer_norm(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  LayerEffect effect = normalised(layer, file, inputs, 2);
  effect.parameter_tensors.push_back(inputs[0].back());
  return effect;
}

LayerEffect rms_norm(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  return normalised(layer, file, inputs, 1);
}

const bool kLayerNormRegistered =
    Registry<Operator>::add({.name = "LayerNorm", .apply = layer_norm});

const bool kRmsNormRegistered = Registry<Operator>::add({.name = "RMSNorm", .apply = rms_norm});

}  // namespace
}  // namespace forescale
