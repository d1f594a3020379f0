// Caffe's fully connected layer: all values of an image are one vector.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect inner_product(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  return linear_effect(layer, file, value_count(inputs[0], layer, file), 1);
}

const bool kInnerProductRegistered = Registry<Operator>::add(
    {.name = "InnerProduct", .options = {"num_output", "bias_term"}, .apply = inner_product});

}  // namespace
}  // namespace forescale
