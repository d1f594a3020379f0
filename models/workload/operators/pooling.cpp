// The largest or the mean of a window. out = ceil((in + 2 pad - kernel) / stride) + 1, and one less
// where padding would let the last window start outside the image.
#include <fmt/format.h>

#include <algorithm>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

struct PooledSide {
  std::int64_t in, kernel, stride, pad;
};

std::int64_t pooling_side(const PooledSide& w, const LayerSpec& layer, const std::string& file) {
  const std::int64_t room = w.in + 2 * w.pad - w.kernel;
  if (room < 0)
    layer_error(layer, file,
                {.key = "kernel_size",
                 .value = std::to_string(w.kernel),
                 .constraint = fmt::format("must be <= the padded input {}", w.in + 2 * w.pad)});
  if (w.pad >= w.kernel)
    layer_error(layer, file,
                {.key = "pad",
                 .value = std::to_string(w.pad),
                 .constraint = fmt::format("must be < kernel_size {}", w.kernel)});
  const std::int64_t rounding = layer.round_mode == "CEIL" ? w.stride - 1 : 0;
  std::int64_t out = (room + rounding) / w.stride + 1;
  if (w.pad > 0 && (out - 1) * w.stride >= w.in + w.pad) --out;
  return out;
}

LayerEffect pooling(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_image(layer, file, inputs[0]);
  const Shape& in = inputs[0];
  LayerEffect effect;
  if (layer.global_pooling) {
    effect.outputs = {{in[0], 1, 1}};
  } else {
    require_given(layer, file, "kernel_size", std::min(layer.kernel.height, layer.kernel.width));
    const std::int64_t height = pooling_side(
        {in[1], layer.kernel.height, layer.stride.height, layer.pad.height}, layer, file);
    const std::int64_t width =
        pooling_side({in[2], layer.kernel.width, layer.stride.width, layer.pad.width}, layer, file);
    effect.outputs = {{in[0], height, width}};
  }
  if (layer.pool != "AVE")  // remembers which input was taken
    effect.kept_values = value_count(effect.outputs[0], layer, file);
  return effect;
}

const bool kPoolingRegistered = Registry<Operator>::add(
    {.name = "Pooling",
     .options = {"pool", "kernel_size", "stride", "pad", "global_pooling", "round_mode"},
     .apply = pooling});

}  // namespace
}  // namespace forescale
