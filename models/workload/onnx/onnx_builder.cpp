#include "models/workload/onnx/onnx_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kReadSideMax = 100'000;
constexpr std::int64_t kReadCountMax = 10'000'000;
constexpr std::size_t kNamedMax = 5;

// "layer1.0.conv1" of "layer1.0.conv1.weight".
std::string without_ending(const std::string& name) {
  for (const char* ending : {".weight", "_weight", "/kernel:0", "/weights:0", "/ReadVariableOp:0"})
    if (name.ends_with(ending)) return name.substr(0, name.size() - std::string(ending).size());
  return name;
}

// As the JSON form has to be read back.
void require_in_range(const OnnxGraph& graph, const OnnxNode& node, const LayerSpec& layer) {
  const auto require = [&](const Extent& sides, std::int64_t min, const char* what) {
    for (const std::int64_t side : {sides.height, sides.width})
      if (side < min || side > kReadSideMax)
        graph.fail(node, fmt::format("must have a {} from {} to {}", what, min, kReadSideMax),
                   std::to_string(side));
  };
  require(layer.kernel, 0, "kernel");
  require(layer.stride, 1, "stride");
  require(layer.pad, 0, "padding");
  require(layer.dilation, 1, "dilation");
  if (layer.num_output < 0 || layer.num_output > kReadCountMax)
    graph.fail(node, fmt::format("must have at most {} outputs", kReadCountMax),
               std::to_string(layer.num_output));
  if (layer.group < 1 || layer.group > kReadCountMax)
    graph.fail(node, fmt::format("must have 1 to {} groups", kReadCountMax),
               std::to_string(layer.group));
  for (const auto& [key, size] : layer.sizes)
    if (size < 1 || size > kReadCountMax)
      graph.fail(node, fmt::format("must have {} from 1 to {}", key, kReadCountMax),
                 std::to_string(size));
}

}  // namespace

const OnnxTensor& OnnxBuilder::input(const OnnxNode& node, std::size_t place) const {
  if (!node.has(place)) graph_.fail(node, fmt::format("must have an input {}", place + 1));
  const auto found = tensors_.find(node.inputs[place]);
  if (found == tensors_.end())
    graph_.fail(node, "reads what cannot be followed", node.inputs[place]);
  return found->second;
}

std::vector<OnnxTensor> OnnxBuilder::inputs(const OnnxNode& node) const {
  std::vector<OnnxTensor> all;
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    all.push_back(node.has(i) ? input(node, i) : OnnxTensor{});
  return all;
}

const OnnxTensor& OnnxBuilder::activation(const OnnxNode& node, std::size_t place) const {
  const OnnxTensor& tensor = input(node, place);
  if (tensor.kind != OnnxKind::kActivation)
    graph_.fail(node, "must read what another layer makes, or the image input", node.inputs[place]);
  return tensor;
}

const OnnxTensor* OnnxBuilder::find(const std::string& tensor) const {
  const auto found = tensors_.find(tensor);
  return found == tensors_.end() ? nullptr : &found->second;
}

void OnnxBuilder::define(const OnnxNode& node, const OnnxTensor& tensor, std::size_t output) {
  if (output >= node.outputs.size() || node.outputs[output].empty()) return;
  if (!tensor_values(tensor.dims)) graph_.fail(node, "must make < 2^53 values");
  if (tensor.kind == OnnxKind::kActivation && tensor_values(tensor.dims) == 0)
    graph_.fail(node, "makes a tensor without values", to_text(tensor.dims));
  tensors_[node.outputs[output]] = tensor;
}

void OnnxBuilder::define_input(const std::string& name, const OnnxTensor& tensor) {
  tensors_[name] = tensor;
}

void OnnxBuilder::add_first(const LayerSpec& data) {
  layer_names_.insert(data.name);
  blob_names_.insert(data.tops.begin(), data.tops.end());
  layers_.push_back(data);
}

std::string OnnxBuilder::free_name(const std::string& wanted) {
  std::string name = wanted.empty() ? "layer" : wanted;
  for (int i = 2; !layer_names_.insert(name).second; ++i) name = fmt::format("{} {}", wanted, i);
  return name;
}

LayerSpec OnnxBuilder::layer(const OnnxNode& node, const std::string& type,
                             const std::string& weights) {
  LayerSpec layer;
  const std::string named = weights.starts_with("onnx::") ? "" : without_ending(weights);
  const std::string own = node.name.empty() ? node.outputs.front() : node.name;
  layer.name = free_name(named.empty() ? own : named);
  layer.type = type;
  layer.path = node.path;
  layer.bias_term = default_bias_term(type);
  return layer;
}

OnnxTensor OnnxBuilder::add(const OnnxNode& node, LayerSpec layer,
                            const std::vector<OnnxTensor>& bottoms, const Shape& dims) {
  require_in_range(graph_, node, layer);
  std::vector<Shape> shapes;
  layer.bottoms.clear();
  for (const OnnxTensor& bottom : bottoms) {
    layer.bottoms.push_back(bottom.blob);
    shapes.push_back(bottom.shape);
  }
  std::string blob = layer.name;
  while (!blob_names_.insert(blob).second) blob += "'";
  layer.tops = {blob};
  const LayerEffect effect = find_operator(layer.type)->apply(layer, graph_.file(), shapes);
  layers_.push_back(std::move(layer));
  return {.kind = OnnxKind::kActivation,
          .dims = dims,
          .is_float = true,
          .blob = blob,
          .shape = effect.outputs.at(0)};
}

