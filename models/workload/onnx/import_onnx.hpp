// ONNX files to a Network: what training would run of the graph that a framework has exported.
//
// The input is the first that is an image (batch x channels x height x width, floating-point;
// behind a Transpose also channels last), else the first that holds token numbers (batch x tokens).
// A batch may be open; other open sides are the caller's. Shapes, parameters and costs come from
// the layers as of any network (models/workload/network.hpp), so values of weights are not read.
// What the file does not say, and what is taken as something else, is in Architecture::warnings.
// Format: onnx.ai, operators' versions 9 to 17 of exports of PyTorch are tested. Limits: images of
// two dimensions; attention within one sequence; no loops, branches, recurrent layers, quantised
// weights, transposed convolutions or resizing; docs/own_machine.md has the list.
#pragma once

#include <istream>
#include <optional>
#include <string>

#include "models/workload/network.hpp"

namespace forescale {

// InputError naming the file, and the node with what it is and what it must be. `input_shape` is
// {channels, height, width} or {tokens}.
Network import_onnx(const std::string& file,
                    const std::optional<Shape>& input_shape = std::nullopt);
// The same of a stream that can be sought in; `file` is what errors call it.
Network import_onnx(std::istream& in, const std::string& file,
                    const std::optional<Shape>& input_shape = std::nullopt);

}  // namespace forescale
