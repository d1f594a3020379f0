// Caffe's layers that are no part of training.
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect nothing(const LayerSpec& layer, const std::string&, const Inputs&) {
  return {.outputs = std::vector<Shape>(layer.tops.size(), Shape{1})};
}

const bool kAccuracyRegistered = Registry<Operator>::add({.name = "Accuracy",
                                                          .kind = OperatorKind::kIgnored,
                                                          .bottoms_max = Operator::kAny,
                                                          .tops_max = Operator::kAny,
                                                          .apply = nothing});

const bool kSilenceRegistered = Registry<Operator>::add({.name = "Silence",
                                                         .kind = OperatorKind::kIgnored,
                                                         .bottoms_max = Operator::kAny,
                                                         .tops_max = 0,
                                                         .apply = nothing});

}  // namespace
}  // namespace forescale
