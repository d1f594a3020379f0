// Nodes whose inputs are known before training, or are made of the network's inputs alone.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "models/workload/onnx/onnx_tensor.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kFoldedMax = 4096;  // values that are followed

using Unary = double (*)(double);
using Binary = double (*)(double, double);

const std::map<std::string, Unary> kUnary = {
    {"Abs", [](double a) { return std::abs(a); }},
    {"Ceil", [](double a) { return std::ceil(a); }},
    {"Cos", [](double a) { return std::cos(a); }},
    {"Erf", [](double a) { return std::erf(a); }},
    {"Exp", [](double a) { return std::exp(a); }},
    {"Floor", [](double a) { return std::floor(a); }},
    {"Log", [](double a) { return std::log(a); }},
    {"Neg", [](double a) { return -a; }},
    {"Not", [](double a) { return a == 0 ? 1.0 : 0.0; }},
    {"Reciprocal", [](double a) { return 1 / a; }},
    {"Round", [](double a) { return std::nearbyint(a); }},
    {"Sin", [](double a) { return std::sin(a); }},
    {"Sqrt", [](double a) { return std::sqrt(a); }},
};

const std::map<std::string, Binary> kBinary = {
    {"Add", [](double a, double b) { return a + b; }},
    {"And", [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; }},
    {"Div", [](double a, double b) { return a / b; }},
    {"Equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
    {"Greater", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
    {"GreaterOrEqual", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
    {"Less", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
    {"LessOrEqual", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
    {"Max", [](double a, double b) { return std::max(a, b); }},
    {"Min", [](double a, double b) { return std::min(a, b); }},
    {"Mod", [](double a, double b) { return a - b * std::floor(a / b); }},
    {"Mul", [](double a, double b) { return a * b; }},
    {"Or", [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; }},
    {"Pow", [](double a, double b) { return std::pow(a, b); }},
    {"Sub", [](double a, double b) { return a - b; }},
};

// Of the first input's sides, with values that nothing here depends on.
const std::set<std::string> kSameSides = {"Clip",      "CumSum",  "EyeLike", "IsNaN", "LogSoftmax",
                                          "ScatterND", "Sigmoid", "Softmax", "Tanh",  "Trilu"};

bool is_followed(const Shape& dims) {
  const auto count = tensor_values(dims);
  return count && *count <= kFoldedMax;
}

// Of all inputs: what depends on the network's inputs is beside, what is learned stays learned.
OnnxTensor joined(const std::vector<OnnxTensor>& inputs) {
  OnnxTensor out;
  for (const OnnxTensor& in : inputs) {
    if (in.kind == OnnxKind::kSide) out.kind = OnnxKind::kSide;
    if (in.kind == OnnxKind::kParameter && out.kind == OnnxKind::kConstant) {
      out.kind = OnnxKind::kParameter;
      out.name = in.name;
    }
    out.is_float = out.is_float || in.is_float;
  }
  return out;
}

// Where, in a tensor of sides `dims`, the value lies that belongs to place `at` of `out`.
std::size_t place_of(std::size_t at, const Shape& out, const Shape& dims) {
  std::size_t place = 0;
  std::size_t stride = 1;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto side = static_cast<std::size_t>(out[out.size() - 1 - i]);
    const std::size_t coordinate = at % side;
    at /= side;
    if (i >= dims.size()) continue;
    const auto own = static_cast<std::size_t>(dims[dims.size() - 1 - i]);
    if (own != 1) place += coordinate * stride;
    stride *= own;
  }
  return place;
}

OnnxTensor fold_binary(const OnnxGraph& graph, const OnnxNode& node,
                       const std::vector<OnnxTensor>& inputs, Binary apply) {
  OnnxTensor out = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const OnnxTensor left = out;
    out = joined({left, inputs[i]});
    out.dims = broadcast(graph, node, left.dims, inputs[i].dims);
    if (!left.has_values() || !inputs[i].has_values() || !is_followed(out.dims)) continue;
    const bool truncates = node.type == "Div" && !out.is_float;
    const auto count = static_cast<std::size_t>(*tensor_values(out.dims));
    for (std::size_t at = 0; at < count; ++at) {
      const double value = apply(left.values[place_of(at, out.dims, left.dims)],
                                 inputs[i].values[place_of(at, out.dims, inputs[i].dims)]);
      out.values.push_back(truncates ? std::trunc(value) : value);
    }
  }
  return out;
}

OnnxTensor fold_constant(const OnnxGraph& graph, const OnnxNode& node) {
  if (const auto* value = graph.attribute(node, "value"); value != nullptr) {
    OnnxTensor out = stated_tensor(value->t());
    for (const std::int64_t side : out.dims)
      if (side < 0) graph.fail(node, "must have sides >= 0", std::to_string(side));
    if (out.name.empty()) out.name = node.outputs[0];
    if (out.kind == OnnxKind::kParameter) out.kind = OnnxKind::kConstant;
    return out;
  }
  const auto whole = [](std::int64_t value) {
    return static_cast<double>(whole_of(static_cast<double>(value)));
  };
  OnnxTensor out;
  if (const auto* value = graph.attribute(node, "value_int"); value != nullptr) {
    out.values = {whole(value->i())};
  } else if (const auto* one = graph.attribute(node, "value_float"); one != nullptr) {
    out.is_float = true;
    out.values = {one->f()};
  } else if (const auto* many = graph.attribute(node, "value_ints"); many != nullptr) {
    out.dims = {many->ints_size()};
    for (const std::int64_t each : many->ints()) out.values.push_back(whole(each));
  } else if (const auto* reals = graph.attribute(node, "value_floats"); reals != nullptr) {
    out.is_float = true;
    out.dims = {reals->floats_size()};
    out.values.assign(reals->floats().begin(), reals->floats().end());
  } else {
    graph.fail(node, "must have a value that is a tensor or numbers");
  }
  return out;
}

OnnxTensor fold_shape(const OnnxGraph& graph, const OnnxNode& node, const Shape& dims) {
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto within = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t begin = within(graph.integer(node, "start", 0));
  const std::int64_t end = std::max(begin, within(graph.integer(node, "end", rank)));
  OnnxTensor out{.dims = {end - begin}};
  for (std::int64_t i = begin; i < end; ++i)
    out.values.push_back(static_cast<double>(dims[static_cast<std::size_t>(i)]));
  return out;
}

// The sides that a first input states, as ConstantOfShape and Expand have them.
Shape stated_dims(const OnnxGraph& graph, const OnnxNode& node, const OnnxTensor& sides) {
  if (!sides.has_values() && sides.dims != Shape{0})
    graph.fail(node, "must have a shape that follows from the file and the input's shape");
  Shape dims;
  for (const double side : sides.values) {
    if (side < 0) graph.fail(node, "must have sides >= 0", std::to_string(whole_of(side)));
    dims.push_back(whole_of(side));
  }
  return dims;
}

OnnxTensor fold_filled(const OnnxGraph& graph, const OnnxNode& node, const OnnxTensor& sides) {
  OnnxTensor out{.dims = stated_dims(graph, node, sides)};
  double value = 0;
  if (const auto* stated = graph.attribute(node, "value"); stated != nullptr) {
    const OnnxTensor one = stated_tensor(stated->t());
    out.is_float = one.is_float;
    if (!one.values.empty()) value = one.values[0];
  } else {
    out.is_float = true;
  }
  if (is_followed(out.dims))
    out.values.assign(static_cast<std::size_t>(*tensor_values(out.dims)), value);
  return out;
}

OnnxTensor fold_range(const OnnxGraph& graph, const OnnxNode& node,
                      const std::vector<OnnxTensor>& inputs) {
  if (inputs.size() < 3 || !inputs[0].has_values() || !inputs[1].has_values() ||
      !inputs[2].has_values() || inputs[2].values[0] == 0)
    graph.fail(node, "must have ends and a step that follow from the file and the input's shape");
  const double begin = inputs[0].values[0];
  const double step = inputs[2].values[0];
  const std::int64_t count =
      std::max<std::int64_t>(0, whole_of(std::ceil((inputs[1].values[0] - begin) / step)));
  OnnxTensor out = joined(inputs);
  out.dims = {count};
  if (is_followed(out.dims))
    for (std::int64_t i = 0; i < count; ++i)
      out.values.push_back(begin + static_cast<double>(i) * step);
  return out;
}

OnnxTensor fold_expand(const OnnxGraph& graph, const OnnxNode& node,
                       const std::vector<OnnxTensor>& inputs) {
  if (inputs.size() < 2) graph.fail(node, "must have a shape");
  OnnxTensor out = inputs[0];
  out.dims = broadcast(graph, node, inputs[0].dims, stated_dims(graph, node, inputs[1]));
  if (out.has_values()) return out;
  const bool one = inputs[0].values.size() == 1 && is_followed(out.dims);
  out.values.clear();
  if (one)
    out.values.assign(static_cast<std::size_t>(*tensor_values(out.dims)), inputs[0].values[0]);
  return out;
}

OnnxTensor fold_gather(const OnnxGraph& graph, const OnnxNode& node,
                       const std::vector<OnnxTensor>& inputs) {
  if (inputs.size() < 2) graph.fail(node, "must have indices");
  const Shape& from = inputs[0].dims;
  const std::size_t axis = onnx_axis(graph, node, graph.integer(node, "axis", 0), from.size());
  OnnxTensor out = joined(inputs);
  out.is_float = inputs[0].is_float;
  const auto at = static_cast<std::ptrdiff_t>(axis);
  out.dims.assign(from.begin(), from.begin() + at);
  out.dims.insert(out.dims.end(), inputs[1].dims.begin(), inputs[1].dims.end());
  out.dims.insert(out.dims.end(), from.begin() + at + 1, from.end());
  if (axis != 0 || !inputs[0].has_values() || !inputs[1].has_values() || !is_followed(out.dims))
    return out;
  const auto row = static_cast<std::int64_t>(inputs[0].values.size()) / from[0];
  for (const double index : inputs[1].values) {
    std::int64_t first = whole_of(index);
    if (first < 0) first += from[0];
    if (first < 0 || first >= from[0])
      graph.fail(node, "takes what is not there", std::to_string(whole_of(index)));
    for (std::int64_t i = 0; i < row; ++i)
      out.values.push_back(inputs[0].values[static_cast<std::size_t>(first * row + i)]);
  }
  return out;
}

OnnxTensor fold_concat(const OnnxGraph& graph, const OnnxNode& node,
                       const std::vector<OnnxTensor>& inputs) {
  const std::size_t axis =
      onnx_axis(graph, node, graph.integer(node, "axis", 0), inputs[0].dims.size());
  OnnxTensor out = joined(inputs);
  out.dims = inputs[0].dims;
  out.dims[axis] = 0;
  bool known = axis == 0;
  for (const OnnxTensor& in : inputs) {
    if (in.dims.size() != out.dims.size()) graph.fail(node, "must join tensors of one rank");
    out.dims[axis] += in.dims[axis];
    known = known && (in.has_values() || tensor_values(in.dims) == 0);
    if (!tensor_values(out.dims)) graph.fail(node, "must have < 2^53 values");
  }
  if (known && is_followed(out.dims))
    for (const OnnxTensor& in : inputs)
      out.values.insert(out.values.end(), in.values.begin(), in.values.end());
  return out;
}

OnnxTensor fold_slice(const OnnxGraph& graph, const OnnxNode& node,
                      const std::vector<OnnxTensor>& inputs) {
  OnnxTensor out = inputs[0];
  out.values.clear();
  const std::vector<OnnxCut> cuts = cuts_of(graph, node, inputs);
  for (const OnnxCut& cut : cuts) out.dims[cut.axis] = cut.count;
  if (inputs[0].dims.size() == 1 && inputs[0].has_values() && cuts.size() == 1)
    for (std::int64_t i = 0; i < cuts[0].count; ++i)
      out.values.push_back(
          inputs[0].values[static_cast<std::size_t>(cuts[0].begin + i * cuts[0].step)]);
  if (out.dims == inputs[0].dims) out.values = inputs[0].values;
  return out;
}

std::vector<OnnxTensor> fold_split(const OnnxGraph& graph, const OnnxNode& node,
                                   const std::vector<OnnxTensor>& inputs) {
  const Shape& from = inputs[0].dims;
  const std::size_t axis = onnx_axis(graph, node, graph.integer(node, "axis", 0), from.size());
  std::vector<OnnxTensor> outs;
  std::int64_t begin = 0;
  for (const std::int64_t part : split_parts(graph, node, inputs, from[axis])) {
    OnnxTensor out = inputs[0];
    out.dims[axis] = part;
    out.values.clear();
    if (from.size() == 1 && inputs[0].has_values())
      out.values.assign(inputs[0].values.begin() + begin, inputs[0].values.begin() + begin + part);
    begin += part;
    outs.push_back(out);
  }
  return outs;
}

OnnxTensor fold_transpose(const OnnxGraph& graph, const OnnxNode& node, const OnnxTensor& in) {
  OnnxTensor out = in;
  out.dims.clear();
  for (const std::size_t axis : permutation(graph, node, in.dims.size()))
    out.dims.push_back(in.dims[axis]);
  if (in.dims.size() > 1) out.values.clear();
  return out;
}

OnnxTensor fold_reduced(const OnnxGraph& graph, const OnnxNode& node,
                        const std::vector<OnnxTensor>& inputs) {
  const Shape& from = inputs[0].dims;
  const auto axes = stated_axes(graph, node, inputs, from.size());
  const bool keeps = graph.integer(node, "keepdims", 1) != 0;
  OnnxTensor out = inputs[0];
  out.dims.clear();
  out.values.clear();
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool gone = axes.empty() || std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!gone || keeps) out.dims.push_back(gone ? 1 : from[i]);
  }
  if (tensor_values(out.dims) != 1 || !inputs[0].has_values()) return out;
  const std::vector<double>& all = inputs[0].values;
  double value = node.type == "ReduceProd" ? 1 : 0;
  for (const double each : all) value = node.type == "ReduceProd" ? value * each : value + each;
  if (node.type == "ReduceMax") value = *std::max_element(all.begin(), all.end());
  if (node.type == "ReduceMin") value = *std::min_element(all.begin(), all.end());
  if (node.type == "ReduceMean") value /= static_cast<double>(all.size());
  out.values = {value};
  return out;
}

OnnxTensor fold_where(const OnnxGraph& graph, const OnnxNode& node,
                      const std::vector<OnnxTensor>& inputs) {
  if (inputs.size() < 3) graph.fail(node, "must have three inputs");
  OnnxTensor out = joined(inputs);
  out.dims = broadcast(graph, node, broadcast(graph, node, inputs[0].dims, inputs[1].dims),
                       inputs[2].dims);
  const bool known = std::all_of(inputs.begin(), inputs.end(),
                                 [](const OnnxTensor& in) { return in.has_values(); });
  if (!known || !is_followed(out.dims)) return out;
  const auto count = static_cast<std::size_t>(*tensor_values(out.dims));
  for (std::size_t at = 0; at < count; ++at) {
    const bool first = inputs[0].values[place_of(at, out.dims, inputs[0].dims)] != 0;
    const OnnxTensor& taken = inputs[first ? 1 : 2];
    out.values.push_back(taken.values[place_of(at, out.dims, taken.dims)]);
  }
  return out;
}

OnnxTensor fold_tile(const OnnxGraph& graph, const OnnxNode& node,
                     const std::vector<OnnxTensor>& inputs) {
  if (inputs.size() < 2) graph.fail(node, "must have repeats");
  const Shape repeats = stated_dims(graph, node, inputs[1]);
  OnnxTensor out = inputs[0];
  if (repeats.size() != out.dims.size()) graph.fail(node, "must have a repeat for each side");
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    if (!tensor_values({out.dims[i], repeats[i]})) graph.fail(node, "must have < 2^53 values");
    out.dims[i] *= repeats[i];
  }
  if (!out.has_values()) out.values.clear();
  return out;
}

}  // namespace

