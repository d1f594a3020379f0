// Caffe's fully connected layer: all values of an image are one vector. A "tied" one has another
// layer's weights.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect inner_product(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  LayerEffect effect = linear_effect(layer, file, value_count(inputs[0], layer, file), 1);
  if (layer.flags.contains("tied"))
    effect.parameter_tensors.erase(effect.parameter_tensors.begin());
  return effect;
}

const bool kInnerProductRegistered =
    Registry<Operator>::add({.name = "InnerProduct",
                             .options = {"num_output", "bias_term"},
                             .flags = {"tied"},
                             .apply = inner_product});

}  // namespace
}  // namespace forescale
