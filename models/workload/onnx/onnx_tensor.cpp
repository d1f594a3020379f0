#include "models/workload/onnx/onnx_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

namespace forescale {
namespace {

constexpr double kExactMax = 9007199254740992.0;  // 2^53
constexpr std::int64_t kFollowedMax = 4096;       // values of a constant

// TensorProto.DataType.
enum OnnxType {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kBfloat16 = 16
};

template <class T>
void append_raw(const std::string& raw, std::int64_t count, std::vector<double>& values) {
  if (raw.size() != static_cast<std::size_t>(count) * sizeof(T)) return;
  for (std::int64_t i = 0; i < count; ++i) {
    T value{};
    std::memcpy(&value, raw.data() + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    values.push_back(std::clamp(static_cast<double>(value), -kExactMax, kExactMax));
  }
}

void append_values(const onnx::TensorProto& tensor, std::int64_t count,
                   std::vector<double>& values) {
  const auto append = [&](const auto& stated) {
    for (const auto value : stated)
      values.push_back(std::clamp(static_cast<double>(value), -kExactMax, kExactMax));
  };
  switch (tensor.data_type()) {
    case kFloat:
      if (tensor.has_raw_data()) return append_raw<float>(tensor.raw_data(), count, values);
      return append(tensor.float_data());
    case kDouble:
      if (tensor.has_raw_data()) return append_raw<double>(tensor.raw_data(), count, values);
      return append(tensor.double_data());
    case kInt64:
      if (tensor.has_raw_data()) return append_raw<std::int64_t>(tensor.raw_data(), count, values);
      return append(tensor.int64_data());
    case kInt32:
      if (tensor.has_raw_data()) return append_raw<std::int32_t>(tensor.raw_data(), count, values);
      return append(tensor.int32_data());
    case kBool:
    case kUint8:
      if (tensor.has_raw_data()) return append_raw<std::uint8_t>(tensor.raw_data(), count, values);
      return append(tensor.int32_data());
    case kInt8:
      if (tensor.has_raw_data()) return append_raw<std::int8_t>(tensor.raw_data(), count, values);
      return append(tensor.int32_data());
    default:
      return;
  }
}

Shape reshaped(const OnnxGraph& graph, const OnnxNode& node,
               const std::vector<OnnxTensor>& inputs) {
  if (inputs.size() < 2 || (!inputs[1].has_values() && inputs[1].dims != Shape{0}))
    graph.fail(node, "must have a shape that follows from the file and the input's shape");
  const Shape& from = inputs[0].dims;
  Shape dims;
  std::ptrdiff_t open = -1;
  for (std::size_t i = 0; i < inputs[1].values.size(); ++i) {
    auto side = whole_of(inputs[1].values[i]);
    if (side == 0 && graph.integer(node, "allowzero", 0) == 0) {
      if (i >= from.size()) graph.fail(node, "copies a side that is not there");
      side = from[i];
    }
    if (side == -1 && open < 0) {
      open = static_cast<std::ptrdiff_t>(i);
      side = 1;
    }
    if (side < 0) graph.fail(node, "must have sides >= 0 and one that is -1", std::to_string(side));
    dims.push_back(side);
  }
  const auto whole = tensor_values(from);
  const auto rest = tensor_values(dims);
  if (!whole || !rest) graph.fail(node, "must have < 2^53 values");
  if (open >= 0 && *rest > 0) dims[static_cast<std::size_t>(open)] = *whole / *rest;
  if (tensor_values(dims) != whole)
    graph.fail(node, fmt::format("cannot make {} of {}", to_text(dims), to_text(from)));
  return dims;
}

Shape flattened(const OnnxGraph& graph, const OnnxNode& node, const Shape& from) {
  const std::int64_t axis = graph.integer(node, "axis", 1);
  const std::size_t at = axis == static_cast<std::int64_t>(from.size())
                             ? from.size()
                             : onnx_axis(graph, node, axis, from.size());
  Shape dims{1, 1};
  for (std::size_t i = 0; i < from.size(); ++i) dims[i < at ? 0 : 1] *= from[i];
  return dims;
}

Shape squeezed(const OnnxGraph& graph, const OnnxNode& node,
               const std::vector<OnnxTensor>& inputs) {
  const Shape& from = inputs[0].dims;
  const std::vector<std::size_t> axes = stated_axes(graph, node, inputs, from.size());
  Shape dims;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool named = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (named && from[i] != 1)
      graph.fail(node, fmt::format("can drop a side of 1 alone, and side {} of {} is another", i,
                                   to_text(from)));
    if (!(named || (axes.empty() && from[i] == 1))) dims.push_back(from[i]);
  }
  return dims;
}

Shape unsqueezed(const OnnxGraph& graph, const OnnxNode& node,
                 const std::vector<OnnxTensor>& inputs) {
  std::vector<std::int64_t> stated = graph.integers(node, "axes");
  if (inputs.size() > 1) {
    if (!inputs[1].has_values()) graph.fail(node, "must have axes that the file states");
    for (const double axis : inputs[1].values) stated.push_back(whole_of(axis));
  }
  const std::size_t rank = inputs[0].dims.size() + stated.size();
  std::set<std::size_t> axes;
  for (const std::int64_t axis : stated) axes.insert(onnx_axis(graph, node, axis, rank));
  if (axes.size() != stated.size()) graph.fail(node, "must have each of its axes once");
  Shape dims;
  for (std::size_t i = 0, from = 0; i < rank; ++i)
    dims.push_back(axes.contains(i) ? 1 : inputs[0].dims[from++]);
  return dims;
}

}  // namespace

bool OnnxTensor::has_values() const {
  const auto count = tensor_values(dims);
  return count && !values.empty() && *count == static_cast<std::int64_t>(values.size());
}

std::optional<std::int64_t> tensor_values(const Shape& dims) {
  double count = 1;
  bool is_empty = false;
  for (const std::int64_t side : dims) {
    is_empty = is_empty || side == 0;
    count *= static_cast<double>(std::max<std::int64_t>(side, 1));
  }
  if (count > kExactMax) return std::nullopt;
  return is_empty ? 0 : static_cast<std::int64_t>(count);
}

std::int64_t whole_of(double value) {
  return std::isnan(value) ? 0
                           : static_cast<std::int64_t>(std::clamp(value, -kExactMax, kExactMax));
}

bool is_floating(int data_type) {
  return data_type == kFloat || data_type == kFloat16 || data_type == kDouble ||
         data_type == kBfloat16;
}

OnnxTensor stated_tensor(const onnx::TensorProto& tensor) {
  OnnxTensor out{.dims = {tensor.dims().begin(), tensor.dims().end()},
                 .is_float = is_floating(tensor.data_type()),
                 .name = tensor.name()};
  const auto count = tensor_values(out.dims);
  if (count && *count <= kFollowedMax) append_values(tensor, *count, out.values);
  if (!out.has_values()) out.values.clear();
  const bool is_learned = out.is_float && (!count || *count > 1);
  out.kind = is_learned ? OnnxKind::kParameter : OnnxKind::kConstant;
  return out;
}

std::size_t onnx_axis(const OnnxGraph& graph, const OnnxNode& node, std::int64_t axis,
                      std::size_t rank) {
  const auto sides = static_cast<std::int64_t>(rank);
  if (axis < -sides || axis >= sides)
    graph.fail(node, fmt::format("must have an axis of its {}", rank), std::to_string(axis));
  return static_cast<std::size_t>(axis < 0 ? axis + sides : axis);
}

Shape broadcast(const OnnxGraph& graph, const OnnxNode& node, const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (left != right && left != 1 && right != 1)
      graph.fail(node, fmt::format("cannot join {} with {}", to_text(a), to_text(b)));
    out[out.size() - 1 - i] = left == 1 ? right : left;
  }
  return out;
}

