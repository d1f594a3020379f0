// A shift a value of the last side: what a library does before or after a product. Its gradient
// reads what the forward pass reads, and writes next to nothing.
// "tied": with another layer's values.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect bias(const LayerSpec& layer, const std::string&, const Inputs& inputs) {
  LayerEffect effect{.outputs = {inputs[0]}};
  if (!layer.flags.contains("tied")) effect.parameter_tensors = {inputs[0].back()};
  return effect;
}

const bool kBiasRegistered = Registry<Operator>::add({.name = "Bias",
                                                      .may_be_in_place = true,
                                                      .backward_traffic = 0.5,
                                                      .flags = {"tied"},
                                                      .apply = bias});

}  // namespace
}  // namespace forescale
