// A transposed convolution, Caffe's Deconvolution. out = stride * (in - 1) + kernel - 2 pad +
// output_padding, forward FLOP = 2 * channels * filters * kernel_h * kernel_w * in_h * in_w. Its
// time is that of its products: every pixel's filters x kernel values from its channels. Libraries
// run it as the gradient by data of the convolution that it transposes. Limits: one group.
#include <fmt/format.h>

#include <algorithm>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

struct TransposedSide {
  std::int64_t in, kernel, stride, pad;
};

LayerEffect deconvolution(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_image(layer, file, inputs[0]);
  require_given(layer, file, "num_output", layer.num_output);
  require_given(layer, file, "kernel_size", std::min(layer.kernel.height, layer.kernel.width));
  const auto added = layer.sizes.find("output_padding");
  const std::int64_t output_padding = added == layer.sizes.end() ? 0 : added->second;
  const auto side = [&](const TransposedSide& w) {
    const std::int64_t out = value_count({w.stride, w.in}, layer, file) - w.stride + w.kernel -
                             2 * w.pad + output_padding;
    if (out < 1)
      layer_error(layer, file,
                  {.key = "pad",
                   .value = std::to_string(w.pad),
                   .constraint = fmt::format("leaves {} of an input of {}", out, w.in)});
    return out;
  };
  const std::int64_t height =
      side({inputs[0][1], layer.kernel.height, layer.stride.height, layer.pad.height});
  const std::int64_t width =
      side({inputs[0][2], layer.kernel.width, layer.stride.width, layer.pad.width});
  LayerSpec pixels = layer;
  pixels.num_output =
      value_count({layer.num_output, layer.kernel.height, layer.kernel.width}, layer, file);
  LayerEffect effect = linear_effect(pixels, file, inputs[0][0],
                                     value_count({inputs[0][1], inputs[0][2]}, layer, file));
  effect.outputs = {{layer.num_output, height, width}};
  if (layer.bias_term) effect.parameter_tensors.back() = layer.num_output;
  return effect;
}

const bool kDeconvolutionRegistered =
    Registry<Operator>::add({.name = "Deconvolution",
                             .options = {"num_output", "kernel_size", "stride", "pad", "bias_term"},
                             .sizes = {"output_padding"},
                             .apply = deconvolution});

}  // namespace
}  // namespace forescale
