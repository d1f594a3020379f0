#include "models/workload/layer_rules.hpp"

#include <fmt/format.h>

#include <limits>

#include "base/error.hpp"

namespace forescale {
namespace {

using Inputs = std::vector<Shape>;

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
constexpr double kCountMax = 9007199254740992.0;  // 2^53: counts stay exact as double

std::int64_t checked_product(std::initializer_list<std::int64_t> factors, const LayerSpec& layer,
                             const std::string& file) {
  return value_count(Shape(factors), layer, file);
}

void require_image(const LayerSpec& layer, const std::string& file, const Shape& input) {
  if (input.size() == 3) return;
  layer_error(layer, file,
              {.key = "bottom",
               .value = to_text(input),
               .constraint = "must have the shape channels x height x width"});
}

struct Window {
  std::int64_t in, kernel, stride, pad, dilation;
};

std::int64_t convolution_side(const Window& w, const LayerSpec& layer, const std::string& file) {
  const std::int64_t reach = w.dilation * (w.kernel - 1) + 1;
  const std::int64_t room = w.in + 2 * w.pad - reach;
  if (room < 0)
    layer_error(layer, file,
                {.key = "kernel_size",
                 .value = std::to_string(reach),
                 .constraint = fmt::format("must be <= the padded input {}", w.in + 2 * w.pad)});
  return room / w.stride + 1;
}

std::int64_t pooling_side(const Window& w, const LayerSpec& layer, const std::string& file) {
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

LayerEffect convolution(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_image(layer, file, inputs[0]);
  const std::int64_t channels = inputs[0][0];
  if (layer.num_output < 1)
    layer_error(layer, file, {.key = "num_output", .value = "", .constraint = "is required"});
  if (layer.kernel.height < 1 || layer.kernel.width < 1)
    layer_error(layer, file, {.key = "kernel_size", .value = "", .constraint = "is required"});
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
  const std::int64_t weights = checked_product(
      {layer.num_output, channels / layer.group, layer.kernel.height, layer.kernel.width}, layer,
      file);
  LayerEffect effect;
  effect.outputs = {{layer.num_output, height, width}};
  effect.parameter_tensors = {weights};
  if (layer.bias_term) effect.parameter_tensors.push_back(layer.num_output);
  effect.forward_flops =
      2.0 * static_cast<double>(weights) * static_cast<double>(height) * static_cast<double>(width);
  return effect;
}

LayerEffect pooling(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  require_image(layer, file, inputs[0]);
  const Shape& in = inputs[0];
  LayerEffect effect;
  if (layer.global_pooling) {
    effect.outputs = {{in[0], 1, 1}};
  } else {
    if (layer.kernel.height < 1 || layer.kernel.width < 1)
      layer_error(layer, file, {.key = "kernel_size", .value = "", .constraint = "is required"});
    const std::int64_t height = pooling_side(
        {in[1], layer.kernel.height, layer.stride.height, layer.pad.height, 1}, layer, file);
    const std::int64_t width = pooling_side(
        {in[2], layer.kernel.width, layer.stride.width, layer.pad.width, 1}, layer, file);
    effect.outputs = {{in[0], height, width}};
  }
  if (layer.pool != "AVE")  // remembers which input was taken
    effect.kept_values = value_count(effect.outputs[0], layer, file);
  return effect;
}

LayerEffect inner_product(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  if (layer.num_output < 1)
    layer_error(layer, file, {.key = "num_output", .value = "", .constraint = "is required"});
  LayerEffect effect;
  effect.matrix_rows = layer.num_output;
  effect.matrix_columns = value_count(inputs[0], layer, file);
  effect.outputs = {{layer.num_output}};
  effect.parameter_tensors = {
      checked_product({effect.matrix_rows, effect.matrix_columns}, layer, file)};
  effect.forward_flops = 2.0 * static_cast<double>(effect.parameter_tensors[0]);
  if (layer.bias_term) effect.parameter_tensors.push_back(layer.num_output);
  return effect;
}

LayerEffect same_shape(const LayerSpec&, const std::string&, const Inputs& inputs) {
  return {.outputs = {inputs[0]}};
}

// Keeps as many values as it has outputs: the mask of Dropout, the scale of LRN, the normalised
// values of BatchNorm.
LayerEffect same_shape_keeping(const LayerSpec& layer, const std::string& file,
                               const Inputs& inputs) {
  LayerEffect effect{.outputs = {inputs[0]}};
  effect.kept_values = value_count(inputs[0], layer, file);
  return effect;
}

// The running mean and variance are not learned and count as no parameter. With its own scale and
// shift it is the fused layer of cuDNN, whose backward pass needs the input: a copy where it works
// in place, else the blob that is there anyway.
LayerEffect batch_norm(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  LayerEffect effect = same_shape_keeping(layer, file, inputs);
  if (!layer.scale_bias) return effect;
  effect.parameter_tensors = {inputs[0][0], inputs[0][0]};
  if (layer.tops != layer.bottoms) effect.kept_values = 0;
  return effect;
}

LayerEffect scale(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  LayerEffect effect = same_shape_keeping(layer, file, inputs);
  effect.parameter_tensors = {inputs[0][0]};
  if (layer.bias_term) effect.parameter_tensors.push_back(inputs[0][0]);
  return effect;
}

LayerEffect concat(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  Shape out = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    Shape like = inputs[i];
    if (!like.empty()) like[0] = inputs[0][0];
    if (like != inputs[0])
      layer_error(layer, file,
                  {.key = "bottom",
                   .value = fmt::format("{} {}", layer.bottoms[i], to_text(inputs[i])),
                   .constraint = fmt::format("must match {} {} in all but the channels",
                                             layer.bottoms[0], to_text(inputs[0]))});
    out[0] += inputs[i][0];
  }
  return {.outputs = {out}};
}

LayerEffect eltwise(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  for (std::size_t i = 1; i < inputs.size(); ++i)
    if (inputs[i] != inputs[0])
      layer_error(layer, file,
                  {.key = "bottom",
                   .value = fmt::format("{} {}", layer.bottoms[i], to_text(inputs[i])),
                   .constraint = fmt::format("must have the shape of {} {}", layer.bottoms[0],
                                             to_text(inputs[0]))});
  return {.outputs = {inputs[0]}};
}

LayerEffect flatten(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  return {.outputs = {{value_count(inputs[0], layer, file)}}};
}

// Keeps the probabilities for the backward pass.
LayerEffect softmax_loss(const LayerSpec& layer, const std::string& file, const Inputs& inputs) {
  LayerEffect effect{.outputs = {{1}}};
  effect.kept_values = value_count(inputs[0], layer, file);
  return effect;
}

// `inputs` is the network's input shape; a second top is the label.
LayerEffect data(const LayerSpec& layer, const std::string&, const Inputs& inputs) {
  LayerEffect effect{.outputs = {inputs[0]}};
  if (layer.tops.size() == 2) effect.outputs.push_back({1});
  return effect;
}

LayerEffect nothing(const LayerSpec& layer, const std::string&, const Inputs&) {
  return {.outputs = std::vector<Shape>(layer.tops.size(), Shape{1})};
}

const bool kRegistered = [] {
  for (const char* name : {"Data", "ImageData", "Input"})
    Registry<LayerRule>::add({.name = name,
                              .kind = LayerKind::kData,
                              .bottoms_min = 0,
                              .bottoms_max = 0,
                              .tops_max = 2,
                              .apply = data});
  for (const char* name : {"ReLU", "Sigmoid", "TanH"})
    Registry<LayerRule>::add({.name = name, .may_be_in_place = true, .apply = same_shape});
  const std::vector<LayerRule> others = {
      {.name = "Accuracy",
       .kind = LayerKind::kIgnored,
       .bottoms_max = kAny,
       .tops_max = kAny,
       .apply = nothing},
      {.name = "BatchNorm",
       .may_be_in_place = true,
       .options = {"scale_bias"},
       .apply = batch_norm},
      {.name = "Concat", .bottoms_max = kAny, .apply = concat},
      {.name = "Convolution",
       .options = {"num_output", "kernel_size", "stride", "pad", "dilation", "group", "bias_term"},
       .apply = convolution},
      {.name = "Dropout", .may_be_in_place = true, .apply = same_shape_keeping},
      {.name = "Eltwise",
       .bottoms_min = 2,
       .bottoms_max = kAny,
       .may_be_in_place = true,
       .apply = eltwise},
      {.name = "Flatten", .kind = LayerKind::kView, .apply = flatten},
      {.name = "InnerProduct", .options = {"num_output", "bias_term"}, .apply = inner_product},
      {.name = "LRN", .apply = same_shape_keeping},
      {.name = "Pooling",
       .options = {"pool", "kernel_size", "stride", "pad", "global_pooling", "round_mode"},
       .apply = pooling},
      {.name = "Scale",
       .may_be_in_place = true,
       .bias_unless_said = false,
       .options = {"bias_term"},
       .apply = scale},
      {.name = "Silence",
       .kind = LayerKind::kIgnored,
       .bottoms_max = kAny,
       .tops_max = 0,
       .apply = nothing},
      {.name = "Softmax", .kind = LayerKind::kOutput, .may_be_in_place = true, .apply = same_shape},
      {.name = "SoftmaxWithLoss",
       .kind = LayerKind::kOutput,
       .bottoms_min = 2,
       .bottoms_max = 2,
       .tops_max = 2,
       .apply = softmax_loss}};
  for (const LayerRule& rule : others) Registry<LayerRule>::add(rule);
  return true;
}();

}  // namespace

const LayerRule* layer_rule(const std::string& type) {
  const auto& rules = Registry<LayerRule>::all();
  const auto found = rules.find(type);
  return found == rules.end() ? nullptr : &found->second;
}

std::vector<std::string> layer_types() { return Registry<LayerRule>::names(); }

bool default_bias_term(const std::string& type) { return layer_rule(type)->bias_unless_said; }

std::int64_t value_count(const Shape& shape, const LayerSpec& layer, const std::string& file) {
  double count = 1;
  for (const std::int64_t side : shape) count *= static_cast<double>(side);
  if (count > kCountMax)
    layer_error(layer, file,
                {.key = "", .value = to_text(shape), .constraint = "must be < 2^53 values"});
  return static_cast<std::int64_t>(count);
}

void layer_error(const LayerSpec& layer, const std::string& file, const LayerProblem& problem) {
  throw InputError(
      {.source = file,
       .path = problem.key.empty() ? layer.path : layer.path + "/" + problem.key,
       .value = problem.value,
       .constraint = fmt::format("{} (layer \"{}\")", problem.constraint, layer.name)});
}

}  // namespace forescale
