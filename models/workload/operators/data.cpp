// Brings the images or tokens, and as a second top the labels.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

// `inputs`: the network's input shape.
LayerEffect data(const LayerSpec& layer, const std::string&, const Inputs& inputs) {
  LayerEffect effect{.outputs = {inputs[0]}};
  if (layer.tops.size() == 2) effect.outputs.push_back({1});
  return effect;
}

const bool kDataRegistered = [] {
  for (const char* name : {"Data", "ImageData", "Input"})
    Registry<Operator>::add({.name = name,
                             .kind = OperatorKind::kData,
                             .bottoms_min = 0,
                             .bottoms_max = 0,
                             .tops_max = 2,
                             .apply = data});
  return true;
}();

}  // namespace
}  // namespace forescale