OnnxTensor OnnxBuilder::shaped(const OnnxNode& node, const OnnxTensor& tensor, const Shape& shape) {
  if (tensor.shape == shape) return tensor;
  if (tensor_values(tensor.shape) != tensor_values(shape))
    graph_.fail(
        node, fmt::format("needs {} of a blob that is {}", to_text(shape), to_text(tensor.shape)));
  LayerSpec view;
  view.name = free_name(tensor.blob + " as " + to_text(shape));
  view.type = shape.size() == 1 ? "Flatten" : "Reshape";
  view.path = node.path;
  if (shape.size() > 1) {
    view.num_output = shape.back();
    view.sizes["rows"] = shape[shape.size() - 2];
    if (shape.size() == 3) view.sizes["channels"] = shape[0];
  }
  return add(node, view, {tensor}, tensor.dims);
}

OnnxTensor OnnxBuilder::image(const OnnxNode& node, const OnnxTensor& tensor) {
  if (tensor.dims.size() != 4)
    graph_.fail(node, "must read batch x channels x height x width", to_text(tensor.dims));
  if (tensor.dims[0] != batch_)
    graph_.fail(node, fmt::format("must read a batch of {}, as the input has it", batch_),
                to_text(tensor.dims));
  return shaped(node, tensor, {tensor.dims.begin() + 1, tensor.dims.end()});
}

OnnxTensor OnnxBuilder::vectors(const OnnxNode& node, const OnnxTensor& tensor, std::size_t axes) {
  if (tensor.dims.size() < axes) graph_.fail(node, "must read vectors", to_text(tensor.dims));
  std::int64_t width = 1;
  for (std::size_t i = tensor.dims.size() - axes; i < tensor.dims.size(); ++i)
    width *= tensor.dims[i];
  const std::int64_t each = values_each(node, tensor.dims);
  if (each % width != 0)
    graph_.fail(node, "must read whole vectors of an image or a sequence", to_text(tensor.dims));
  return shaped(node, tensor, {each / width, width});
}

std::int64_t OnnxBuilder::values_each(const OnnxNode& node, const Shape& dims) const {
  const auto all = tensor_values(dims);
  if (!all || *all == 0 || *all % batch_ != 0)
    graph_.fail(node, fmt::format("must have values for each of a batch of {}", batch_),
                to_text(dims));
  return *all / batch_;
}

LayerSpec* OnnxBuilder::sole_maker(const OnnxNode& node, const OnnxTensor& tensor,
                                   const std::string& type) {
  if (layers_.empty() || layers_.back().type != type || layers_.back().tops.front() != tensor.blob)
    return nullptr;
  for (const std::string& name : node.inputs) {
    const OnnxTensor* read = find(name);
    if (read != nullptr && read->blob == tensor.blob &&
        (graph_.readers(name).size() > 1 || graph_.is_output(name)))
      return nullptr;
  }
  return &layers_.back();
}

const OnnxTensor& OnnxBuilder::parameter(const OnnxNode& node, std::size_t place,
                                         std::int64_t values) {
  const OnnxTensor& tensor = input(node, place);
  const bool is_stated = tensor.kind == OnnxKind::kConstant && tensor.is_float;
  if ((tensor.kind != OnnxKind::kParameter && !is_stated) || tensor.name.empty())
    graph_.fail(node, fmt::format("must have weights that the file states as input {}", place + 1),
                node.inputs[place]);
  const auto count = tensor_values(tensor.dims);
  if (!count || *count == 0 || (values > 0 && *count != values))
    graph_.fail(node,
                values > 0 ? fmt::format("must have {} values in \"{}\"", values, tensor.name)
                           : fmt::format("must have values in \"{}\"", tensor.name),
                to_text(tensor.dims));
  return tensor;
}

bool OnnxBuilder::claim(const OnnxTensor& parameter) {
  if (!claimed_.insert(parameter.name).second) {
    shared_.insert(parameter.name);
    return false;
  }
  claimed_values_ += tensor_values(parameter.dims).value_or(0);
  return true;
}

std::vector<std::string> OnnxBuilder::warnings() const {
  std::vector<std::string> all = warnings_;
  if (!shared_.empty())
    all.push_back(fmt::format(
        "{} tensors are parameters of several layers and count once ({}{}): shared, or equal when "
        "the network was exported",
        shared_.size(), *shared_.begin(), shared_.size() > 1 ? ", ..." : ""));
  std::string uncounted;
  std::size_t count = 0;
  for (const auto& [name, tensor] : graph_.initializers())
    if (is_floating(tensor->data_type()) && !claimed_.contains(name) && !aside_.contains(name) &&
        !graph_.readers(name).empty() &&
        tensor_values({tensor->dims().begin(), tensor->dims().end()}).value_or(2) > 1 &&
        ++count <= kNamedMax)
      uncounted += fmt::format("{}{} ({})", uncounted.empty() ? "" : ", ", name,
                               to_text({tensor->dims().begin(), tensor->dims().end()}));
  if (count > 0)
    all.push_back(fmt::format("{} tensors of the file are counted as no parameters: {}{}", count,
                              uncounted, count > kNamedMax ? ", ..." : ""));
  std::string taken;
  for (const auto& [what, times] : taken_as_)
    taken += fmt::format("{}{} ({})", taken.empty() ? "" : ", ", what, times);
  if (!taken.empty())
    all.push_back("taken as another of the same shape and about the cost: " + taken);
  if (uneven_paddings_ > 0)
    all.push_back(fmt::format(
        "{} windows with uneven padding are taken with even padding and outputs of the same size",
        uneven_paddings_));
  return all;
}

}  // namespace forescale
