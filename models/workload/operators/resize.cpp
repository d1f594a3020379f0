// Crop: the middle "height" x "width" of an image, copied. Upsample: each pixel "scale" times in
// both directions, as feature pyramids bring a coarse map onto a finer one (Lin et al., CVPR 2017).
#include <fmt/format.h>

#include "models/workload/operator.hpp"

namespace forescale {
namespace {

LayerEffect crop(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_image(layer, file, inputs[0]);
  const Shape out{inputs[0][0], size_of(layer, file, "height"), size_of(layer, file, "width")};
  if (out[1] > inputs[0][1] || out[2] > inputs[0][2])
    layer_error(layer, file,
                {.key = "height",
                 .value = fmt::format("{} x {}", out[1], out[2]),
                 .constraint = "must be within the input " + to_text(inputs[0])});
  return {.outputs = {out}};
}

LayerEffect upsample(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_image(layer, file, inputs[0]);
  const std::int64_t scale = size_of(layer, file, "scale");
  return {.outputs = {{inputs[0][0], value_count({scale, inputs[0][1]}, layer, file),
                       value_count({scale, inputs[0][2]}, layer, file)}}};
}

const bool kCropRegistered =
    Registry<Operator>::add({.name = "Crop", .sizes = {"height", "width"}, .apply = crop});

const bool kUpsampleRegistered =
    Registry<Operator>::add({.name = "Upsample", .sizes = {"scale"}, .apply = upsample});

}  // namespace
}  // namespace forescale
