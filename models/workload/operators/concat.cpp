// Channels of several blobs, one after the other; with "values" the values of each vector of
// several sequences.
#include <fmt/format.h>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect concat(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  Shape out = inputs[0];
  const std::size_t side = layer.flags.contains("values") ? out.size() - 1 : 0;
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    Shape like = inputs[i];
    if (like.size() == out.size()) like[side] = inputs[0][side];
    if (like != inputs[0])
      layer_error(
          layer, file,
          {.key = "bottom",
           .value = fmt::format("{} {}", layer.bottoms[i], to_text(inputs[i])),
           .constraint = fmt::format("must match {} {} in all but the {}", layer.bottoms[0],
                                     to_text(inputs[0]), side == 0 ? "channels" : "values")});
    out[side] += inputs[i][side];
  }
  return {.outputs = {out}};
}

const bool kConcatRegistered = Registry<Operator>::add(
    {.name = "Concat", .bottoms_max = Operator::kAny, .flags = {"values"}, .apply = concat});

}  // namespace
}  // namespace forescale
