// The layers that nodes become, one after the other, and the tensors that are known so far.
//
// A blob has the shape that operators want, without the batch: {channels, height, width} or
// {tokens, values}; a tensor's sides are the exporter's. Reshape and Transpose change the sides
// alone; a layer that wants another shape of the blob gets a view of it. The batch is the first
// side of the input.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/registry.hpp"
#include "models/workload/onnx/onnx_tensor.hpp"

namespace forescale {

class OnnxBuilder {
 public:
  OnnxBuilder(const OnnxGraph& graph, std::int64_t batch) : graph_(graph), batch_(batch) {}

  const OnnxGraph& graph() const { return graph_; }
  std::int64_t batch() const { return batch_; }
  std::vector<LayerSpec>& layers() { return layers_; }

  // What is known of an input; fails where it is left out.
  const OnnxTensor& input(const OnnxNode& node, std::size_t place) const;
  // Of all inputs; one that is left out is a constant without sides.
  std::vector<OnnxTensor> inputs(const OnnxNode& node) const;
  // The one activation among the inputs that is at `place`; fails where it is something else.
  const OnnxTensor& activation(const OnnxNode& node, std::size_t place = 0) const;
  const OnnxTensor* find(const std::string& tensor) const;
  void define(const OnnxNode& node, const OnnxTensor& tensor, std::size_t output = 0);
  void define_input(const std::string& name, const OnnxTensor& tensor);

  // What brings the data, before all others.
  void add_first(const LayerSpec& data);
  // A layer of the node, by the name of its weights where it has them, else by the node's.
  LayerSpec layer(const OnnxNode& node, const std::string& type, const std::string& weights = "");
  // Adds it, with the operator's output shape; the tensor has `dims`.
  OnnxTensor add(const OnnxNode& node, LayerSpec layer, const std::vector<OnnxTensor>& bottoms,
                 const Shape& dims);
  // The same values as a blob of another shape: itself, or a view of it.
  OnnxTensor shaped(const OnnxNode& node, const OnnxTensor& tensor, const Shape& shape);
  // {channels, height, width} of a tensor with these four sides; fails for others.
  OnnxTensor image(const OnnxNode& node, const OnnxTensor& tensor);
  // {vectors, values}, where the last `axes` sides are the values.
  OnnxTensor vectors(const OnnxNode& node, const OnnxTensor& tensor, std::size_t axes = 1);
  // Values of one image or sequence; fails where the batch does not divide them.
  std::int64_t values_each(const OnnxNode& node, const Shape& dims) const;
  // The layer that made the blob, where it has no other reader; null else. Of that type.
  LayerSpec* sole_maker(const OnnxNode& node, const OnnxTensor& tensor, const std::string& type);

  // A learned input: fails where it is none, or has another number of values (0: any).
  const OnnxTensor& parameter(const OnnxNode& node, std::size_t place, std::int64_t values = 0);
  // Counts it; false where another layer has it already.
  bool claim(const OnnxTensor& parameter);
  // Read, and no parameter: running means and variances.
  void set_aside(const OnnxTensor& tensor) { aside_.insert(tensor.name); }
  void warn(const std::string& warning) { warnings_.push_back(warning); }
  void count_taken_as(const std::string& type, const std::string& layer) {
    ++taken_as_[type + " as " + layer];
  }
  void count_uneven_padding() { ++uneven_paddings_; }

  // A node that was made part of an earlier one's layer.
  void skip(const OnnxNode& node) { skipped_.insert(node.index); }
  bool is_skipped(const OnnxNode& node) const { return skipped_.contains(node.index); }

  std::int64_t claimed_values() const { return claimed_values_; }
  // Of parameters, what was taken as something else, padding.
  std::vector<std::string> warnings() const;

 private:
  std::string free_name(const std::string& wanted);

  const OnnxGraph& graph_;
  std::int64_t batch_;
  std::vector<LayerSpec> layers_;
  std::map<std::string, OnnxTensor> tensors_;
  std::set<std::string> layer_names_;
  std::set<std::string> blob_names_;
  std::set<std::string> claimed_;
  std::set<std::string> shared_;
  std::set<std::string> aside_;
  std::int64_t claimed_values_ = 0;
  std::map<std::string, int> taken_as_;
  int uneven_paddings_ = 0;
  std::set<std::size_t> skipped_;
  std::vector<std::string> warnings_;
};

// What nodes of one type become. Entries are in rules_*.cpp.
struct OnnxRule {
  std::string name;  // of the type: "Conv"
  void (*apply)(OnnxBuilder& builder, const OnnxNode& node) = nullptr;
};

}  // namespace forescale
