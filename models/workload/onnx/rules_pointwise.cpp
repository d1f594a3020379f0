// What works value by value: activations, scalars, masks, learned shifts and factors, sums and
// gates of blobs, dropout and probabilities.
#include <fmt/format.h>

#include "models/workload/onnx/onnx_builder.hpp"
#include "models/workload/onnx/onnx_patterns.hpp"

namespace forescale {
namespace {

bool is_one_value(const OnnxTensor& tensor) {
  return tensor.kind != OnnxKind::kActivation && tensor_values(tensor.dims) == 1;
}

// With the sides of `dims`; what was scores stays so.
OnnxTensor pass(OnnxBuilder& builder, const OnnxNode& node, const std::string& type,
                const OnnxTensor& x) {
  OnnxTensor out = builder.add(node, builder.layer(node, type), {x}, x.dims);
  out.is_scores = x.is_scores;
  return out;
}

// Arithmetic on one tensor, with all that belongs to the same activation.
void run_of_arithmetic(OnnxBuilder& builder, const OnnxNode& node, const std::string& source) {
  const OnnxGraph& graph = builder.graph();
  const OnnxTensor x = *builder.find(source);
  const auto is_scalar = [&](const std::string& tensor) {
    const OnnxTensor* known = builder.find(tensor);
    return known != nullptr ? is_one_value(*known) : graph.is_stated_scalar(tensor);
  };
  const auto place = static_cast<std::size_t>(&node - graph.nodes().data());
  const OnnxPattern pattern = pointwise_pattern(graph, place, source, is_scalar);
  if (!pattern.taken_from.empty()) builder.count_taken_as(pattern.taken_from, pattern.layer);
  const OnnxTensor out = pass(builder, node, pattern.layer, x);
  for (const std::size_t part : pattern.nodes) {
    builder.skip(graph.nodes()[part]);
    if (graph.nodes()[part].outputs.front() == pattern.output)
      builder.define(graph.nodes()[part], out);
  }
}

// A shift a value of the last side, into the layer before where it has none yet.
bool add_bias(OnnxBuilder& builder, const OnnxNode& node, const OnnxTensor& x,
              const OnnxTensor& shift) {
  if (shift.dims.empty() || shift.dims.back() != x.dims.back() ||
      tensor_values(shift.dims) != x.dims.back())
    return false;
  LayerSpec* full = builder.sole_maker(node, x, "InnerProduct");
  if (full != nullptr && !full->bias_term && full->num_output == x.dims.back()) {
    full->bias_term = builder.claim(shift);
    builder.define(node, x);
    return true;
  }
  const OnnxTensor blob = builder.vectors(node, x);
  LayerSpec layer = builder.layer(node, "Bias", shift.name);
  if (!builder.claim(shift)) layer.flags.insert("tied");
  builder.define(node, builder.add(node, layer, {blob}, x.dims));
  return true;
}

// One value a channel: [channels, 1, 1], also with a batch of 1 before.
bool is_by_channel(const OnnxTensor& x, const OnnxTensor& learned) {
  const std::size_t rank = learned.dims.size();
  return x.dims.size() == 4 && rank >= 3 && learned.dims[rank - 3] == x.dims[1] &&
         tensor_values(learned.dims) == x.dims[1];
}

bool shift_channels(OnnxBuilder& builder, const OnnxNode& node, const OnnxTensor& x,
                    const OnnxTensor& shift) {
  if (!is_by_channel(x, shift)) return false;
  for (const char* type : {"Convolution", "Scale"}) {
    LayerSpec* before = builder.sole_maker(node, x, type);
    if (before == nullptr || before->bias_term) continue;
    before->bias_term = builder.claim(shift);
    builder.define(node, x);
    return true;
  }
  return false;
}

// Learned places: a value for each of an image's or a sequence's.
bool add_places(OnnxBuilder& builder, const OnnxNode& node, const OnnxTensor& x,
                const OnnxTensor& places) {
  if (tensor_values(places.dims) != builder.values_each(node, x.dims) || places.dims.empty() ||
      places.dims.back() != x.dims.back())
    return false;
  const OnnxTensor blob = builder.vectors(node, x);
  LayerSpec learned = builder.layer(node, "Learned", places.name);
  if (!builder.claim(places))
    builder.graph().fail(node, "must not share its learned values with another layer", places.name);
  learned.num_output = blob.shape[1];
  learned.sizes["count"] = blob.shape[0];
  const OnnxTensor values = builder.add(node, learned, {}, places.dims);
  builder.define(node, builder.add(node, builder.layer(node, "Eltwise"), {blob, values}, x.dims));
  return true;
}

bool scale_values(OnnxBuilder& builder, const OnnxNode& node, const OnnxTensor& x,
                  const OnnxTensor& factor) {
  const bool by_vector = !factor.dims.empty() && factor.dims.back() == x.dims.back() &&
                         tensor_values(factor.dims) == x.dims.back();
  OnnxTensor blob = x;
  if (is_by_channel(x, factor)) {
    blob = builder.image(node, x);
  } else if (by_vector) {
    blob =
        builder.shaped(node, x, {x.dims.back(), builder.values_each(node, x.dims) / x.dims.back()});
  } else {
    return false;
  }
  LayerSpec layer = builder.layer(node, "Scale", factor.name);
  if (!builder.claim(factor))
    builder.graph().fail(node, "must not share its factors with another layer", factor.name);
  builder.define(node, builder.add(node, layer, {blob}, x.dims));
  return true;
}

void with_known(OnnxBuilder& builder, const OnnxNode& node, const OnnxTensor& x,
                const OnnxTensor& other) {
  if (!x.is_scores && other.kind == OnnxKind::kParameter) {
    if (node.type == "Add" &&
        (add_bias(builder, node, x, other) || shift_channels(builder, node, x, other) ||
         add_places(builder, node, x, other)))
      return;
    if (node.type == "Mul" && scale_values(builder, node, x, other)) return;
    builder.graph().fail(node, fmt::format("joins {} with learned values {}, which no layer does",
                                           to_text(x.dims), to_text(other.dims)));
  }
  const Shape dims = broadcast(builder.graph(), node, x.dims, other.dims);
  if (dims != x.dims)
    builder.graph().fail(node, fmt::format("makes {} of {}", to_text(dims), to_text(x.dims)));
  if (!x.is_scores) builder.count_taken_as(node.type + " of a known tensor", "AttentionMask");
  builder.define(node, pass(builder, node, "AttentionMask", x));
}

// {channels, 1, 1} for {channels, height, width}, or the same shape.
bool is_gate(const Shape& gate, const Shape& image) {
  return gate.size() == 3 && image.size() == 3 && gate == Shape{image[0], 1, 1};
}

void of_blobs(OnnxBuilder& builder, const OnnxNode& node, std::vector<OnnxTensor> blobs) {
  const OnnxGraph& graph = builder.graph();
  const bool multiplies = node.type == "Mul" || node.type == "Div" || node.type == "Pow";
  if (node.type != "Add" && node.type != "Mul" && node.type != "Sum")
    builder.count_taken_as(node.type, multiplies ? "Multiply" : "Eltwise");
  Shape dims = blobs[0].dims;
  for (const OnnxTensor& blob : blobs) dims = broadcast(graph, node, dims, blob.dims);
  if (multiplies && tensor_values(blobs[0].shape) < tensor_values(blobs[1].shape))
    std::swap(blobs[0], blobs[1]);
  for (std::size_t i = 1; i < blobs.size(); ++i) {
    OnnxTensor& blob = blobs[i];
    if (multiplies && blob.dims.size() == 4 && blobs[0].dims.size() == 4) {
      blobs[0] = builder.image(node, blobs[0]);
      blob = builder.image(node, blob);
      if (is_gate(blob.shape, blobs[0].shape)) continue;
    }
    if (tensor_values(blob.shape) != tensor_values(blobs[0].shape))
      graph.fail(node, fmt::format("joins blobs of {} and {}: of one shape alone, or gates of "
                                   "channels, are modelled",
                                   to_text(blobs[0].dims), to_text(blob.dims)));
    blob = builder.shaped(node, blob, blobs[0].shape);
  }
  OnnxTensor out =
      builder.add(node, builder.layer(node, multiplies ? "Multiply" : "Eltwise"), blobs, dims);
  out.is_scores = blobs[0].is_scores;
  builder.define(node, out);
}

void pointwise(OnnxBuilder& builder, const OnnxNode& node) {
  std::vector<OnnxTensor> blobs;
  std::string source;
  const OnnxTensor* known = nullptr;
  const std::vector<OnnxTensor> inputs = builder.inputs(node);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind == OnnxKind::kActivation) {
      if (source == node.inputs[i]) continue;  // x * x
      blobs.push_back(inputs[i]);
      source = node.inputs[i];
    } else if (!is_one_value(inputs[i])) {
      known = &inputs[i];
    }
  }
  if (blobs.size() > 1) return of_blobs(builder, node, blobs);
  if (known != nullptr) return with_known(builder, node, blobs.at(0), *known);
  run_of_arithmetic(builder, node, source);
}

