#include "models/workload/onnx/onnx_graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/utf8.hpp"

namespace forescale {
namespace {

[[noreturn]] void fail_at(const std::string& file, const std::string& path,
                          const std::string& constraint, const std::string& value = "") {
  throw InputError({.source = file, .path = path, .value = value, .constraint = constraint});
}

void require_utf8(const std::string& file, const std::string& path, const std::string& name) {
  if (!is_utf8(name)) fail_at(file, path, "has a name that is not UTF-8");
}

}  // namespace

OnnxGraph::OnnxGraph(const onnx::ModelProto& model, std::string file)
    : model_(model), file_(std::move(file)) {
  if (!model_.has_graph())
    fail_at(file_, "", "must be a complete ONNX model: it is cut off, or something else");
  read_opset();
  require_utf8(file_, "/graph/name", proto().name());
  require_utf8(file_, "/producer_name", model_.producer_name() + model_.producer_version());
  read_initializers();
  read_nodes();
  drop_unneeded();
}

void OnnxGraph::read_opset() {
  for (const onnx::OperatorSetIdProto& opset : model_.opset_import())
    if (opset.domain().empty() || opset.domain() == "ai.onnx") opset_ = opset.version();
  if (opset_ < 1)
    fail_at(file_, "/opset_import",
            "must state the version of ONNX's operators: is the file cut off?");
}

void OnnxGraph::read_initializers() {
  for (int i = 0; i < proto().initializer_size(); ++i) {
    const onnx::TensorProto& tensor = proto().initializer(i);
    const std::string path = fmt::format("/graph/initializer/{}", i);
    require_utf8(file_, path, tensor.name());
    for (const std::int64_t side : tensor.dims())
      if (side < 0)
        fail_at(file_, path, fmt::format("must have sides >= 0 (\"{}\")", tensor.name()),
                std::to_string(side));
    if (!initializers_.emplace(tensor.name(), &tensor).second)
      fail_at(file_, path, fmt::format("\"{}\" is there twice", tensor.name()));
  }
}

void OnnxGraph::read_nodes() {
  std::set<std::string> known;
  for (const auto& [name, tensor] : initializers_) known.insert(name);
  for (int i = 0; i < proto().input_size(); ++i) {
    require_utf8(file_, fmt::format("/graph/input/{}", i), proto().input(i).name());
    known.insert(proto().input(i).name());
  }
  std::set<std::string> made_later;
  for (const onnx::NodeProto& node : proto().node())
    made_later.insert(node.output().begin(), node.output().end());
  std::map<std::string, std::string> renamed;
  const auto resolved = [&](const std::string& name) {
    const auto found = renamed.find(name);
    return found == renamed.end() ? name : found->second;
  };
  for (int i = 0; i < proto().node_size(); ++i) {
    const onnx::NodeProto& in = proto().node(i);
    OnnxNode node{.index = static_cast<std::size_t>(i),
                  .type = in.op_type(),
                  .name = in.name(),
                  .path = fmt::format("/graph/node/{}", i),
                  .inputs = {},
                  .outputs = {in.output().begin(), in.output().end()},
                  .proto = &in};
    require_utf8(file_, node.path, node.type + node.name + in.domain());
    if (!in.domain().empty() && in.domain() != "ai.onnx")
      fail(node, "is of another domain than ONNX's own", in.domain());
    for (const std::string& input : in.input()) {
      if (!input.empty() && !known.contains(input))
        fail(node,
             made_later.contains(input)
                 ? "reads what a later node makes: nodes must be in the order of execution"
                 : "reads what no node makes and is no input",
             is_utf8(input) ? input : "");
      node.inputs.push_back(resolved(input));
    }
    for (const std::string& output : node.outputs) {
      require_utf8(file_, node.path, output);
      if (!output.empty() && !known.insert(output).second)
        fail(node, "makes a tensor that is there already", output);
    }
    if (node.type == "Identity" && node.has(0) && node.outputs.size() == 1)
      renamed[node.outputs[0]] = node.inputs[0];
    else
      nodes_.push_back(std::move(node));
  }
  for (int i = 0; i < proto().output_size(); ++i) {
    const std::string& name = proto().output(i).name();
    const std::string path = fmt::format("/graph/output/{}", i);
    require_utf8(file_, path, name);
    if (!known.contains(name)) fail_at(file_, path, "must be what a node makes", name);
    outputs_.push_back(resolved(name));
  }
  if (outputs_.empty()) fail_at(file_, "/graph/output", "must name an output");
  output_set_.insert(outputs_.begin(), outputs_.end());
}

// Nodes are in order, so that who needs what is known from behind.
void OnnxGraph::drop_unneeded() {
  std::set<std::string> needed = output_set_;
  std::vector<OnnxNode> kept;
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    OnnxNode& node = nodes_[i];
    if (std::none_of(node.outputs.begin(), node.outputs.end(), [&](const std::string& output) {
          return !output.empty() && needed.contains(output);
        }))
      continue;
    needed.insert(node.inputs.begin(), node.inputs.end());
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  nodes_ = std::move(kept);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    for (const std::string& input : nodes_[i].inputs) {
      std::vector<std::size_t>& places = readers_[input];
      if (places.empty() || places.back() != i) places.push_back(i);
    }
    for (const std::string& output : nodes_[i].outputs)
      if (!output.empty()) makers_[output] = i;
  }
}

