// Normalises each vector, with a scale and (bias_term) a shift a value (LayerNorm) or a scale alone
// (RMSNorm); HeadNorm each head's part of queries and keys, side by side with values, with one
// scale for all queries and one for all keys. Keeps mean and deviation of each vector; its backward
// pass needs the input. A "tied" LayerNorm has another layer's scale, or none.
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
  if (layer.flags.contains("tied")) effect.parameter_tensors.clear();
  if (layer.bias_term) effect.parameter_tensors.push_back(inputs[0].back());
  return effect;
}

LayerEffect rms_norm(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  return normalised(layer, file, inputs, 1);
}

LayerEffect head_norm(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  const std::int64_t size = size_of(layer, file, "head_size");
  LayerEffect effect = normalised(layer, file, inputs, inputs[0].back() / size);
  effect.parameter_tensors = {size, size};
  return effect;
}

const bool kLayerNormRegistered = Registry<Operator>::add({.name = "LayerNorm",
                                                           .reads_inputs_again = true,
                                                           .options = {"bias_term"},
                                                           .flags = {"tied"},
                                                           .apply = layer_norm});

const bool kRmsNormRegistered =
    Registry<Operator>::add({.name = "RMSNorm", .reads_inputs_again = true, .apply = rms_norm});

const bool kHeadNormRegistered = Registry<Operator>::add(
    {.name = "HeadNorm", .reads_inputs_again = true, .sizes = {"head_size"}, .apply = head_norm});

}  // namespace
}  // namespace forescale
