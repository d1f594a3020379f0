// What each layer type does to shapes, and what it costs for one image. A type is an entry of
// Registry<LayerRule>; those of Caffe's catalogue are in layer_rules.cpp.
//
// Convolution: out = floor((in + 2 pad - (dilation (kernel - 1) + 1)) / stride) + 1,
//   forward FLOP = 2 * filters * (channels / group) * kernel_h * kernel_w * out_h * out_w.
// Pooling: out = ceil((in + 2 pad - kernel) / stride) + 1, and one less where padding would let the
//   last window start outside the image. InnerProduct: forward FLOP = 2 M N.
// A depthwise convolution has as many groups as channels; a separable one is that and a 1x1.
// A multiply-add is 2 FLOP. Layers without a matrix product count 0 FLOP: memory bounds them.
// Source: the shape code of BVLC Caffe, as facts. Limits: 2D windows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/registry.hpp"
#include "models/workload/architecture.hpp"

namespace forescale {

enum class LayerKind {
  kData,     // brings the images and labels; no GPU work
  kCompute,  // ordinary
  kView,     // renames its input: no GPU work, no memory
  kOutput,   // its result may go unused: losses and probabilities
  kIgnored,  // not part of training: Accuracy, Silence
};

// What one layer gives for one image.
struct LayerEffect {
  std::vector<Shape> outputs;                        // one a top
  std::vector<std::int64_t> parameter_tensors = {};  // learnable values: weights, then bias
  double forward_flops = 0;
  std::int64_t kept_values =
      0;  // FP32 or int32 values kept for the backward pass beside the output
  std::int64_t matrix_rows = 0;     // InnerProduct: M = outputs
  std::int64_t matrix_columns = 0;  // InnerProduct: N = inputs
};

struct LayerRule {
  std::string name;  // as files say it: "Convolution"
  LayerKind kind = LayerKind::kCompute;
  std::size_t bottoms_min = 1;
  std::size_t bottoms_max = 1;
  std::size_t tops_max = 1;
  bool may_be_in_place = false;
  bool bias_unless_said = true;
  std::vector<std::string> options = {};  // hyper-parameter keys it knows
  LayerEffect (*apply)(const LayerSpec& layer, const std::string& file,
                       const std::vector<Shape>& inputs) = nullptr;
};

// Null when there is no such type.
const LayerRule* layer_rule(const std::string& type);
std::vector<std::string> layer_types();
bool default_bias_term(const std::string& type);  // of a known type

// Product of the sides; InputError when it leaves 2^53.
std::int64_t value_count(const Shape& shape, const LayerSpec& layer, const std::string& file);

struct LayerProblem {
  std::string key;  // which hyper-parameter, may be empty
  std::string value;
  std::string constraint;
};
[[noreturn]] void layer_error(const LayerSpec& layer, const std::string& file,
                              const LayerProblem& problem);

}  // namespace forescale
