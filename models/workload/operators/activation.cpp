// What changes each value by itself: activations, also in place. SwiGLU and GEGLU are gates: one
// half of a vector, through SiLU or GELU, times the other (Shazeer, GLU Variants,
// arXiv:2002.05202); Rotary turns pairs of values by the token's place.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect same_shape(const LayerSpec&, const std::string&, const Inputs& inputs) {
  return {.outputs = {inputs[0]}};
}

LayerEffect gated(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  Shape out = inputs[0];
  if (out.back() % 2 != 0)
    layer_error(layer, file,
                {.key = "bottom",
                 .value = to_text(out),
                 .constraint = "must have an even number of values: the gate's and the gated"});
  out.back() /= 2;
  return {.outputs = {out}};
}

const bool kActivationsRegistered = [] {
  for (const std::string name : {"ReLU", "Rotary", "Sigmoid", "TanH"})
    Registry<Operator>::add(
        {.name = name,
         .may_be_in_place = true,
         .reads_outputs_again = name != "Rotary",
         .pointwise = name == "Rotary" ? Pointwise::kNo : Pointwise::kActivation,
         .apply = same_shape});
  // Their gradient needs the input, so they do not work in place.
  for (const char* name : {"GELU", "SiLU"})
    Registry<Operator>::add({.name = name,
                             .reads_inputs_again = true,
                             .pointwise = Pointwise::kActivation,
                             .apply = same_shape});
  for (const char* name : {"SwiGLU", "GEGLU"})
    Registry<Operator>::add(
        {.name = name, .reads_inputs_again = true, .is_gate = true, .apply = gated});
  return true;
}();

}  // namespace
}  // namespace forescale
