// The same values as another shape, in the same order; no work. "rows" vectors of num_output values
// {rows, num_output}, or images {channels, rows, num_output}.
#include <fmt/format.h>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect reshape(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_given(layer, file, "num_output", layer.num_output);
  Shape out{size_of(layer, file, "rows"), layer.num_output};
  if (layer.sizes.contains("channels")) out.insert(out.begin(), size_of(layer, file, "channels"));
  if (value_count(out, layer, file) != value_count(inputs[0], layer, file))
    layer_error(layer, file,
                {.key = "bottom",
                 .value = to_text(inputs[0]),
                 .constraint = "must have the values of " + to_text(out)});
  return {.outputs = {out}};
}

const bool kReshapeRegistered = Registry<Operator>::add({.name = "Reshape",
                                                         .kind = OperatorKind::kView,
                                                         .options = {"num_output"},
                                                         .sizes = {"rows", "channels"},
                                                         .apply = reshape});

}  // namespace
}  // namespace forescale
