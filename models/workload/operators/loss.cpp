// Probabilities, and the cross entropy of them, which keeps them for the backward pass. A sequence
// has one vector a token. SigmoidCrossEntropyLoss: of one score, yes or no.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect loss(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  LayerEffect effect{.outputs = {{1}}};
  effect.kept_values = value_count(inputs[0], layer, file);
  return effect;
}

LayerEffect softmax(const LayerSpec&, const std::string&, const Inputs& inputs) {
  return {.outputs = {inputs[0]}};
}

const bool kLossRegistered = [] {
  for (const char* name : {"SoftmaxWithLoss", "SigmoidCrossEntropyLoss"})
    Registry<Operator>::add({.name = name,
                             .kind = OperatorKind::kOutput,
                             .bottoms_min = 2,
                             .bottoms_max = 2,
                             .tops_max = 2,
                             .apply = loss});
  return true;
}();

const bool kSoftmaxRegistered = Registry<Operator>::add(
    {.name = "Softmax", .kind = OperatorKind::kOutput, .may_be_in_place = true, .apply = softmax});

}  // namespace
}  // namespace forescale
