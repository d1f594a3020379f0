// Keeps its mask for the backward pass.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect dropout(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  LayerEffect effect{.outputs = {inputs[0]}};
  effect.kept_flags = value_count(inputs[0], layer, file);
  return effect;
}

const bool kDropoutRegistered = Registry<Operator>::add(
    {.name = "Dropout", .may_be_in_place = true, .pointwise = Pointwise::kOther, .apply = dropout});

}  // namespace
}  // namespace forescale