const std::vector<std::size_t>& OnnxGraph::readers(const std::string& tensor) const {
  static const std::vector<std::size_t> kNobody;
  const auto found = readers_.find(tensor);
  return found == readers_.end() ? kNobody : found->second;
}

const OnnxNode* OnnxGraph::maker(const std::string& tensor) const {
  const auto found = makers_.find(tensor);
  return found == makers_.end() ? nullptr : &nodes_[found->second];
}

bool OnnxGraph::is_stated_scalar(const std::string& tensor) const {
  const onnx::TensorProto* stated = nullptr;
  if (const auto found = initializers_.find(tensor); found != initializers_.end()) {
    stated = found->second;
  } else if (const OnnxNode* node = maker(tensor); node != nullptr && node->type == "Constant") {
    if (attribute(*node, "value_float") != nullptr || attribute(*node, "value_int") != nullptr)
      return true;
    const onnx::AttributeProto* value = attribute(*node, "value");
    if (value != nullptr && value->has_t()) stated = &value->t();
  }
  return stated != nullptr && std::all_of(stated->dims().begin(), stated->dims().end(),
                                          [](std::int64_t side) { return side == 1; });
}

const onnx::AttributeProto* OnnxGraph::attribute(const OnnxNode& node,
                                                 const std::string& name) const {
  for (const onnx::AttributeProto& each : node.proto->attribute())
    if (each.name() == name) return &each;
  return nullptr;
}

std::int64_t OnnxGraph::integer(const OnnxNode& node, const std::string& name,
                                std::int64_t unless) const {
  const onnx::AttributeProto* found = attribute(node, name);
  return found == nullptr ? unless : found->i();
}

std::vector<std::int64_t> OnnxGraph::integers(const OnnxNode& node, const std::string& name) const {
  const onnx::AttributeProto* found = attribute(node, name);
  if (found == nullptr) return {};
  return {found->ints().begin(), found->ints().end()};
}

std::string OnnxGraph::text(const OnnxNode& node, const std::string& name) const {
  const onnx::AttributeProto* found = attribute(node, name);
  return found == nullptr || !is_utf8(found->s()) ? "" : found->s();
}

void OnnxGraph::fail(const OnnxNode& node, const std::string& constraint,
                     const std::string& value) const {
  fail_at(file_, node.path,
          node.name.empty() ? fmt::format("{} ({})", constraint, node.type)
                            : fmt::format("{} ({} \"{}\")", constraint, node.type, node.name),
          value);
}

}  // namespace forescale
