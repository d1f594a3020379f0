// What the importer knows of a tensor, and arithmetic on tensors that hold shapes.
//
// Shapes are worked out as the exporter wrote them down (Shape, Gather, Concat, Reshape), so values
// of small constants are followed; of large ones, and of what depends on the input, the sides
// alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/workload/onnx/onnx_graph.hpp"

namespace forescale {

enum class OnnxKind {
  kConstant,    // known before training, and not learned
  kParameter,   // an initializer of floating-point values, or a view of one
  kSide,        // made of the inputs alone: token numbers, masks
  kActivation,  // what layers make: a blob
};

struct OnnxTensor {
  OnnxKind kind = OnnxKind::kConstant;
  Shape dims = {};  // with the batch, where it has one
  bool is_float = false;
  std::vector<double> values = {};  // of a constant, where they are known; integers up to 2^53
  std::string name = {};            // the initializer that it is or is a view of
  std::string blob = {};            // of an activation
  Shape shape = {};                 // of the blob: without the batch
  bool is_scores = false;           // heads x tokens x tokens
  Shape padding = {};  // {top, left, bottom, right} that the sides have and the blob lacks

  bool has_values() const;
};

// The product of the sides, or nothing where it, without sides of 0, leaves 2^53.
std::optional<std::int64_t> tensor_values(const Shape& dims);
// Of a value that should be an integer: within 2^53.
std::int64_t whole_of(double value);
bool is_floating(int data_type);
OnnxTensor stated_tensor(const onnx::TensorProto& tensor);

// An axis counted from the front; fails outside the rank.
std::size_t onnx_axis(const OnnxGraph& graph, const OnnxNode& node, std::int64_t axis,
                      std::size_t rank);
Shape broadcast(const OnnxGraph& graph, const OnnxNode& node, const Shape& a, const Shape& b);
// Of Transpose.
std::vector<std::size_t> permutation(const OnnxGraph& graph, const OnnxNode& node,
                                     std::size_t rank);
// What a node that only renames values gives: Reshape, Flatten, Squeeze, Unsqueeze, Cast, Dropout's
// kin. Nothing for other types.
std::optional<Shape> view_dims(const OnnxGraph& graph, const OnnxNode& node,
                               const std::vector<OnnxTensor>& inputs);
// The axes of a Reduce or Squeeze, of an attribute or an input; none stated: empty.
std::vector<std::size_t> stated_axes(const OnnxGraph& graph, const OnnxNode& node,
                                     const std::vector<OnnxTensor>& inputs, std::size_t rank);

struct OnnxCut {
  std::size_t axis = 0;
  std::int64_t begin = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};
// Of Slice. Fails where they depend on the input.
std::vector<OnnxCut> cuts_of(const OnnxGraph& graph, const OnnxNode& node,
                             const std::vector<OnnxTensor>& inputs);
// The part of each output of Split.
std::vector<std::int64_t> split_parts(const OnnxGraph& graph, const OnnxNode& node,
                                      const std::vector<OnnxTensor>& inputs, std::int64_t whole);

// A node without activations among its inputs (but for Shape and Size): one tensor an output.
// Nothing where the type is not known.
std::optional<std::vector<OnnxTensor>> fold(const OnnxGraph& graph, const OnnxNode& node,
                                            const std::vector<OnnxTensor>& inputs);

}  // namespace forescale
