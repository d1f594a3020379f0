// The graph of an ONNX model as the importer walks it: nodes in execution order without those that
// no output needs, who reads each tensor, and attributes with their defaults. Identity nodes are
// gone: what they write goes by the name of what they read.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "models/workload/architecture.hpp"
#include "models/workload/onnx/onnx.pb.h"

namespace forescale {

struct OnnxNode {
  std::size_t index = 0;            // in the file
  std::string type;                 // "Conv"
  std::string name;                 // may be empty
  std::string path;                 // "/graph/node/12"
  std::vector<std::string> inputs;  // an empty one is left out
  std::vector<std::string> outputs;
  const onnx::NodeProto* proto = nullptr;

  bool has(std::size_t input) const { return input < inputs.size() && !inputs[input].empty(); }
};

class OnnxGraph {
 public:
  // InputError for nodes out of order, in a circle, with inputs that nothing makes, or with names
  // that are no UTF-8. Keeps a reference to the model.
  OnnxGraph(const onnx::ModelProto& model, std::string file);

  const std::string& file() const { return file_; }
  std::int64_t opset() const { return opset_; }
  const onnx::GraphProto& proto() const { return model_.graph(); }
  const onnx::ModelProto& model() const { return model_; }
  const std::vector<OnnxNode>& nodes() const { return nodes_; }
  const std::vector<std::string>& outputs() const { return outputs_; }
  bool is_output(const std::string& tensor) const { return output_set_.contains(tensor); }
  const std::map<std::string, const onnx::TensorProto*>& initializers() const {
    return initializers_;
  }
  // Places in nodes(), each once.
  const std::vector<std::size_t>& readers(const std::string& tensor) const;
  const OnnxNode* maker(const std::string& tensor) const;  // null: an input or an initializer
  // One value that the file states: an initializer or a Constant node.
  bool is_stated_scalar(const std::string& tensor) const;

  const onnx::AttributeProto* attribute(const OnnxNode& node, const std::string& name) const;
  std::int64_t integer(const OnnxNode& node, const std::string& name, std::int64_t unless) const;
  std::vector<std::int64_t> integers(const OnnxNode& node, const std::string& name) const;
  std::string text(const OnnxNode& node, const std::string& name) const;

  // file:/graph/node/12: constraint (Conv "layer1/conv").
  [[noreturn]] void fail(const OnnxNode& node, const std::string& constraint,
                         const std::string& value = "") const;

 private:
  void read_opset();
  void read_initializers();
  void read_nodes();
  void drop_unneeded();

  const onnx::ModelProto& model_;
  std::string file_;
  std::int64_t opset_ = 0;
  std::vector<OnnxNode> nodes_;
  std::vector<std::string> outputs_;
  std::set<std::string> output_set_;
  std::map<std::string, const onnx::TensorProto*> initializers_;
  std::map<std::string, std::vector<std::size_t>> readers_;
  std::map<std::string, std::size_t> makers_;
};

}  // namespace forescale
