// A group of filters over an image. out = floor((in + 2 pad - (dilation (kernel - 1) + 1)) /
// stride) + 1, forward FLOP = 2 * filters * (channels / group) * kernel_h * kernel_w * out_h *
// out_w. A "tied" one has another layer's filters.
#include <fmt/format.h>

#include <algorithm>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

struct ConvolvedSide {
  std::int64_t in, kernel, stride, pad, dilation;
};

std::int64_t convolution_side(const ConvolvedSide& w, const LayerSpec& layer,
                              const std::string& file) {
  const std::int64_t reach = w.dilation * (w.kernel - 1) + 1;
  const std::int64_t room = w.in + 2 * w.pad - reach;
  if (room < 0)
    layer_error(layer, file,
                {.key = "kernel_size",
                 .value = std::to_string(reach),
                 .constraint = fmt::format("must be <= the padded input {}", w.in + 2 * w.pad)});
  return room / w.stride + 1;
}

LayerEffect convolution(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_image(layer, file, inputs[0]);
  const std::int64_t channels = inputs[0][0];
  require_given(layer, file, "num_output", layer.num_output);
  require_given(layer, file, "kernel_size", std::min(layer.kernel.height, layer.kernel.width));
  if (channels % layer.group != 0 || layer.num_output % layer.group != 0)
    layer_error(layer, file,
                {.key = "group",
                 .value = std::to_string(layer.group),
                 .constraint = fmt::format("must divide {} input channels and {} outputs", channels,
                                           layer.num_output)});
  const std::int64_t height =
      convolution_side({inputs[0][1], layer.kernel.height, layer.stride.height, layer.pad.height,
                        layer.dilation.height},
                       layer, file);
  const std::int64_t width = convolution_side(
      {inputs[0][2], layer.kernel.width, layer.stride.width, layer.pad.width, layer.dilation.width},
      layer, file);
  const std::int64_t weights = value_count(
      {layer.num_output, channels / layer.group, layer.kernel.height, layer.kernel.width}, layer,
      file);
  LayerEffect effect;
  effect.outputs = {{layer.num_output, height, width}};
  if (!layer.flags.contains("tied")) effect.parameter_tensors = {weights};
  if (layer.bias_term) effect.parameter_tensors.push_back(layer.num_output);
  effect.forward_flops =
      2.0 * static_cast<double>(weights) * static_cast<double>(height) * static_cast<double>(width);
  // No library's kernels of dilated filters were measured.
  if (layer.dilation == Extent{1, 1})
    effect.work = ConvolutionShape{.batch = 1,
                                   .channels = channels,
                                   .height = inputs[0][1],
                                   .width = inputs[0][2],
                                   .filters = layer.num_output,
                                   .filter_height = layer.kernel.height,
                                   .filter_width = layer.kernel.width,
                                   .pad_height = layer.pad.height,
                                   .pad_width = layer.pad.width,
                                   .stride_height = layer.stride.height,
                                   .stride_width = layer.stride.width,
                                   .groups = layer.group};
  return effect;
}

const bool kConvolutionRegistered = Registry<Operator>::add(
    {.name = "Convolution",
     .options = {"num_output", "kernel_size", "stride", "pad", "dilation", "group", "bias_term"},
     .flags = {"tied"},
     .apply = convolution});

}  // namespace
}  // namespace forescale
