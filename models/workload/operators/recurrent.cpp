// A long short-term memory in three layers: Linear gives each word's gates from its input (4 times
// `num_output` values), LSTM adds what the state of the word before gives (4 num_output x
// num_output weights and, with bias_term, a second bias, as cuDNN has it), LSTMCell makes the state
// of them. The words' products follow each other. Pairs sums each query and each key, of which
// additive attention (Bahdanau et al., ICLR 2015, appendix A.1.2) takes the hyperbolic tangent.
#include <fmt/format.h>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kGates = 4;  // input, forget, cell, output
constexpr std::int64_t kMaxSteps = 16'384;

std::int64_t state_size(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_sequence(layer, file, inputs[0]);
  if (inputs[0][1] % kGates != 0)
    layer_error(layer, file,
                {.key = "bottom",
                 .value = to_text(inputs[0]),
                 .constraint = fmt::format("must have {} values for each of the state's", kGates)});
  return inputs[0][1] / kGates;
}

LayerEffect lstm(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  const std::int64_t state = state_size(layer, file, inputs);
  if (inputs[0][0] > kMaxSteps)
    layer_error(layer, file,
                {.key = "bottom",
                 .value = to_text(inputs[0]),
                 .constraint = fmt::format("must have at most {} words, which follow each other",
                                           kMaxSteps)});
  LayerEffect effect{.outputs = {inputs[0]}};
  effect.parameter_tensors = {value_count({kGates * state, state}, layer, file)};
  if (layer.bias_term) effect.parameter_tensors.push_back(kGates * state);
  effect.work = RecurrentShape{.outputs = kGates * state, .inputs = state, .steps = inputs[0][0]};
  effect.forward_flops = forward_flops_of(effect.work);
  return effect;
}

LayerEffect lstm_cell(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  const std::int64_t state = state_size(layer, file, inputs);
  LayerEffect effect{.outputs = {{inputs[0][0], state}}};
  effect.kept_values = inputs[0][0] * state;  // the cells
  return effect;
}

LayerEffect pairs(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  for (const Shape& input : inputs) require_sequence(layer, file, input);
  if (inputs[0][1] != inputs[1][1])
    layer_error(layer, file,
                {.key = "bottom",
                 .value = to_text(inputs[1]),
                 .constraint = fmt::format("must have {} values a vector", inputs[0][1])});
  return {.outputs = {{value_count({inputs[0][0], inputs[1][0]}, layer, file), inputs[0][1]}}};
}

const bool kRecurrentRegistered =
    Registry<Operator>::add(
        {.name = "LSTM", .may_be_in_place = true, .options = {"bias_term"}, .apply = lstm}) &&
    Registry<Operator>::add({.name = "LSTMCell", .reads_inputs_again = true, .apply = lstm_cell}) &&
    Registry<Operator>::add({.name = "Pairs", .bottoms_min = 2, .bottoms_max = 2, .apply = pairs});

}  // namespace
}  // namespace forescale