std::vector<std::size_t> permutation(const OnnxGraph& graph, const OnnxNode& node,
                                     std::size_t rank) {
  std::vector<std::int64_t> stated = graph.integers(node, "perm");
  if (stated.empty())
    for (std::size_t i = rank; i-- > 0;) stated.push_back(static_cast<std::int64_t>(i));
  std::vector<std::size_t> order;
  std::set<std::size_t> once;
  for (const std::int64_t axis : stated) {
    order.push_back(onnx_axis(graph, node, axis, rank));
    once.insert(order.back());
  }
  if (order.size() != rank || once.size() != rank)
    graph.fail(node, fmt::format("must have each of {} axes once", rank));
  return order;
}

std::vector<std::size_t> stated_axes(const OnnxGraph& graph, const OnnxNode& node,
                                     const std::vector<OnnxTensor>& inputs, std::size_t rank) {
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : graph.integers(node, "axes"))
    axes.push_back(onnx_axis(graph, node, axis, rank));
  if (!node.has(1)) return axes;
  if (!inputs[1].has_values()) graph.fail(node, "must have axes that the file states");
  for (const double axis : inputs[1].values)
    axes.push_back(onnx_axis(graph, node, whole_of(axis), rank));
  return axes;
}

std::optional<Shape> view_dims(const OnnxGraph& graph, const OnnxNode& node,
                               const std::vector<OnnxTensor>& inputs) {
  if (inputs.empty()) return std::nullopt;
  if (node.type == "Reshape") return reshaped(graph, node, inputs);
  if (node.type == "Flatten") return flattened(graph, node, inputs[0].dims);
  if (node.type == "Squeeze") return squeezed(graph, node, inputs);
  if (node.type == "Unsqueeze") return unsqueezed(graph, node, inputs);
  if (node.type == "Cast" || node.type == "CastLike" || node.type == "Identity")
    return inputs[0].dims;
  return std::nullopt;
}

