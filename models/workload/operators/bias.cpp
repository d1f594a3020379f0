// A shift a value of the last side: what a library does before or after a product. Its gradient
// reads what the forward pass reads, and writes next to nothing.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect bias(const LayerSpec&, const std::string&, const Inputs& inputs) {
  return {.outputs = {inputs[0]}, .parameter_tensors = {inputs[0].back()}};
}

const bool kBiasRegistered = Registry<Operator>::add(
    {.name = "Bias", .may_be_in_place = true, .backward_traffic = 0.5, .apply = bias});

}  // namespace
}  // namespace forescale
