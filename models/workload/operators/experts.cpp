// A choice of experts: Dispatch sends each token to "per_token" of them, GroupedLinear is one layer
// of all "experts", each with an equal share of the vectors, Combine adds up what comes back.
// Source: Shazeer et al., Outrageously Large Neural Networks, ICLR 2017; Megatron-LM,
// core/transformer/moe. Limits: experts get as many tokens each; none is dropped.
#include <fmt/format.h>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect dispatch(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_sequence(layer, file, inputs[0]);
  const std::int64_t tokens = inputs[0][0] * size_of(layer, file, "per_token");
  return {.outputs = {{tokens, inputs[0][1]}}};
}

LayerEffect combine(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_sequence(layer, file, inputs[0]);
  const std::int64_t each = size_of(layer, file, "per_token");
  if (inputs[0][0] % each != 0)
    layer_error(layer, file,
                {.key = "per_token",
                 .value = std::to_string(each),
                 .constraint = fmt::format("must divide the vectors {}", inputs[0][0])});
  return {.outputs = {{inputs[0][0] / each, inputs[0][1]}}};
}

LayerEffect grouped_linear(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_sequence(layer, file, inputs[0]);
  require_given(layer, file, "num_output", layer.num_output);
  const std::int64_t experts = size_of(layer, file, "experts");
  const LinearShape shape{.outputs = layer.num_output,
                          .inputs = inputs[0][1],
                          .vectors = inputs[0][0],
                          .groups = experts};
  LayerEffect effect{.outputs = {{inputs[0][0], layer.num_output}}};
  effect.parameter_tensors = {value_count({experts, layer.num_output, inputs[0][1]}, layer, file)};
  if (layer.bias_term) effect.parameter_tensors.push_back(experts * layer.num_output);
  effect.work = shape;
  effect.forward_flops = forward_flops_of(effect.work);
  return effect;
}

const bool kExpertsRegistered = [] {
  Registry<Operator>::add({.name = "Dispatch",
                           .bottoms_min = 2,
                           .bottoms_max = 2,
                           .sizes = {"per_token"},
                           .apply = dispatch});
  Registry<Operator>::add(
      {.name = "Combine", .reads_inputs_again = true, .sizes = {"per_token"}, .apply = combine});
  Registry<Operator>::add({.name = "GroupedLinear",
                           .reads_inputs_again = true,
                           .options = {"num_output", "bias_term"},
                           .sizes = {"experts"},
                           .apply = grouped_linear});
  return true;
}();

}  // namespace
}  // namespace forescale
