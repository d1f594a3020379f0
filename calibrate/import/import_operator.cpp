#include "calibrate/import/import_operator.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "calibrate/import/import_format.hpp"

namespace forescale {
namespace {

using nlohmann::json;
using Sizes = std::vector<std::int64_t>;

// Sizes of the i-th input; empty where it is no tensor.
Sizes sizes_at(const json& lists, size_t i) {
  Sizes sizes;
  if (!lists.is_array() || i >= lists.size() || !lists[i].is_array()) return sizes;
  for (const json& size : lists[i]) {
    if (!size.is_number_integer() || size.get<std::int64_t>() < 1) return {};
    sizes.push_back(size.get<std::int64_t>());
  }
  return sizes;
}

// "[2, 2]" as sizes.
std::optional<Sizes> listed(const json& values, size_t i) {
  if (!values.is_array() || i >= values.size() || !values[i].is_string()) return std::nullopt;
  const std::string text = values[i].get<std::string>();
  if (text.size() < 2 || text.front() != '[') return std::nullopt;
  Sizes sizes;
  std::istringstream in(text.substr(1));
  for (std::int64_t size = 0; in >> size; in.ignore(1)) sizes.push_back(size);
  return sizes;
}

// Of the first input that is a tensor of numbers with a fraction.
std::optional<Precision> precision_of(const json& types) {
  if (!types.is_array()) return Precision::kFp32;
  for (const json& type : types) {
    if (!type.is_string()) continue;
    const std::string text = type.get<std::string>();
    if (text == "float") return Precision::kFp32;
    if (text == "c10::Half") return Precision::kFp16;
    if (text == "c10::BFloat16") return Precision::kBf16;
    if (text == "double") return std::nullopt;
  }
  return Precision::kFp32;
}

KernelPass pass_of(const std::string& name) {
  if (contains(name, "backward_input")) return KernelPass::kBackwardData;
  if (contains(name, "backward_weight")) return KernelPass::kBackwardWeights;
  return contains(name, "ackward") ? KernelPass::kBackward : KernelPass::kForward;
}

// Row-major tensors whose last stride is not 1 are transposed ones.
bool is_transposed(const json& strides, size_t i) {
  const Sizes steps = sizes_at(strides, i);
  return steps.size() == 2 && steps[1] != 1 && steps[0] == 1;
}

std::optional<GemmShape> product_of(const OperatorInputs& inputs) {
  const size_t first = inputs.name == "aten::addmm" ? 1 : 0;
  if (inputs.name != "aten::addmm" && inputs.name != "aten::mm") return std::nullopt;
  const Sizes a = sizes_at(inputs.dims, first);
  const Sizes b = sizes_at(inputs.dims, first + 1);
  if (a.size() != 2 || b.size() != 2 || a[1] != b[0]) return std::nullopt;
  return GemmShape{.m = b[1],
                   .n = a[0],
                   .k = a[1],
                   .transpose_a = is_transposed(inputs.strides, first + 1),
                   .transpose_b = is_transposed(inputs.strides, first)};
}

// Where stride and padding stand among an operator's inputs.
struct ConvolutionPlaces {
  const char* name;
  size_t image;
  size_t weights;
  size_t stride;
  size_t pad;
};
constexpr ConvolutionPlaces kConvolutions[] = {
    {"aten::cudnn_convolution", 0, 1, 3, 2},    {"aten::convolution", 0, 1, 3, 4},
    {"aten::_convolution", 0, 1, 3, 4},         {"aten::conv2d", 0, 1, 3, 4},
    {"aten::convolution_backward", 1, 2, 4, 5},
};

std::optional<ConvolutionShape> convolution_of(const OperatorInputs& inputs) {
  for (const ConvolutionPlaces& places : kConvolutions) {
    if (inputs.name != places.name) continue;
    const Sizes image = sizes_at(inputs.dims, places.image);
    const Sizes weights = sizes_at(inputs.dims, places.weights);
    const auto stride = listed(inputs.values, places.stride);
    const auto pad = listed(inputs.values, places.pad);
    if (image.size() != 4 || weights.size() != 4 || !stride || !pad || stride->size() != 2 ||
        pad->size() != 2)
      return std::nullopt;
    const std::int64_t groups = image[1] / weights[1];
    const ConvolutionShape shape{.batch = image[0],
                                 .channels = image[1],
                                 .height = image[2],
                                 .width = image[3],
                                 .filters = weights[0],
                                 .filter_height = weights[2],
                                 .filter_width = weights[3],
                                 .pad_height = (*pad)[0],
                                 .pad_width = (*pad)[1],
                                 .stride_height = std::max<std::int64_t>(1, (*stride)[0]),
                                 .stride_width = std::max<std::int64_t>(1, (*stride)[1]),
                                 .groups = std::max<std::int64_t>(1, groups)};
    if (shape.output_height() < 1 || shape.output_width() < 1) return std::nullopt;
    return shape;
  }
  return std::nullopt;
}

// Where queries, keys, values and whether it is causal stand, and whether words come before heads.
struct AttentionPlaces {
  const char* name;
  const char* algorithm;
  size_t query;
  size_t causal;
  bool is_words_first;
};
constexpr AttentionPlaces kAttentions[] = {
    {"aten::_cudnn_attention_forward", "cudnn", 0, 10, false},
    {"aten::_cudnn_attention_backward", "cudnn", 1, 14, false},
    {"aten::_flash_attention_forward", "flash", 0, 8, true},
    {"aten::_flash_attention_backward", "flash", 1, 11, true},
};

std::optional<AttentionShape> attention_of(const OperatorInputs& inputs,
                                           const AttentionPlaces& places) {
  const Sizes query = sizes_at(inputs.dims, places.query);
  const Sizes key = sizes_at(inputs.dims, places.query + 1);
  const json& values = inputs.values;
  if (query.size() != 4 || key.size() != 4 || !values.is_array() ||
      values.size() <= places.causal || !values[places.causal].is_string())
    return std::nullopt;
  const size_t words = places.is_words_first ? 1 : 2;
  const size_t heads = 3 - words;
  if (query[words] != key[words] || query[heads] % key[heads] != 0) return std::nullopt;
  return AttentionShape{.batch = query[0],
                        .sequence = query[words],
                        .heads = query[heads],
                        .kv_heads = key[heads],
                        .head_size = query[3],
                        .is_causal = values[places.causal] == "True"};
}

// Of layers as models/workload/ names them. A backward pass has the forward one's shape.
struct LayerPlaces {
  const char* name;
  const char* type;
  size_t input;
};
constexpr LayerPlaces kLayers[] = {
    {"aten::native_batch_norm", "BatchNorm", 0},
    {"aten::cudnn_batch_norm", "BatchNorm", 0},
    {"aten::native_batch_norm_backward", "BatchNorm", 1},
    {"aten::cudnn_batch_norm_backward", "BatchNorm", 0},
    {"aten::relu", "ReLU", 0},
    {"aten::relu_", "ReLU", 0},
    {"aten::clamp_min", "ReLU", 0},
    {"aten::clamp_min_", "ReLU", 0},
    {"aten::threshold_backward", "ReLU", 1},
};

double values_of(const Sizes& sizes) {
  double values = 1;
  for (const std::int64_t size : sizes) values *= static_cast<double>(size);
  return values;
}

// As many values out as in; what a normalisation scales and shifts by besides.
std::optional<LayerShape> known_layer_of(const OperatorInputs& inputs, Precision precision) {
  for (const LayerPlaces& places : kLayers) {
    if (inputs.name != places.name) continue;
    const Sizes image = sizes_at(inputs.dims, places.input);
    if (image.size() != 4) return std::nullopt;
    LayerShape layer{.type = places.type, .batch = image[0]};
    layer.input_bytes = layer.output_bytes = values_of(image) * bytes_a_value(precision);
    if (layer.type == "BatchNorm")
      layer.parameter_bytes = 2 * static_cast<double>(image[1]) * bytes_a_value(precision);
    return layer;
  }
  return std::nullopt;
}

// Bytes of all inputs together.
LayerShape layer_of(const OperatorInputs& inputs, Precision precision) {
  LayerShape layer{.type = inputs.name};
  for (size_t i = 0; i < inputs.dims.size(); ++i) {
    const Sizes sizes = sizes_at(inputs.dims, i);
    if (sizes.empty()) continue;
    layer.input_bytes += values_of(sizes) * bytes_a_value(precision);
    if (layer.batch == 1 && sizes.size() > 1) layer.batch = sizes[0];
  }
  return layer;
}

}  // namespace

std::optional<OperatorCall> operator_call(const OperatorInputs& inputs) {
  const auto precision = precision_of(inputs.types);
  if (!inputs.dims.is_array() || !precision) return std::nullopt;
  OperatorCall call;
  call.kernel.precision = *precision;
  call.kernel.pass = pass_of(inputs.name);
  call.key = fmt::format("{} {} {} {} {}", inputs.name, inputs.dims.dump(), inputs.types.dump(),
                         inputs.strides.dump(), inputs.values.dump());
  for (const AttentionPlaces& places : kAttentions) {
    if (inputs.name != places.name) continue;
    const auto attention = attention_of(inputs, places);
    if (!attention) break;
    call.kernel.shape = *attention;
    call.algorithm = places.algorithm;
    return call;
  }
  if (const auto product = product_of(inputs)) {
    call.kernel.shape = *product;
  } else if (const auto convolution = convolution_of(inputs)) {
    call.kernel.shape = *convolution;
  } else if (const auto known = known_layer_of(inputs, *precision)) {
    call.kernel.shape = *known;
  } else {
    const LayerShape layer = layer_of(inputs, *precision);
    if (layer.input_bytes <= 0) return std::nullopt;
    call.kernel.shape = layer;
  }
  return call;
}

std::optional<OperatorCall> operator_call(const json& event) {
  const auto args = event.find("args");
  const auto name = event.find("name");
  if (args == event.end() || !args->is_object() || name == event.end() || !name->is_string())
    return std::nullopt;
  const auto list = [&](const char* key) {
    const auto found = args->find(key);
    return found == args->end() ? json() : *found;
  };
  return operator_call(OperatorInputs{.name = name->get<std::string>(),
                                      .dims = list("Input Dims"),
                                      .types = list("Input type"),
                                      .strides = list("Input Strides"),
                                      .values = list("Concrete Inputs")});
}

}  // namespace forescale
