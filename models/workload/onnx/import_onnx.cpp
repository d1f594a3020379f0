#include "models/workload/onnx/import_onnx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "models/workload/onnx/onnx_builder.hpp"
#include "models/workload/onnx/onnx_file.hpp"
#include "models/workload/onnx/onnx_inputs.hpp"
#include "models/workload/onnx/onnx_training.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kOpsetTestedMin = 9;
constexpr std::int64_t kOpsetTestedMax = 17;
constexpr int kHalf = 10;  // TensorProto.DataType
constexpr int kBrainHalf = 16;
constexpr std::int64_t kSharedNames = 3;

void add_stated(OnnxBuilder& builder, const OnnxGraph& graph) {
  for (const auto& [name, proto] : graph.initializers()) {
    const OnnxTensor tensor = stated_tensor(*proto);
    if (!tensor_values(tensor.dims))
      throw InputError({.source = graph.file(),
                        .path = "/graph/initializer",
                        .value = to_text(tensor.dims),
                        .constraint = fmt::format("must be < 2^53 values (\"{}\")", name)});
    builder.define_input(name, tensor);
  }
}

// The first layer; its second top are the labels.
void add_data(OnnxBuilder& builder, const OnnxInputs& inputs) {
  LayerSpec data;
  data.name = inputs.data.name;
  data.type = "Data";
  data.tops = {inputs.data.name, inputs.data.name == "label" ? "label'" : "label"};
  data.path = "/graph/input";
  builder.add_first(data);
  builder.define_input(inputs.data.name, inputs.data.tensor);
  for (const OnnxInput& other : inputs.others) builder.define_input(other.name, other.tensor);
}

[[noreturn]] void fail_unknown(const OnnxGraph& graph, const OnnxNode& node) {
  std::string known;
  for (const std::string& name : Registry<OnnxRule>::names())
    known += (known.empty() ? "" : ", ") + name;
  graph.fail(node,
             fmt::format("is of a type that no layer is made of; known are {}, and arithmetic "
                         "on shapes and masks",
                         known));
}

// Weights are no activations: what reads them alone is worked out, but for embeddings.
bool is_known_before(const OnnxNode& node, const std::vector<OnnxTensor>& inputs) {
  if (node.type == "Shape" || node.type == "Size") return true;
  if (node.type == "Gather" && inputs.size() == 2 && inputs[0].kind == OnnxKind::kParameter &&
      inputs[0].dims.size() == 2 && !inputs[1].dims.empty())
    return false;
  return std::none_of(inputs.begin(), inputs.end(),
                      [](const OnnxTensor& in) { return in.kind == OnnxKind::kActivation; });
}

void convert(OnnxBuilder& builder, const OnnxNode& node) {
  const OnnxGraph& graph = builder.graph();
  if (builder.is_skipped(node)) return;
  const std::vector<OnnxTensor> inputs = builder.inputs(node);
  if (is_known_before(node, inputs)) {
    const auto outputs = fold(graph, node, inputs);
    if (!outputs) fail_unknown(graph, node);
    for (std::size_t i = 0; i < outputs->size(); ++i) builder.define(node, (*outputs)[i], i);
    return;
  }
  const auto rule = Registry<OnnxRule>::all().find(node.type);
  if (rule == Registry<OnnxRule>::all().end()) fail_unknown(graph, node);
  rule->second.apply(builder, node);
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kSharedNames; ++i)
    text += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", names[i]);
  return names.size() > kSharedNames ? text + ", ..." : text;
}

void warn_of_folding(OnnxBuilder& builder) {
  int convolutions = 0;
  int with_bias = 0;
  for (const OnnxNode& node : builder.graph().nodes()) {
    convolutions += node.type == "Conv" ? 1 : 0;
    with_bias += node.type == "Conv" && node.has(2) ? 1 : 0;
  }
  const bool normalises =
      std::any_of(builder.layers().begin(), builder.layers().end(), [](const LayerSpec& layer) {
        return layer.type == "BatchNorm" || layer.type == "LayerNorm";
      });
  if (with_bias == 0 || normalises) return;
  builder.warn(fmt::format(
      "{} of {} convolutions have a bias and nothing is normalised: if the network is trained with "
      "BatchNorm, the export has folded it away, and parameters, memory and time of it are missing "
      "here (PyTorch: model.train() and torch.onnx.export(..., training=TrainingMode.TRAINING, "
      "do_constant_folding=False))",
      with_bias, convolutions));
}

void warn_of_file(OnnxBuilder& builder) {
  const OnnxGraph& graph = builder.graph();
  if (graph.opset() < kOpsetTestedMin || graph.opset() > kOpsetTestedMax)
    builder.warn(fmt::format("operators of version {}, and {} to {} are tested", graph.opset(),
                             kOpsetTestedMin, kOpsetTestedMax));
  std::size_t half = 0;
  std::size_t elsewhere = 0;
  for (const auto& [name, tensor] : graph.initializers()) {
    half += tensor->data_type() == kHalf || tensor->data_type() == kBrainHalf ? 1U : 0U;
    elsewhere += tensor->data_location() == 1 ? 1U : 0U;
  }
  if (half > 0)
    builder.warn(
        fmt::format("{} tensors of the file are in half precision, which --precision "
                    "decides here",
                    half));
  if (elsewhere > 0)
    builder.warn(
        fmt::format("{} tensors lie in other files, which are not read: their shapes are "
                    "here",
                    elsewhere));
}

std::string producer_of(const onnx::ModelProto& model) {
  if (model.producer_name().empty()) return "";
  return fmt::format(", by {} {}", model.producer_name(), model.producer_version());
}

Network network_of(const onnx::ModelProto& model, const std::string& file,
                   const std::optional<Shape>& input_shape) {
  const OnnxGraph graph(model, file);
  const OnnxInputs inputs = read_inputs(graph, input_shape);
  OnnxBuilder builder(graph, inputs.batch);
  add_stated(builder, graph);
  add_data(builder, inputs);
  for (const OnnxNode& node : graph.nodes()) convert(builder, node);
  if (builder.layers().size() < 2) refuse(file, "", "must have a layer that reads its input");
  warn_of_folding(builder);
  warn_of_file(builder);
  if (const auto ends = append_losses(builder.layers()); !ends.empty())
    builder.warn("no loss in the file: a softmax with cross entropy is added behind " +
                 list_of(ends));
  place_in_memory(builder.layers());
  Architecture out;
  out.file = file;
  out.name = std::filesystem::path(file).stem().string();
  out.source = fmt::format("imported from {} (ONNX, operators' version {}{})", file, graph.opset(),
                           producer_of(model));
  out.input_shape = inputs.data.tensor.shape;
  out.layers = builder.layers();
  out.warnings = builder.warnings();
  Network network = infer_network(out);
  if (network.parameters() != builder.claimed_values())
    refuse(file, std::to_string(network.parameters()),
           fmt::format("parameters of the layers must be {}, those of the tensors that they read",
                       builder.claimed_values()));
  return network;
}

}  // namespace

Network import_onnx(std::istream& in, const std::string& file,
                    const std::optional<Shape>& input_shape) {
  return network_of(read_onnx(in, file), file, input_shape);
}

Network import_onnx(const std::string& file, const std::optional<Shape>& input_shape) {
  return network_of(read_onnx(file), file, input_shape);
}

}  // namespace forescale
