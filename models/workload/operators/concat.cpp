// Channels of several blobs, one after the other.
#include <fmt/format.h>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect concat(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  Shape out = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    Shape like = inputs[i];
    if (!like.empty()) like[0] = inputs[0][0];
    if (like != inputs[0])
      layer_error(layer, file,
                  {.key = "bottom",
                   .value = fmt::format("{} {}", layer.bottoms[i], to_text(inputs[i])),
                   .constraint = fmt::format("must match {} {} in all but the channels",
                                             layer.bottoms[0], to_text(inputs[0]))});
    out[0] += inputs[i][0];
  }
  return {.outputs = {out}};
}

const bool kConcatRegistered =
    Registry<Operator>::add({.name = "Concat", .bottoms_max = Operator::kAny, .apply = concat});

}  // namespace
}  // namespace forescale
