// Probabilities, and the cross entropy of them, which keeps them for the backward pass. A sequence
// has one vector a token. SigmoidCrossEntropyLoss: of one score, yes or no.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect softmax_loss(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  LayerEffect effect{.outputs = {{1}}};
  effect.kept_values = value_count(inputs[0], layer, file);
  return effect;
}

LayerEffect softmax(const LayerSpec&, const std::string&, const Inputs& inputs) {
  return {.outputs = {inputs[0]}};
}

LayerEffect sigmoid_loss(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  if (value_count(inputs[0], layer, file) != 1)
    layer_error(layer, file,
                {.key = "bottom", .value = to_text(inputs[0]), .constraint = "must be one score"});
  return {.outputs = {{1}}, .kept_values = 1};
}

const bool kLossRegistered = [] {
  using Loss = LayerEffect (*)(const LayerSpec&, const std::string&, const Inputs&);
  for (const auto& [name, apply] : {std::pair<const char*, Loss>{"SoftmaxWithLoss", softmax_loss},
                                    {"SigmoidCrossEntropyLoss", sigmoid_loss}})
    Registry<Operator>::add({.name = name,
                             .kind = OperatorKind::kOutput,
                             .bottoms_min = 2,
                             .bottoms_max = 2,
                             .tops_max = 2,
                             .apply = apply});
  return true;
}();

const bool kSoftmaxRegistered = Registry<Operator>::add(
    {.name = "Softmax", .kind = OperatorKind::kOutput, .may_be_in_place = true, .apply = softmax});

}  // namespace
}  // namespace forescale
