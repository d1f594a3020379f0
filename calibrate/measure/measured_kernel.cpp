#include "calibrate/measure/measured_kernel.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "calibrate/measure/measured_time.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr std::int64_t kSizeMax = std::int64_t{1} << 40;

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

GemmShape read_gemm(const JsonInput& in) {
  in.allow_only({"operation", "m", "n", "k", "transposes", "pass", "precision", "time_s", "low_s",
                 "high_s", "samples", "network", "layer", "algorithm"});
  GemmShape gemm;
  gemm.m = in.at("m").integer(1, kSizeMax);
  gemm.n = in.at("n").integer(1, kSizeMax);
  gemm.k = in.at("k").integer(1, kSizeMax);
  if (const auto given = in.find("transposes")) {
    const std::string transposes = given->one_of({"NN", "NT", "TN", "TT"});
    gemm.transpose_a = transposes[0] == 'T';
    gemm.transpose_b = transposes[1] == 'T';
  }
  return gemm;
}

ConvolutionShape read_convolution(const JsonInput& in) {
  in.allow_only({"operation",     "batch",         "channels",     "height",     "width",
                 "filters",       "filter_height", "filter_width", "pad_height", "pad_width",
                 "stride_height", "stride_width",  "groups",       "pass",       "precision",
                 "time_s",        "low_s",         "high_s",       "samples",    "network",
                 "layer",         "algorithm"});
  ConvolutionShape shape;
  for (const SizeKey& key : kConvolutionKeys)
    if (key.is_required || in.has(key.name))
      shape.*key.member = in.at(key.name).integer(key.min, kSizeMax);
  if (shape.filter_height > shape.height + 2 * shape.pad_height)
    in.at("filter_height").fail("must be at most the height with its padding");
  if (shape.filter_width > shape.width + 2 * shape.pad_width)
    in.at("filter_width").fail("must be at most the width with its padding");
  if (shape.channels % shape.groups != 0 || shape.filters % shape.groups != 0)
    in.at("groups").fail(fmt::format("must divide the {} channels and the {} filters",
                                     shape.channels, shape.filters));
  return shape;
}

AttentionShape read_attention(const JsonInput& in) {
  in.allow_only({"operation", "batch", "sequence", "heads", "kv_heads", "head_size", "causal",
                 "pass", "precision", "time_s", "low_s", "high_s", "samples", "network", "layer",
                 "algorithm"});
  AttentionShape shape;
  for (const auto& [key, member] : kAttentionKeys) shape.*member = in.at(key).integer(1, kSizeMax);
  shape.is_causal = in.at("causal").boolean();
  if (shape.heads % shape.kv_heads != 0)
    in.at("kv_heads").fail(fmt::format("must divide the {} heads", shape.heads));
  return shape;
}

LayerShape read_layer(const JsonInput& in) {
  in.allow_only({"operation", "type", "batch", "input_bytes", "output_bytes", "parameter_bytes",
                 "flops", "pass", "precision", "time_s", "low_s", "high_s", "samples", "network",
                 "layer", "algorithm"});
  LayerShape layer;
  layer.type = in.at("type").string();
  if (layer.type.empty()) in.at("type").fail("must not be empty");
  if (const auto batch = in.find("batch")) layer.batch = batch->integer(1, kSizeMax);
  for (const auto& [key, member] : kLayerKeys)
    if (const auto given = in.find(key)) layer.*member = given->number(0);
  return layer;
}

// One of an enumeration's values by its name.
template <class Values>
auto read_named(const JsonInput& in, const Values& values) {
  const std::string text = in.string();
  std::string names;
  for (const auto value : values) {
    if (text == name_of(value)) return value;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", name_of(value));
  }
  in.fail("must be one of " + names);
}

json shape_json(const GemmShape& gemm) {
  return {{"m", gemm.m},
          {"n", gemm.n},
          {"k", gemm.k},
          {"transposes",
           fmt::format("{}{}", gemm.transpose_a ? 'T' : 'N', gemm.transpose_b ? 'T' : 'N')}};
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

MeasuredKernel read_measured_kernel(const JsonInput& in) {
  MeasuredKernel measured;
  const std::string operation =
      in.at("operation").one_of({"gemm", "convolution", "attention", "layer"});
  if (operation == "gemm")
    measured.kernel.shape = read_gemm(in);
  else if (operation == "convolution")
    measured.kernel.shape = read_convolution(in);
  else if (operation == "attention")
    measured.kernel.shape = read_attention(in);
  else
    measured.kernel.shape = read_layer(in);
  measured.kernel.pass =
      read_named(in.at("pass"), std::array{KernelPass::kForward, KernelPass::kBackwardData,
                                           KernelPass::kBackwardWeights, KernelPass::kBackward});
  measured.kernel.precision = read_named(in.at("precision"), kPrecisions);
  measured.time_s = read_measured_time(in.at("time_s"));
  const TimeEnds ends = read_time_ends(in, "low_s", "high_s", measured.time_s);
  measured.low_s = ends.low_s;
  measured.high_s = ends.high_s;
  if (const auto samples = in.find("samples"))
    measured.samples = static_cast<int>(samples->integer(1, std::numeric_limits<int>::max()));
  if (const auto network = in.find("network")) measured.network = network->string();
  if (const auto layer = in.find("layer")) measured.layer = layer->string();
  if (const auto algorithm = in.find("algorithm")) measured.algorithm = algorithm->string();
  return measured;
}

json to_json(const MeasuredKernel& measured) {
  json object =
      std::visit([](const auto& shape) { return shape_json(shape); }, measured.kernel.shape);
  object["operation"] = operation_of(measured.kernel);
  object["pass"] = name_of(measured.kernel.pass);
  object["precision"] = name_of(measured.kernel.precision);
  object["time_s"] = measured.time_s;
  if (measured.low_s != measured.time_s || measured.high_s != measured.time_s) {
    object["low_s"] = measured.low_s;
    object["high_s"] = measured.high_s;
  }
  if (measured.samples != 1) object["samples"] = measured.samples;
  if (!measured.network.empty()) object["network"] = measured.network;
  if (!measured.layer.empty()) object["layer"] = measured.layer;
  if (!measured.algorithm.empty()) object["algorithm"] = measured.algorithm;
  return object;
}

}  // namespace forescale