// With a slope a channel, which is learned.
void prelu(OnnxBuilder& builder, const OnnxNode& node) {
  builder.count_taken_as("PRelu", "ReLU");
  builder.define(node, pass(builder, node, "ReLU", builder.activation(node)));
}

void where(OnnxBuilder& builder, const OnnxNode& node) {
  std::vector<OnnxTensor> blobs;
  for (const OnnxTensor& in : builder.inputs(node))
    if (in.kind == OnnxKind::kActivation) blobs.push_back(in);
  if (blobs.size() > 1) return of_blobs(builder, node, blobs);
  if (!blobs[0].is_scores) builder.count_taken_as("Where", "AttentionMask");
  builder.define(node, pass(builder, node, "AttentionMask", blobs[0]));
}

void dropout_node(OnnxBuilder& builder, const OnnxNode& node) {
  builder.define(node, pass(builder, node, "Dropout", builder.activation(node)));
}

void softmax_node(OnnxBuilder& builder, const OnnxNode& node) {
  const OnnxTensor& x = builder.activation(node);
  builder.define(node, pass(builder, node, x.is_scores ? "AttentionSoftmax" : "Softmax", x));
}

const bool kPointwiseRulesRegistered = [] {
  for (const char* name : {"Abs",        "Add",
                           "Celu",       "Clip",
                           "Cos",        "Div",
                           "Elu",        "Erf",
                           "Exp",        "Floor",
                           "Gelu",       "HardSigmoid",
                           "HardSwish",  "LeakyRelu",
                           "Log",        "Max",
                           "Mean",       "Min",
                           "Mish",       "Mul",
                           "Neg",        "Pow",
                           "Reciprocal", "Relu",
                           "Selu",       "Sigmoid",
                           "Sin",        "Softplus",
                           "Softsign",   "Sqrt",
                           "Sub",        "Sum",
                           "Tanh",       "ThresholdedRelu"})
    Registry<OnnxRule>::add({name, pointwise});
  Registry<OnnxRule>::add({"PRelu", prelu});
  Registry<OnnxRule>::add({"Where", where});
  Registry<OnnxRule>::add({"Dropout", dropout_node});
  for (const char* name : {"Softmax", "LogSoftmax"}) Registry<OnnxRule>::add({name, softmax_node});
  return true;
}();

}  // namespace
}  // namespace forescale
