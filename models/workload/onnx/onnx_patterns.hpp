// What exporters take apart and frameworks run as one kernel, found again: layer normalisation, and
// chains of arithmetic on one tensor (GELU, SiLU, hard swish).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/workload/onnx/onnx_graph.hpp"

namespace forescale {

struct OnnxPattern {
  std::string layer;               // type of the layer that it is
  std::string taken_from;          // what else it was, for the warning; empty: nothing
  std::vector<std::size_t> nodes;  // places in OnnxGraph::nodes()
  std::string output;              // the tensor that others read
  std::string scale;               // of a layer normalisation: learned tensors, or empty
  std::string shift;
};

using IsScalar = std::function<bool(const std::string& tensor)>;

// The shortest run of arithmetic from that node on that reads nothing else than `source` and
// scalars and of which one tensor is read elsewhere.
OnnxPattern pointwise_pattern(const OnnxGraph& graph, std::size_t first, const std::string& source,
                              const IsScalar& is_scalar);

// (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * scale + shift, from the mean on.
std::optional<OnnxPattern> layer_norm_pattern(const OnnxGraph& graph, std::size_t mean,
                                              const IsScalar& is_scalar);

bool is_pointwise(const std::string& type);

}  // namespace forescale
