// Normalisation: of batches in the form of training or of inference, of vectors as one node or
// taken apart; and means over whole images, which are global pooling.
#include <fmt/format.h>

#include <algorithm>

#include "models/workload/onnx/onnx_builder.hpp"
#include "models/workload/onnx/onnx_patterns.hpp"

namespace forescale {
namespace {

// Scale and shift are learned, running mean and variance are not.
void batch_norm_node(OnnxBuilder& builder, const OnnxNode& node) {
  const OnnxTensor x = builder.activation(node);
  const std::size_t rank = x.dims.size();
  if (rank < 2 || rank > 4 || x.dims[0] != builder.batch())
    builder.graph().fail(node, "must read batch x channels, or batch x channels x height x width",
                         to_text(x.dims));
  const OnnxTensor blob = builder.shaped(node, x, {x.dims.begin() + 1, x.dims.end()});
  const OnnxTensor scale = builder.parameter(node, 1, x.dims[1]);
  const OnnxTensor shift = builder.parameter(node, 2, x.dims[1]);
  for (const std::size_t place : {3U, 4U})
    if (node.has(place)) builder.set_aside(builder.input(node, place));
  LayerSpec layer = builder.layer(node, "BatchNorm", scale.name);
  const bool has_scale = builder.claim(scale);
  const bool has_shift = builder.claim(shift);
  layer.scale_bias = true;
  if (!has_scale) layer.flags.insert("tied_scale");
  if (!has_shift) layer.flags.insert("tied_shift");
  if (node.type != "BatchNormalization") builder.count_taken_as(node.type, "BatchNorm");
  builder.define(node, builder.add(node, layer, {blob}, x.dims));
}

struct VectorNorm {
  OnnxTensor x;
  std::size_t axes = 1;  // the last ones are normalised
  const OnnxTensor* scale = nullptr;
  const OnnxTensor* shift = nullptr;
};

OnnxTensor normalise(OnnxBuilder& builder, const OnnxNode& node, const VectorNorm& norm) {
  const OnnxTensor blob = builder.vectors(node, norm.x, norm.axes);
  for (const OnnxTensor* each : {norm.scale, norm.shift})
    if (each != nullptr && tensor_values(each->dims) != blob.shape.back())
      builder.graph().fail(
          node, fmt::format("must have {} values in \"{}\"", blob.shape.back(), each->name));
  LayerSpec layer = builder.layer(node, "LayerNorm", norm.scale == nullptr ? "" : norm.scale->name);
  if (norm.scale == nullptr || !builder.claim(*norm.scale)) layer.flags.insert("tied");
  layer.bias_term = norm.shift != nullptr && builder.claim(*norm.shift);
  return builder.add(node, layer, {blob}, norm.x.dims);
}

void layer_norm_node(OnnxBuilder& builder, const OnnxNode& node) {
  const OnnxTensor x = builder.activation(node);
  const std::size_t axis =
      onnx_axis(builder.graph(), node, builder.graph().integer(node, "axis", -1), x.dims.size());
  const OnnxTensor* shift = node.has(2) ? &builder.parameter(node, 2) : nullptr;
  builder.define(node, normalise(builder, node,
                                 {.x = x,
                                  .axes = x.dims.size() - axis,
                                  .scale = &builder.parameter(node, 1),
                                  .shift = shift}));
}

// Whether the axes are the last ones, height and width of an image, or something else.
bool are_last(const std::vector<std::size_t>& axes, std::size_t rank) {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (std::find(axes.begin(), axes.end(), rank - 1 - i) == axes.end()) return false;
  return !axes.empty();
}

bool take_layer_norm(OnnxBuilder& builder, const OnnxNode& node, const OnnxTensor& x,
                     std::size_t axes) {
  const OnnxGraph& graph = builder.graph();
  const auto place = static_cast<std::size_t>(&node - graph.nodes().data());
  const auto pattern = layer_norm_pattern(
      graph, place, [&](const std::string& tensor) { return graph.is_stated_scalar(tensor); });
  if (!pattern) return false;
  OnnxTensor out = normalise(builder, node,
                             {.x = x,
                              .axes = axes,
                              .scale = builder.find(pattern->scale),
                              .shift = builder.find(pattern->shift)});
  for (const std::size_t part : pattern->nodes) {
    builder.skip(graph.nodes()[part]);
    if (graph.nodes()[part].outputs.front() == pattern->output)
      builder.define(graph.nodes()[part], out);
  }
  return true;
}

void mean(OnnxBuilder& builder, const OnnxNode& node) {
  const OnnxGraph& graph = builder.graph();
  const OnnxTensor x = builder.activation(node);
  const std::size_t rank = x.dims.size();
  const std::vector<std::size_t> axes = stated_axes(graph, node, builder.inputs(node), rank);
  const bool is_last = are_last(axes, rank);
  if (is_last && take_layer_norm(builder, node, x, axes.size())) return;
  if (rank != 4 || axes.size() != 2 || !is_last)
    graph.fail(node, "must be the mean of an image, or part of a layer normalisation");
  const OnnxTensor image = builder.image(node, x);
  LayerSpec layer = builder.layer(node, "Pooling");
  layer.pool = "AVE";
  layer.global_pooling = true;
  Shape dims{x.dims[0], x.dims[1]};
  if (graph.integer(node, "keepdims", 1) != 0) dims.insert(dims.end(), {1, 1});
  builder.define(node, builder.add(node, layer, {image}, dims));
}

const bool kNormRulesRegistered = [] {
  for (const char* name : {"BatchNormalization", "InstanceNormalization"})
    Registry<OnnxRule>::add({name, batch_norm_node});
  Registry<OnnxRule>::add({"LayerNormalization", layer_norm_node});
  Registry<OnnxRule>::add({"ReduceMean", mean});
  return true;
}();

}  // namespace
}  // namespace forescale
