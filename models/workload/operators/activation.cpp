// What changes each value by itself: activations, also in place.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect same_shape(const LayerSpec&, const std::string&, const Inputs& inputs) {
  return {.outputs = {inputs[0]}};
}

const bool kActivationsRegistered = [] {
  for (const char* name : {"ReLU", "Sigmoid", "TanH"})
    Registry<Operator>::add({.name = name, .may_be_in_place = true, .apply = same_shape});
  // Their gradient needs the input, so they do not work in place.
  for (const char* name : {"GELU", "SiLU"})
    Registry<Operator>::add({.name = name, .apply = same_shape});
  return true;
}();

}  // namespace
}  // namespace forescale