std::optional<std::vector<OnnxTensor>> fold(const OnnxGraph& graph, const OnnxNode& node,
                                            const std::vector<OnnxTensor>& inputs) {
  const std::string& type = node.type;
  using Outputs = std::vector<OnnxTensor>;
  if (type == "Constant") return Outputs{fold_constant(graph, node)};
  if (inputs.empty()) return std::nullopt;
  if (type == "Shape") return Outputs{fold_shape(graph, node, inputs[0].dims)};
  if (type == "Size") {
    const auto count = tensor_values(inputs[0].dims);
    if (!count) graph.fail(node, "must have < 2^53 values");
    return Outputs{{.values = {static_cast<double>(*count)}}};
  }
  if (const auto dims = view_dims(graph, node, inputs)) {
    OnnxTensor out = inputs[0];
    out.dims = *dims;
    if (type == "Cast") {
      out.is_float = is_floating(static_cast<int>(graph.integer(node, "to", 1)));
      if (!out.is_float)
        for (double& value : out.values) value = std::trunc(value);
    }
    return Outputs{out};
  }
  if (const auto found = kBinary.find(type); found != kBinary.end())
    return Outputs{fold_binary(graph, node, inputs, found->second)};
  if (const auto found = kUnary.find(type); found != kUnary.end()) {
    OnnxTensor out = inputs[0];
    for (double& value : out.values) value = found->second(value);
    return Outputs{out};
  }
  if (kSameSides.contains(type)) {
    OnnxTensor out = joined(inputs);
    out.dims = inputs[0].dims;
    out.is_float = inputs[0].is_float;
    return Outputs{out};
  }
  if (type == "ConstantOfShape") return Outputs{fold_filled(graph, node, inputs[0])};
  if (type == "Range") return Outputs{fold_range(graph, node, inputs)};
  if (type == "Expand") return Outputs{fold_expand(graph, node, inputs)};
  if (type == "Gather") return Outputs{fold_gather(graph, node, inputs)};
  if (type == "Concat") return Outputs{fold_concat(graph, node, inputs)};
  if (type == "Slice") return Outputs{fold_slice(graph, node, inputs)};
  if (type == "Split") return fold_split(graph, node, inputs);
  if (type == "Transpose") return Outputs{fold_transpose(graph, node, inputs[0])};
  if (type == "Where") return Outputs{fold_where(graph, node, inputs)};
  if (type == "Tile") return Outputs{fold_tile(graph, node, inputs)};
  if (type.starts_with("Reduce")) return Outputs{fold_reduced(graph, node, inputs)};
  return std::nullopt;
}

}  // namespace forescale
