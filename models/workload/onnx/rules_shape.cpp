// Sides in another order, parts, joins and look-ups.
//
// Transpose is a pass over the values where it moves any. Split and Slice are views of channels or
// of the values of vectors; some tokens of a sequence are gathered. A table that token numbers look
// up is an embedding.
#include <fmt/format.h>

#include <algorithm>

#include "models/workload/onnx/onnx_builder.hpp"

namespace forescale {
namespace {

void renamed_values(OnnxBuilder& builder, const OnnxNode& node) {
  OnnxTensor out = builder.activation(node);
  out.dims = view_dims(builder.graph(), node, builder.inputs(node)).value();
  builder.define(node, out);
}

void transposed(OnnxBuilder& builder, const OnnxNode& node) {
  const OnnxTensor x = builder.activation(node);
  const std::vector<std::size_t> order = permutation(builder.graph(), node, x.dims.size());
  Shape dims;
  std::vector<std::size_t> wide;  // sides of 1 move nothing
  for (const std::size_t axis : order) {
    dims.push_back(x.dims[axis]);
    if (x.dims[axis] > 1) wide.push_back(axis);
  }
  OnnxTensor out = x;
  if (!std::is_sorted(wide.begin(), wide.end()) && !x.blob.empty() &&
      builder.layers().front().tops.front() != x.blob)
    out = builder.add(node, builder.layer(node, "Permute"), {x}, dims);
  out.dims = dims;
  out.is_scores = x.is_scores;
  builder.define(node, out);
}

struct AxisPart {
  std::size_t axis = 0;
  std::int64_t count = 0;
};

// Of an image's channels, of the values of vectors, or of a sequence's tokens.
OnnxTensor part_of(OnnxBuilder& builder, const OnnxNode& node, const OnnxTensor& x,
                   const AxisPart& part) {
  const OnnxGraph& graph = builder.graph();
  const std::int64_t side = x.dims[part.axis];
  if (part.count == side) return x;
  if (part.count < 1) graph.fail(node, "must leave some values");
  if (part.axis == 0 && side == builder.batch()) graph.fail(node, "must not part the batch");
  Shape dims = x.dims;
  dims[part.axis] = part.count;
  const std::size_t rank = x.dims.size();
  const bool has_batch = x.dims[0] == builder.batch();
  if (rank == 3 && part.axis == 1 && has_batch) {
    LayerSpec layer = builder.layer(node, "Gather");
    layer.sizes["count"] = part.count;
    return builder.add(node, layer, {builder.vectors(node, x)}, dims);
  }
  LayerSpec layer = builder.layer(node, "Slice");
  if (rank == 4 && part.axis == 1 && has_batch) {
    layer.sizes["count"] = part.count;
    return builder.add(node, layer, {builder.image(node, x)}, dims);
  }
  if (part.axis + 1 == rank) {
    layer.sizes["count"] = part.count;
    return builder.add(node, layer, {builder.vectors(node, x)}, dims);
  }
  if (x.shape.size() != 2 || x.shape[1] % side != 0)
    graph.fail(node, fmt::format("takes {} of side {} of {}: parts of channels, of tokens and of "
                                 "vectors alone are modelled",
                                 part.count, part.axis, to_text(x.dims)));
  layer.sizes["count"] = x.shape[1] / side * part.count;
  return builder.add(node, layer, {x}, dims);
}

void slice_node(OnnxBuilder& builder, const OnnxNode& node) {
  OnnxTensor out = builder.activation(node);
  for (const OnnxCut& cut : cuts_of(builder.graph(), node, builder.inputs(node)))
    out = part_of(builder, node, out, {.axis = cut.axis, .count = cut.count});
  builder.define(node, out);
}

void split_node(OnnxBuilder& builder, const OnnxNode& node) {
  const OnnxGraph& graph = builder.graph();
  const OnnxTensor x = builder.activation(node);
  const std::size_t axis = onnx_axis(graph, node, graph.integer(node, "axis", 0), x.dims.size());
  const auto parts = split_parts(graph, node, builder.inputs(node), x.dims[axis]);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string& name = node.outputs[i];
    if (!name.empty() && (graph.is_output(name) || !graph.readers(name).empty()))
      builder.define(node, part_of(builder, node, x, {.axis = axis, .count = parts[i]}), i);
  }
}

bool are_token_numbers(const OnnxTensor& indices) {
  return indices.kind != OnnxKind::kActivation && !indices.is_float && !indices.dims.empty();
}

// The first layer brings the tokens.
OnnxTensor token_input(OnnxBuilder& builder, const OnnxNode& node, const OnnxTensor& indices) {
  const LayerSpec& data = builder.layers().front();
  const OnnxTensor* input = builder.find(data.name);
  if (input == nullptr || input->shape.size() != 1)
    builder.graph().fail(node, "looks tokens up, and the network's input is no text");
  OnnxTensor tokens = *input;
  if (builder.values_each(node, indices.kind == OnnxKind::kSide ? indices.dims : tokens.dims) !=
      tokens.shape[0])
    builder.graph().fail(node,
                         fmt::format("must look up the {} tokens of the input", tokens.shape[0]),
                         to_text(indices.dims));
  return tokens;
}

void look_up(OnnxBuilder& builder, const OnnxNode& node, const OnnxTensor& indices) {
  const OnnxTensor table = builder.parameter(node, 0);
  if (table.dims.size() != 2 || builder.graph().integer(node, "axis", 0) != 0)
    builder.graph().fail(node, "must look up rows of a matrix", to_text(table.dims));
  LayerSpec layer = builder.layer(node, "Embedding", table.name);
  layer.num_output = table.dims[1];
  layer.sizes["vocabulary"] = table.dims[0];
  if (!builder.claim(table)) layer.flags.insert("tied");
  Shape dims = indices.dims;
  dims.push_back(table.dims[1]);
  builder.define(node, builder.add(node, layer, {token_input(builder, node, indices)}, dims));
}

void gather_node(OnnxBuilder& builder, const OnnxNode& node) {
  const OnnxGraph& graph = builder.graph();
  const OnnxTensor& data = builder.input(node, 0);
  const OnnxTensor indices = builder.input(node, 1);
  if (data.kind == OnnxKind::kParameter && are_token_numbers(indices))
    return look_up(builder, node, indices);
  const OnnxTensor x = builder.activation(node);
  if (indices.kind == OnnxKind::kActivation || indices.dims.size() > 1)
    graph.fail(node, "must take parts that the file states");
  const std::size_t axis = onnx_axis(graph, node, graph.integer(node, "axis", 0), x.dims.size());
  OnnxTensor out =
      part_of(builder, node, x, {.axis = axis, .count = tensor_values(indices.dims).value_or(0)});
  out.dims = x.dims;
  const auto at = out.dims.begin() + static_cast<std::ptrdiff_t>(axis);
  if (indices.dims.empty())
    out.dims.erase(at);
  else
    *at = indices.dims[0];
  builder.define(node, out);
}

// A learned tensor that is joined with blobs: the token of a class.
OnnxTensor learned_part(OnnxBuilder& builder, const OnnxNode& node, const OnnxTensor& learned) {
  const auto original = builder.graph().initializers().find(learned.name);
  if (learned.kind != OnnxKind::kParameter || learned.dims.empty() ||
      original == builder.graph().initializers().end())
    builder.graph().fail(node, "must join what layers make, and what is learned");
  OnnxTensor own = stated_tensor(*original->second);
  const std::int64_t width = learned.dims.back();
  const std::int64_t values = tensor_values(own.dims).value_or(0);
  if (width < 1 || values % width != 0 || values < 1 || !builder.claim(own))
    builder.graph().fail(node, "must join learned vectors that no other layer has", own.name);
  LayerSpec layer = builder.layer(node, "Learned", own.name);
  layer.num_output = width;
  layer.sizes["count"] = values / width;
  return builder.add(node, layer, {}, learned.dims);
}

// Where it joins neither channels nor tokens the values of all are one vector: the same bytes.
void concat_node(OnnxBuilder& builder, const OnnxNode& node) {
  const OnnxGraph& graph = builder.graph();
  std::vector<OnnxTensor> parts;
  for (const OnnxTensor& in : builder.inputs(node))
    parts.push_back(in.kind == OnnxKind::kActivation ? in : learned_part(builder, node, in));
  const std::size_t rank = parts[0].dims.size();
  const std::size_t axis = onnx_axis(graph, node, graph.integer(node, "axis", 0), rank);
  const bool is_first = axis == 1 && parts[0].dims[0] == builder.batch();
  Shape dims = parts[0].dims;
  dims[axis] = 0;
  for (OnnxTensor& part : parts) {
    Shape like = part.dims;
    if (like.size() == rank) like[axis] = parts[0].dims[axis];
    if (like != parts[0].dims)
      graph.fail(node, fmt::format("joins {} with {}", to_text(parts[0].dims), to_text(part.dims)));
    dims[axis] += part.dims[axis];
  }
  if (axis == 0 && rank > 1) graph.fail(node, "must not join the images of a batch");
  for (OnnxTensor& part : parts)
    part = builder.shaped(node, part,
                          is_first && rank > 1 ? Shape{part.dims.begin() + 1, part.dims.end()}
                                               : Shape{builder.values_each(node, part.dims)});
  builder.define(node, builder.add(node, builder.layer(node, "Concat"), parts, dims));
}

// Copies over the batch alone.
void expand_node(OnnxBuilder& builder, const OnnxNode& node) {
  const OnnxGraph& graph = builder.graph();
  OnnxTensor out = builder.activation(node);
  const OnnxTensor& sides = builder.input(node, 1);
  if (!sides.has_values())
    graph.fail(node, "must have a shape that follows from the file and the input's shape");
  Shape wanted;
  for (const double side : sides.values) wanted.push_back(whole_of(side));
  const Shape dims = broadcast(graph, node, out.dims, wanted);
  if (tensor_values(dims) != tensor_values(out.dims))
    graph.fail(node, fmt::format("copies {} to {}, which no layer does", to_text(out.dims),
                                 to_text(dims)));
  out.dims = dims;
  builder.define(node, out);
}

const bool kShapeRulesRegistered = [] {
  for (const char* name : {"Cast", "CastLike", "Flatten", "Reshape", "Squeeze", "Unsqueeze"})
    Registry<OnnxRule>::add({name, renamed_values});
  Registry<OnnxRule>::add({"Transpose", transposed});
  Registry<OnnxRule>::add({"Slice", slice_node});
  Registry<OnnxRule>::add({"Split", split_node});
  Registry<OnnxRule>::add({"Gather", gather_node});
  Registry<OnnxRule>::add({"Concat", concat_node});
  Registry<OnnxRule>::add({"Expand", expand_node});
  return true;
}();

}  // namespace
}  // namespace forescale
