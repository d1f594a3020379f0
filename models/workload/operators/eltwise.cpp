// Sum of blobs of one shape: a residual connection. "dropout": of the last one, in the same kernel,
// whose mask it keeps.
#include <fmt/format.h>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect eltwise(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  for (std::size_t i = 1; i < inputs.size(); ++i)
    if (inputs[i] != inputs[0])
      layer_error(layer, file,
                  {.key = "bottom",
                   .value = fmt::format("{} {}", layer.bottoms[i], to_text(inputs[i])),
                   .constraint = fmt::format("must have the shape of {} {}", layer.bottoms[0],
                                             to_text(inputs[0]))});
  LayerEffect effect{.outputs = {inputs[0]}};
  if (layer.flags.contains("dropout")) effect.kept_flags = value_count(inputs[0], layer, file);
  return effect;
}

const bool kEltwiseRegistered = Registry<Operator>::add({.name = "Eltwise",
                                                         .bottoms_min = 2,
                                                         .bottoms_max = Operator::kAny,
                                                         .may_be_in_place = true,
                                                         .pointwise = Pointwise::kOther,
                                                         .flags = {"dropout"},
                                                         .apply = eltwise});

}  // namespace
}  // namespace forescale
