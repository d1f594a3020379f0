// Convolutions, pooling, padding and local response normalisation.
//
// Operators pad both ends of a side alike. Uneven padding (TensorFlow's SAME_UPPER, a Pad before)
// is taken as the even one, next to it, that gives as many outputs; where there is none it is
// refused.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/workload/onnx/onnx_builder.hpp"

namespace forescale {
namespace {

struct WindowSide {
  std::int64_t in = 0;
  std::int64_t reach = 1;  // dilation * (kernel - 1) + 1
  std::int64_t stride = 1;
  std::int64_t head = 0;  // padding in front
  std::int64_t tail = 0;
};

struct FittedSide {
  std::int64_t pad = 0;
  std::int64_t out = 0;
  bool ceil = false;
};

constexpr std::int64_t kWindowMax = 1'000'000'000;

std::int64_t outputs_of(const WindowSide& side, bool ceil) {
  const std::int64_t room = side.in + side.head + side.tail - side.reach;
  if (room < 0) return 0;
  const std::int64_t out = (room + (ceil ? side.stride - 1 : 0)) / side.stride + 1;
  // PyTorch and Caffe: no window begins behind the image.
  return ceil && side.head > 0 && (out - 1) * side.stride >= side.in + side.head ? out - 1 : out;
}

FittedSide fitted_side(OnnxBuilder& builder, const OnnxNode& node, const WindowSide& side,
                       bool ceil, bool may_ceil) {
  const OnnxGraph& graph = builder.graph();
  for (const std::int64_t number : {side.in, side.reach, side.stride, side.head, side.tail})
    if (number < 0 || number > kWindowMax)
      graph.fail(node, "must have a window, strides and padding from 0 to 1e9",
                 std::to_string(number));
  if (side.stride < 1 || side.reach < 1) graph.fail(node, "must have a window and strides >= 1");
  const std::int64_t out = outputs_of(side, ceil);
  if (out < 1)
    graph.fail(node, fmt::format("has a window of {} on an input of {}", side.reach, side.in));
  if (side.head != side.tail) builder.count_uneven_padding();
  const std::int64_t sum = side.head + side.tail;
  for (const bool rounds : {ceil, !ceil})
    for (const std::int64_t pad : {sum / 2, (sum + 1) / 2}) {
      WindowSide even = side;
      even.head = even.tail = pad;
      if ((!rounds || may_ceil) && outputs_of(even, rounds) == out)
        return {.pad = pad, .out = out, .ceil = rounds};
    }
  graph.fail(node, fmt::format("has uneven padding, {} and {}, that no even one can stand for",
                               side.head, side.tail));
}

// Padding of one side as auto_pad or pads say, with that of a Pad node before.
void set_padding(const OnnxGraph& graph, const OnnxNode& node, const OnnxTensor& input,
                 std::size_t axis, WindowSide& side) {
  const std::string automatic = graph.text(node, "auto_pad");
  const std::vector<std::int64_t> pads = graph.integers(node, "pads");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    if (side.stride < 1 || side.in < 1 || side.in > kWindowMax) return;
    const std::int64_t out = (side.in + side.stride - 1) / side.stride;
    const std::int64_t sum =
        std::max<std::int64_t>(0, (out - 1) * side.stride + side.reach - side.in);
    side.head = automatic == "SAME_UPPER" ? sum / 2 : sum - sum / 2;
    side.tail = sum - side.head;
  } else if (!pads.empty() && automatic != "VALID") {
    if (pads.size() != 4) graph.fail(node, "must have 4 pads", std::to_string(pads.size()));
    side.head = pads[axis];
    side.tail = pads[axis + 2];
  }
  if (input.padding.empty() || side.head < 0 || side.tail < 0 || side.head > kWindowMax ||
      side.tail > kWindowMax)
    return;
  side.in -= input.padding[axis] + input.padding[axis + 2];
  side.head += input.padding[axis];
  side.tail += input.padding[axis + 2];
}

std::int64_t of_two(const OnnxGraph& graph, const OnnxNode& node, const char* name,
                    std::size_t axis, std::int64_t unless) {
  const std::vector<std::int64_t> stated = graph.integers(node, name);
  if (stated.empty()) return unless;
  if (stated.size() != 2)
    graph.fail(node, fmt::format("must have 2 {}: images alone are modelled", name),
               std::to_string(stated.size()));
  return stated[axis];
}

std::int64_t reach_of(const OnnxGraph& graph, const OnnxNode& node, std::int64_t kernel,
                      std::int64_t dilation) {
  if (kernel < 1 || dilation < 1 || kernel > kWindowMax || dilation > kWindowMax)
    graph.fail(node, "must have a window and dilations from 1 to 1e9");
  return dilation * (kernel - 1) + 1;
}

OnnxTensor without_padding(const OnnxTensor& tensor) {
  OnnxTensor bare = tensor;
  if (bare.padding.empty() || bare.dims.size() != 4) return bare;
  bare.dims[2] -= bare.padding[0] + bare.padding[2];
  bare.dims[3] -= bare.padding[1] + bare.padding[3];
  bare.padding.clear();
  return bare;
}

void convolution(OnnxBuilder& builder, const OnnxNode& node) {
  const OnnxGraph& graph = builder.graph();
  const OnnxTensor x = builder.activation(node);
  const OnnxTensor weights = builder.parameter(node, 1);
  if (weights.dims.size() != 4 || x.dims.size() != 4)
    graph.fail(node, fmt::format("has {} dimensions: convolutions over the two of images alone are "
                                 "modelled",
                                 std::max<std::size_t>(weights.dims.size(), 2) - 2));
  const OnnxTensor image = builder.image(node, without_padding(x));
  LayerSpec layer = builder.layer(node, "Convolution", weights.name);
  layer.num_output = weights.dims[0];
  layer.kernel = {.height = weights.dims[2], .width = weights.dims[3]};
  layer.group = graph.integer(node, "group", 1);
  if (layer.group < 1 || image.shape[0] % layer.group != 0 ||
      weights.dims[1] != image.shape[0] / layer.group)
    graph.fail(node, fmt::format("has weights {} in {} groups for {} channels",
                                 to_text(weights.dims), layer.group, image.shape[0]));
  const std::array<std::int64_t*, 2> stride = {&layer.stride.height, &layer.stride.width};
  const std::array<std::int64_t*, 2> dilation = {&layer.dilation.height, &layer.dilation.width};
  const std::array<std::int64_t*, 2> pad = {&layer.pad.height, &layer.pad.width};
  Shape dims{x.dims[0], layer.num_output};
  for (const std::size_t axis : {0U, 1U}) {
    *stride[axis] = of_two(graph, node, "strides", axis, 1);
    *dilation[axis] = of_two(graph, node, "dilations", axis, 1);
    WindowSide side{.in = x.dims[axis + 2],
                    .reach = reach_of(graph, node, weights.dims[axis + 2], *dilation[axis]),
                    .stride = *stride[axis]};
    set_padding(graph, node, x, axis, side);
    const FittedSide fitted = fitted_side(builder, node, side, false, false);
    *pad[axis] = fitted.pad;
    dims.push_back(fitted.out);
  }
  layer.bias_term = false;
  if (node.has(2)) layer.bias_term = builder.claim(builder.parameter(node, 2, layer.num_output));
  if (!builder.claim(weights)) layer.flags.insert("tied");
  builder.define(node, builder.add(node, layer, {image}, dims));
}

void pooling(OnnxBuilder& builder, const OnnxNode& node) {
  const OnnxGraph& graph = builder.graph();
  const OnnxTensor x = builder.activation(node);
  const OnnxTensor image = builder.image(node, without_padding(x));
  LayerSpec layer = builder.layer(node, "Pooling");
  layer.pool = node.type == "MaxPool" ? "MAX" : "AVE";
  const std::array<std::int64_t*, 2> kernel = {&layer.kernel.height, &layer.kernel.width};
  const std::array<std::int64_t*, 2> stride = {&layer.stride.height, &layer.stride.width};
  const std::array<std::int64_t*, 2> pad = {&layer.pad.height, &layer.pad.width};
  const bool ceil = graph.integer(node, "ceil_mode", 0) != 0;
  Shape dims{x.dims[0], x.dims[1]};
  std::array<FittedSide, 2> sides;
  for (const std::size_t axis : {0U, 1U}) {
    *kernel[axis] = of_two(graph, node, "kernel_shape", axis, 0);
    *stride[axis] = of_two(graph, node, "strides", axis, 1);
    if (of_two(graph, node, "dilations", axis, 1) != 1)
      graph.fail(node, "must not be dilated: no such pooling is modelled");
    WindowSide side{.in = x.dims[axis + 2],
                    .reach = reach_of(graph, node, *kernel[axis], 1),
                    .stride = *stride[axis]};
    set_padding(graph, node, x, axis, side);
    // The second side rounds as the first one had to.
    const bool rounds = axis == 0 ? ceil : sides[0].ceil;
    sides[axis] = fitted_side(builder, node, side, rounds, axis == 0 || rounds);
    *pad[axis] = sides[axis].pad;
    dims.push_back(sides[axis].out);
  }
  layer.round_mode = sides[0].ceil ? "CEIL" : "FLOOR";
  const OnnxTensor out = builder.add(node, layer, {image}, dims);
  if (out.shape != Shape{dims.begin() + 1, dims.end()})
    graph.fail(node,
               fmt::format("gives {}, and the operator {}", to_text(dims), to_text(out.shape)));
  builder.define(node, out);
}

void global_pooling(OnnxBuilder& builder, const OnnxNode& node) {
  const OnnxTensor image = builder.image(node, builder.activation(node));
  LayerSpec layer = builder.layer(node, "Pooling");
  layer.pool = node.type == "GlobalMaxPool" ? "MAX" : "AVE";
  layer.global_pooling = true;
  builder.define(node, builder.add(node, layer, {image}, {image.dims[0], image.dims[1], 1, 1}));
}

// Waits for the window behind it, which pads.
void padding(OnnxBuilder& builder, const OnnxNode& node) {
  const OnnxGraph& graph = builder.graph();
  OnnxTensor out = builder.activation(node);
  std::vector<std::int64_t> pads = graph.integers(node, "pads");
  if (node.has(1)) {
    if (!builder.input(node, 1).has_values())
      graph.fail(node, "must have pads that follow from the file and the input's shape");
    for (const double pad : builder.input(node, 1).values) pads.push_back(whole_of(pad));
  }
  const bool is_nothing =
      std::all_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad == 0; });
  if (!is_nothing) {
    if (pads.size() != 8 || out.dims.size() != 4 || pads[0] != 0 || pads[1] != 0 || pads[4] != 0 ||
        pads[5] != 0 || !out.padding.empty())
      graph.fail(node, "must pad height and width of an image alone");
    for (const std::int64_t pad : pads)
      if (pad < 0 || pad > kWindowMax)
        graph.fail(node, "must pad by 0 to 1e9", std::to_string(pad));
    for (const std::size_t reader : graph.readers(node.outputs.front()))
      if (const std::string& type = graph.nodes()[reader].type;
          type != "Conv" && type != "MaxPool" && type != "AveragePool")
        graph.fail(node, "must stand before a convolution or a pooling, which pads then", type);
    if (graph.is_output(node.outputs.front()))
      graph.fail(node, "must stand before a convolution or a pooling, which pads then");
    out.padding = {pads[2], pads[3], pads[6], pads[7]};
    out.dims[2] += pads[2] + pads[6];
    out.dims[3] += pads[3] + pads[7];
  }
  builder.define(node, out);
}

void response_norm(OnnxBuilder& builder, const OnnxNode& node) {
  const OnnxTensor& x = builder.activation(node);
  const Shape dims = x.dims;
  builder.define(node, builder.add(node, builder.layer(node, "LRN"), {x}, dims));
}

const bool kWindowRulesRegistered = [] {
  Registry<OnnxRule>::add({"Conv", convolution});
  for (const char* name : {"MaxPool", "AveragePool"}) Registry<OnnxRule>::add({name, pooling});
  for (const char* name : {"GlobalMaxPool", "GlobalAveragePool"})
    Registry<OnnxRule>::add({name, global_pooling});
  Registry<OnnxRule>::add({"Pad", padding});
  Registry<OnnxRule>::add({"LRN", response_norm});
  return true;
}();

}  // namespace
}  // namespace forescale
