// Product of blobs, value by value: a gate. A blob of one value a channel holds for the whole
// channel (squeeze and excitation). The gradient of each needs the others.
#include <fmt/format.h>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

bool is_gate_of(const Shape& gate, const Shape& image) {
  return gate == image || (gate.size() == 3 && image.size() == 3 && gate == Shape{image[0], 1, 1});
}

LayerEffect multiply(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  for (std::size_t i = 1; i < inputs.size(); ++i)
    if (!is_gate_of(inputs[i], inputs[0]))
      layer_error(layer, file,
                  {.key = "bottom",
                   .value = fmt::format("{} {}", layer.bottoms[i], to_text(inputs[i])),
                   .constraint = fmt::format("must have the shape of {} {}, or one value a channel",
                                             layer.bottoms[0], to_text(inputs[0]))});
  return {.outputs = {inputs[0]}};
}

const bool kMultiplyRegistered = Registry<Operator>::add({.name = "Multiply",
                                                          .bottoms_min = 2,
                                                          .bottoms_max = Operator::kAny,
                                                          .pointwise = Pointwise::kOther,
                                                          .apply = multiply});

}  // namespace
}  // namespace forescale
