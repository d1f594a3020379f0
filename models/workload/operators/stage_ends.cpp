// Where a stage of a pipeline begins and ends: num_output values a token that come from the stage
// before ("ranks" that share a sequence's tokens each get their own), and that go to the one after.
// No work; what was received is kept as long as a layer's input is.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect received(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_given(layer, file, "num_output", layer.num_output);
  const std::int64_t ranks = layer.sizes.contains("ranks") ? size_of(layer, file, "ranks") : 1;
  return {.outputs = {{inputs[0][0] / ranks, layer.num_output}}, .wants_gradient = true};
}

LayerEffect sent(const LayerSpec&, const std::string&, const Inputs&) { return {.outputs = {{1}}}; }

const bool kStageEndsRegistered = [] {
  Registry<Operator>::add({.name = "Received",
                           .kind = OperatorKind::kView,
                           .options = {"num_output"},
                           .sizes = {"ranks"},
                           .apply = received});
  Registry<Operator>::add(
      {.name = "Sent", .kind = OperatorKind::kOutput, .bottoms_max = 2, .apply = sent});
  return true;
}();

}  // namespace
}  // namespace forescale