std::vector<OnnxCut> cuts_of(const OnnxGraph& graph, const OnnxNode& node,
                             const std::vector<OnnxTensor>& inputs) {
  const Shape& dims = inputs[0].dims;
  const auto stated = [&](std::size_t input, const char* name) {
    std::vector<std::int64_t> numbers = graph.integers(node, name);
    if (!node.has(input)) return numbers;
    if (!inputs[input].has_values())
      graph.fail(node,
                 fmt::format("must have {} that follow from the file and the input's shape", name));
    for (const double value : inputs[input].values) numbers.push_back(whole_of(value));
    return numbers;
  };
  const auto starts = stated(1, "starts");
  const auto ends = stated(2, "ends");
  auto axes = stated(3, "axes");
  const auto steps = stated(4, "steps");
  if (axes.empty())
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (starts.size() != ends.size() || axes.size() != starts.size() ||
      (!steps.empty() && steps.size() != starts.size()))
    graph.fail(node, "must have as many starts, ends, axes and steps");
  std::vector<OnnxCut> cuts;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    OnnxCut cut{.axis = onnx_axis(graph, node, axes[i], dims.size()),
                .step = steps.empty() ? 1 : steps[i]};
    const std::int64_t side = dims[cut.axis];
    if (cut.step < 1) graph.fail(node, "must have steps >= 1", std::to_string(cut.step));
    const auto within = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + side : at, 0, side);
    };
    cut.begin = within(starts[i]);
    const std::int64_t span = std::max<std::int64_t>(within(ends[i]) - cut.begin, 0);
    cut.count = span == 0 ? 0 : (span - 1) / cut.step + 1;
    cuts.push_back(cut);
  }
  return cuts;
}

std::vector<std::int64_t> split_parts(const OnnxGraph& graph, const OnnxNode& node,
                                      const std::vector<OnnxTensor>& inputs, std::int64_t whole) {
  std::vector<std::int64_t> parts = graph.integers(node, "split");
  if (node.has(1)) {
    if (!inputs[1].has_values()) graph.fail(node, "must have parts that the file states");
    for (const double value : inputs[1].values) parts.push_back(whole_of(value));
  }
  const auto count = static_cast<std::int64_t>(node.outputs.size());
  if (parts.empty() && count > 0) {
    const std::int64_t each = (whole + count - 1) / count;
    for (std::int64_t i = 0; i < count; ++i)
      parts.push_back(std::clamp<std::int64_t>(whole - i * each, 0, each));
  }
  std::int64_t sum = 0;
  for (const std::int64_t part : parts) {
    if (part < 0 || part > whole) graph.fail(node, "has a part outside of what it splits");
    sum += part;
  }
  if (sum != whole || parts.size() != node.outputs.size())
    graph.fail(node, fmt::format("must split {} into as many parts as it has outputs", whole));
  return parts;
}

}  // namespace forescale
