// An image as one vector; no work.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect flatten(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  return {.outputs = {{value_count(inputs[0], layer, file)}}};
}

const bool kFlattenRegistered =
    Registry<Operator>::add({.name = "Flatten", .kind = OperatorKind::kView, .apply = flatten});

}  // namespace
}  // namespace forescale
