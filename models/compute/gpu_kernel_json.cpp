#include "models/compute/gpu_kernel_json.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/compute/kernel_fit_json.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr std::int64_t kKernelSizeMax = std::int64_t{1} << 40;

struct SizeKey {
  const char* name;
  std::int64_t ConvolutionShape::*member;
  bool is_required;
  std::int64_t min;
};

constexpr std::array<SizeKey, 12> kConvolutionKeys{{
    {"batch", &ConvolutionShape::batch, true, 1},
    {"channels", &ConvolutionShape::channels, true, 1},
    {"height", &ConvolutionShape::height, true, 1},
    {"width", &ConvolutionShape::width, true, 1},
    {"filters", &ConvolutionShape::filters, true, 1},
    {"filter_height", &ConvolutionShape::filter_height, true, 1},
    {"filter_width", &ConvolutionShape::filter_width, true, 1},
    {"pad_height", &ConvolutionShape::pad_height, false, 0},
    {"pad_width", &ConvolutionShape::pad_width, false, 0},
    {"stride_height", &ConvolutionShape::stride_height, false, 1},
    {"stride_width", &ConvolutionShape::stride_width, false, 1},
    {"groups", &ConvolutionShape::groups, false, 1},
}};

constexpr std::array<std::pair<const char*, std::int64_t AttentionShape::*>, 5> kAttentionKeys{{
    {"batch", &AttentionShape::batch},
    {"sequence", &AttentionShape::sequence},
    {"heads", &AttentionShape::heads},
    {"kv_heads", &AttentionShape::kv_heads},
    {"head_size", &AttentionShape::head_size},
}};

constexpr std::array<std::pair<const char*, double LayerShape::*>, 4> kLayerKeys{{
    {"input_bytes", &LayerShape::input_bytes},
    {"output_bytes", &LayerShape::output_bytes},
    {"parameter_bytes", &LayerShape::parameter_bytes},
    {"flops", &LayerShape::flops},
}};

GemmShape read_gemm_shape(const JsonInput& in) {
  GemmShape gemm;
  gemm.m = in.at("m").integer(1, kKernelSizeMax);
  gemm.n = in.at("n").integer(1, kKernelSizeMax);
  gemm.k = in.at("k").integer(1, kKernelSizeMax);
  if (const auto count = in.find("count")) gemm.count = count->integer(1, kKernelSizeMax);
  if (const auto given = in.find("transposes")) {
    const std::string transposes = given->one_of({"NN", "NT", "TN", "TT"});
    gemm.transpose_a = transposes[0] == 'T';
    gemm.transpose_b = transposes[1] == 'T';
  }
  return gemm;
}

ConvolutionShape read_convolution_shape(const JsonInput& in) {
  ConvolutionShape shape;
  for (const SizeKey& key : kConvolutionKeys)
    if (key.is_required || in.has(key.name))
      shape.*key.member = in.at(key.name).integer(key.min, kKernelSizeMax);
  if (shape.filter_height > shape.height + 2 * shape.pad_height)
    in.at("filter_height").fail("must be at most the height with its padding");
  if (shape.filter_width > shape.width + 2 * shape.pad_width)
    in.at("filter_width").fail("must be at most the width with its padding");
  if (shape.channels % shape.groups != 0 || shape.filters % shape.groups != 0)
    in.at("groups").fail(fmt::format("must divide the {} channels and the {} filters",
                                     shape.channels, shape.filters));
  return shape;
}

AttentionShape read_attention_shape(const JsonInput& in) {
  AttentionShape shape;
  for (const auto& [key, member] : kAttentionKeys)
    shape.*member = in.at(key).integer(1, kKernelSizeMax);
  shape.is_causal = in.at("causal").boolean();
  if (shape.heads % shape.kv_heads != 0)
    in.at("kv_heads").fail(fmt::format("must divide the {} heads", shape.heads));
  return shape;
}

LayerShape read_layer_shape(const JsonInput& in) {
  LayerShape layer;
  layer.type = in.at("type").string();
  if (layer.type.empty()) in.at("type").fail("must not be empty");
  if (const auto batch = in.find("batch")) layer.batch = batch->integer(1, kKernelSizeMax);
  for (const auto& [key, member] : kLayerKeys)
    if (const auto given = in.find(key)) layer.*member = given->number(0);
  return layer;
}

std::vector<std::string> keys_of(const std::string& operation) {
  std::vector<std::string> keys{"operation", "pass", "precision"};
  const auto add = [&](std::initializer_list<const char*> more) {
    keys.insert(keys.end(), more.begin(), more.end());
  };
  if (operation == "gemm") add({"m", "n", "k", "count", "transposes"});
  if (operation == "convolution")
    for (const SizeKey& key : kConvolutionKeys) keys.emplace_back(key.name);
  if (operation == "attention") {
    add({"causal"});
    for (const auto& [key, member] : kAttentionKeys) keys.emplace_back(key);
  }
  if (operation == "layer") {
    add({"type", "batch"});
    for (const auto& [key, member] : kLayerKeys) keys.emplace_back(key);
  }
  return keys;
}

json shape_json(const GemmShape& gemm) {
  json object{{"m", gemm.m},
              {"n", gemm.n},
              {"k", gemm.k},
              {"transposes",
               fmt::format("{}{}", gemm.transpose_a ? 'T' : 'N', gemm.transpose_b ? 'T' : 'N')}};
  if (gemm.count != 1) object["count"] = gemm.count;
  return object;
}

json shape_json(const ConvolutionShape& shape) {
  const ConvolutionShape defaults;
  json object;
  for (const SizeKey& key : kConvolutionKeys)
    if (key.is_required || shape.*key.member != defaults.*key.member)
      object[key.name] = shape.*key.member;
  return object;
}

json shape_json(const AttentionShape& shape) {
  json object{{"causal", shape.is_causal}};
  for (const auto& [key, member] : kAttentionKeys) object[key] = shape.*member;
  return object;
}

json shape_json(const LayerShape& layer) {
  json object{{"type", layer.type}, {"batch", layer.batch}};
  for (const auto& [key, member] : kLayerKeys)
    if (layer.*member > 0) object[key] = layer.*member;
  return object;
}

}  // namespace

GpuKernel read_gpu_kernel(const JsonInput& in, const std::vector<std::string>& more) {
  GpuKernel kernel;
  const std::string operation =
      in.at("operation").one_of({"gemm", "convolution", "attention", "layer"});
  std::vector<std::string> keys = keys_of(operation);
  keys.insert(keys.end(), more.begin(), more.end());
  in.allow_only(keys);
  if (operation == "gemm")
    kernel.shape = read_gemm_shape(in);
  else if (operation == "convolution")
    kernel.shape = read_convolution_shape(in);
  else if (operation == "attention")
    kernel.shape = read_attention_shape(in);
  else
    kernel.shape = read_layer_shape(in);
  kernel.pass = read_pass(in.at("pass"));
  kernel.precision = read_precision(in.at("precision"));
  return kernel;
}

json to_json(const GpuKernel& kernel) {
  json object = std::visit([](const auto& shape) { return shape_json(shape); }, kernel.shape);
  object["operation"] = operation_of(kernel);
  object["pass"] = name_of(kernel.pass);
  object["precision"] = name_of(kernel.precision);
  return object;
}

}  // namespace forescale
