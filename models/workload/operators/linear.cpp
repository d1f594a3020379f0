// A fully connected layer of each vector of a sequence: inputs ... x N, outputs ... x num_output. A
// "tied" one has another layer's weights, an embedding's, and a bias of its own where it has one.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect linear(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  const Shape& in = inputs[0];
  const std::int64_t width = in.back();
  LayerEffect effect = linear_effect(layer, file, width, value_count(in, layer, file) / width);
  Shape out = in;
  out.back() = layer.num_output;
  effect.outputs = {out};
  if (layer.flags.contains("tied"))
    effect.parameter_tensors.erase(effect.parameter_tensors.begin());
  return effect;
}

const bool kLinearRegistered = Registry<Operator>::add({.name = "Linear",
                                                        .reads_inputs_again = true,
                                                        .options = {"num_output", "bias_term"},
                                                        .flags = {"tied"},
                                                        .apply = linear});

}  // namespace
}  // namespace forescale
