// Local response normalisation; keeps its scale for the backward pass.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect lrn(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  LayerEffect effect{.outputs = {inputs[0]}};
  effect.kept_values = value_count(inputs[0], layer, file);
  return effect;
}

const bool kLrnRegistered = Registry<Operator>::add({.name = "LRN", .apply = lrn});

}  // namespace
}  // namespace forescale
