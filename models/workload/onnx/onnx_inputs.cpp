#include "models/workload/onnx/onnx_inputs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kInputSideMax = 100'000;

struct OpenSide {
  std::int64_t side = 0;  // 0: open
  std::string name;       // of an open one, may be empty
};

struct StatedInput {
  std::string name;
  std::string path;
  bool is_float = false;
  bool has_shape = false;
  std::vector<OpenSide> sides;
};

[[noreturn]] void fail_input(const OnnxGraph& graph, const StatedInput& input,
                             const std::string& constraint, const std::string& value = "") {
  throw InputError({.source = graph.file(),
                    .path = input.path,
                    .value = value,
                    .constraint = fmt::format("{} (\"{}\")", constraint, input.name)});
}

std::vector<StatedInput> stated_inputs(const OnnxGraph& graph) {
  std::vector<StatedInput> inputs;
  for (int i = 0; i < graph.proto().input_size(); ++i) {
    const onnx::ValueInfoProto& in = graph.proto().input(i);
    if (graph.initializers().contains(in.name()) || graph.readers(in.name()).empty()) continue;
    const onnx::TypeProto::Tensor& type = in.type().tensor_type();
    StatedInput input{.name = in.name(),
                      .path = fmt::format("/graph/input/{}", i),
                      .is_float = is_floating(type.elem_type()),
                      .has_shape = type.has_shape(),
                      .sides = {}};
    for (const auto& side : type.shape().dim()) {
      if (side.has_dim_value() && (side.dim_value() < -1 || side.dim_value() > kInputSideMax))
        fail_input(graph, input, fmt::format("must have sides from 1 to {}", kInputSideMax),
                   std::to_string(side.dim_value()));
      input.sides.push_back(
          {.side = std::max<std::int64_t>(side.dim_value(), 0), .name = side.dim_param()});
    }
    inputs.push_back(input);
  }
  return inputs;
}

// Whether all that reads it puts channels first.
bool is_channels_last(const OnnxGraph& graph, const std::string& input) {
  const std::vector<std::size_t>& readers = graph.readers(input);
  return !readers.empty() && std::all_of(readers.begin(), readers.end(), [&](std::size_t place) {
    const OnnxNode& node = graph.nodes()[place];
    return node.type == "Transpose" &&
           graph.integers(node, "perm") == std::vector<std::int64_t>{0, 3, 1, 2};
  });
}

const StatedInput* first_of(const std::vector<StatedInput>& inputs, bool is_float,
                            std::size_t rank) {
  for (const StatedInput& input : inputs)
    if (input.is_float == is_float && input.sides.size() == rank) return &input;
  return nullptr;
}

Shape given_dims(const OnnxGraph& graph, const StatedInput& data,
                 const std::optional<Shape>& input_shape, bool channels_last) {
  Shape dims;
  for (const OpenSide& side : data.sides) dims.push_back(side.side);
  dims[0] = std::max<std::int64_t>(dims[0], 1);
  if (input_shape && input_shape->size() != dims.size() - 1)
    fail_input(
        graph, data,
        fmt::format("cannot become {}: an image has three sides, text one", to_text(*input_shape)));
  if (input_shape) {
    std::copy(input_shape->begin(), input_shape->end(), dims.begin() + 1);
    if (channels_last) std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  }
  if (std::any_of(dims.begin(), dims.end(), [](std::int64_t side) { return side == 0; }))
    fail_input(graph, data,
               dims.size() == 2
                   ? "has an open number of tokens: give it as an option (--seq, --input-shape)"
                   : "has open sides: give its shape as an option (--input-shape), channels x "
                     "height x width");
  return dims;
}

}  // namespace

OnnxInputs read_inputs(const OnnxGraph& graph, const std::optional<Shape>& input_shape) {
  const std::vector<StatedInput> stated = stated_inputs(graph);
  const StatedInput* data = first_of(stated, true, 4);
  if (data == nullptr) data = first_of(stated, false, 2);
  if (data == nullptr) {
    std::string found;
    for (const StatedInput& input : stated)
      found += fmt::format("{}\"{}\" of {} sides", found.empty() ? "" : ", ", input.name,
                           input.has_shape ? std::to_string(input.sides.size()) : "unknown");
    throw InputError({.source = graph.file(),
                      .path = "/graph/input",
                      .value = found,
                      .constraint = "must have an image, batch x channels x height x width, or "
                                    "token numbers, batch x tokens"});
  }
  const bool is_image = data->sides.size() == 4;
  const bool channels_last = is_image && is_channels_last(graph, data->name);
  const Shape dims = given_dims(graph, *data, input_shape, channels_last);
  std::map<std::string, std::int64_t> named;  // open sides that the data have too
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (!data->sides[i].name.empty()) named[data->sides[i].name] = dims[i];
  OnnxInputs inputs;
  inputs.batch = dims[0];
  inputs.data.name = data->name;
  inputs.data.tensor = {.kind = is_image ? OnnxKind::kActivation : OnnxKind::kSide,
                        .dims = dims,
                        .is_float = data->is_float,
                        .blob = data->name,
                        .shape = {dims.begin() + 1, dims.end()}};
  Shape& shape = inputs.data.tensor.shape;
  if (channels_last) std::rotate(shape.begin(), shape.begin() + 2, shape.end());
  for (const StatedInput& input : stated) {
    if (&input == data) continue;
    OnnxTensor other{.kind = OnnxKind::kSide, .dims = {}, .is_float = input.is_float};
    for (std::size_t i = 0; i < input.sides.size(); ++i) {
      std::int64_t side = input.sides[i].side;
      const auto known = named.find(input.sides[i].name);
      if (side == 0 && known != named.end()) side = known->second;
      if (side == 0 && i == 0) side = dims[0];
      // Masks and segments go with the tokens.
      const bool is_tokens = !is_image && i > 0;
      if (is_tokens && (side == 0 || (input_shape && side == data->sides[1].side))) side = dims[1];
      if (side == 0) fail_input(graph, input, "has open sides that the data do not have");
      other.dims.push_back(side);
    }
    inputs.others.push_back({.name = input.name, .tensor = other});
  }
  return inputs;
}

}  // namespace forescale
