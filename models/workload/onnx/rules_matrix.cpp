// Fully connected layers, and products of two activations, which are attention's.
//
// One vector an image is an InnerProduct, several are a Linear layer of each. Queries x keys make
// the scores of as many heads as there are products an image; scores x values are the mix.
#include <fmt/format.h>

#include <algorithm>

#include "models/workload/onnx/onnx_builder.hpp"

namespace forescale {
namespace {

struct FullyConnected {
  OnnxTensor x;
  OnnxTensor weights;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::size_t bias = 0;  // which input is one; 0: none
};

void fully_connect(OnnxBuilder& builder, const OnnxNode& node, const FullyConnected& full) {
  const OnnxGraph& graph = builder.graph();
  if (full.x.dims.empty() || full.x.dims.back() != full.inputs)
    graph.fail(node, fmt::format("has weights for vectors of {} and reads {}", full.inputs,
                                 to_text(full.x.dims)));
  const bool one_vector = builder.values_each(node, full.x.dims) == full.inputs;
  LayerSpec layer = builder.layer(node, one_vector ? "InnerProduct" : "Linear", full.weights.name);
  layer.num_output = full.outputs;
  layer.bias_term = false;
  if (full.bias != 0)
    layer.bias_term = builder.claim(builder.parameter(node, full.bias, full.outputs));
  if (!builder.claim(full.weights)) layer.flags.insert("tied");
  Shape dims = full.x.dims;
  dims.back() = full.outputs;
  const OnnxTensor bottom = one_vector ? full.x : builder.vectors(node, full.x);
  builder.define(node, builder.add(node, layer, {bottom}, dims));
}

void require_matrix(const OnnxBuilder& builder, const OnnxNode& node, const OnnxTensor& weights) {
  if (weights.dims.size() != 2)
    builder.graph().fail(node, "must have weights that are a matrix", to_text(weights.dims));
}

void gemm(OnnxBuilder& builder, const OnnxNode& node) {
  const OnnxGraph& graph = builder.graph();
  FullyConnected full{.x = builder.activation(node), .weights = builder.parameter(node, 1)};
  require_matrix(builder, node, full.weights);
  if (graph.integer(node, "transA", 0) != 0 || full.x.dims.size() != 2)
    graph.fail(node, "must read a matrix of vectors that is not transposed", to_text(full.x.dims));
  const bool transposed = graph.integer(node, "transB", 0) != 0;
  full.inputs = full.weights.dims[transposed ? 1 : 0];
  full.outputs = full.weights.dims[transposed ? 0 : 1];
  if (node.has(2)) full.bias = 2;
  fully_connect(builder, node, full);
}

// Of a batch of products; fails where it is not the same number for each image.
std::int64_t products_each(const OnnxBuilder& builder, const OnnxNode& node, const Shape& dims) {
  return builder.values_each(node, {dims.begin(), dims.end() - 2});
}

void product(OnnxBuilder& builder, const OnnxNode& node) {
  const OnnxGraph& graph = builder.graph();
  const OnnxTensor left = builder.activation(node, 0);
  const OnnxTensor right = builder.activation(node, 1);
  const std::size_t rank = left.dims.size();
  if (rank < 3 || right.dims.size() != rank || left.dims[rank - 1] != right.dims[rank - 2] ||
      !std::equal(left.dims.begin(), left.dims.end() - 2, right.dims.begin()))
    graph.fail(node, fmt::format("multiplies {} and {}: products of heads alone are modelled",
                                 to_text(left.dims), to_text(right.dims)));
  const std::int64_t heads = products_each(builder, node, left.dims);
  const std::int64_t rows = left.dims[rank - 2];
  const std::int64_t inner = left.dims[rank - 1];
  const std::int64_t columns = right.dims[rank - 1];
  if (!tensor_values({heads, rows, inner}) || !tensor_values({heads, columns, inner}))
    graph.fail(node, "must have < 2^53 values");
  Shape dims = left.dims;
  dims.back() = columns;
  if (left.is_scores) {
    const OnnxTensor values = builder.shaped(node, right, {inner, heads * columns});
    builder.define(node,
                   builder.add(node, builder.layer(node, "AttentionMix"), {left, values}, dims));
    return;
  }
  if (rows != columns)
    graph.fail(node, fmt::format("makes scores of {} queries and {} keys: attention within one "
                                 "sequence alone is modelled",
                                 rows, columns));
  LayerSpec layer = builder.layer(node, "AttentionScores");
  layer.sizes["heads"] = heads;
  OnnxTensor scores = builder.add(node, layer,
                                  {builder.shaped(node, left, {rows, heads * inner}),
                                   builder.shaped(node, right, {rows, heads * inner})},
                                  dims);
  scores.is_scores = true;
  builder.define(node, scores);
}

void matmul(OnnxBuilder& builder, const OnnxNode& node) {
  if (builder.input(node, 1).kind == OnnxKind::kActivation) return product(builder, node);
  const FullyConnected found{.x = builder.activation(node), .weights = builder.parameter(node, 1)};
  require_matrix(builder, node, found.weights);
  FullyConnected full = found;
  full.inputs = full.weights.dims[0];
  full.outputs = full.weights.dims[1];
  fully_connect(builder, node, full);
}

const bool kMatrixRulesRegistered = [] {
  Registry<OnnxRule>::add({"Gemm", gemm});
  Registry<OnnxRule>::add({"MatMul", matmul});
  return true;
}();

}  // namespace
}  // namespace forescale
