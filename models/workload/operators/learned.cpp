// Learned values that are the same for each image or sequence, copied to all: places, the token of
// a class (Dosovitskiy et al., ICLR 2021, section 3.1). "count" vectors of num_output values.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect learned(const LayerSpec& layer, const std::string& file, const Inputs&) {
  require_given(layer, file, "num_output", layer.num_output);
  LayerEffect effect{.outputs = {{size_of(layer, file, "count"), layer.num_output}}};
  effect.parameter_tensors = {value_count(effect.outputs[0], layer, file)};
  return effect;
}

const bool kLearnedRegistered = Registry<Operator>::add({.name = "Learned",
                                                         .bottoms_min = 0,
                                                         .bottoms_max = 0,
                                                         .options = {"num_output"},
                                                         .sizes = {"count"},
                                                         .apply = learned});

}  // namespace
}  // namespace forescale
