// A loss that the file has itself.
#include "models/workload/onnx/onnx_builder.hpp"

namespace forescale {
namespace {

void loss_node(OnnxBuilder& builder, const OnnxNode& node) {
  const OnnxTensor scores = builder.activation(node);
  const OnnxTensor label{
      .kind = OnnxKind::kActivation, .blob = builder.layers().front().tops.back(), .shape = {1}};
  builder.define(node,
                 builder.add(node, builder.layer(node, "SoftmaxWithLoss"), {scores, label}, {}));
}

const bool kLossRulesRegistered = [] {
  for (const char* name : {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"})
    Registry<OnnxRule>::add({name, loss_node});
  return true;
}();

}  // namespace
}  // namespace forescale
