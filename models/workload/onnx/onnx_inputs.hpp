// What a graph reads: which input is the data, and the sides that a file leaves open.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/workload/onnx/onnx_tensor.hpp"

namespace forescale {

struct OnnxInput {
  std::string name;
  OnnxTensor tensor;  // the data with its blob and shape; others are kSide
};

struct OnnxInputs {
  std::int64_t batch = 1;
  OnnxInput data;
  std::vector<OnnxInput> others;
};

// Of those that a node reads. InputError where none is an image or text, or a side is neither
// stated nor given.
OnnxInputs read_inputs(const OnnxGraph& graph, const std::optional<Shape>& input_shape);

}  // namespace forescale
