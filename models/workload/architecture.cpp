#include "models/workload/architecture.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr std::int64_t kMaxOutputs = 10'000'000;
constexpr std::int64_t kMaxRows = 10'000'000'000;  // of a recommendation model's tables
constexpr std::int64_t kMaxExtent = 100'000;

std::vector<std::string> read_names(const JsonInput& in) {
  if (in.is_string()) return {in.string()};
  std::vector<std::string> names;
  for (const JsonInput& element : in.elements()) names.push_back(element.string());
  return names;
}

Extent read_extent(const JsonInput& in, std::int64_t min) {
  if (!in.is_array()) {
    const std::int64_t side = in.integer(min, kMaxExtent);
    return {.height = side, .width = side};
  }
  const std::vector<JsonInput> sides = in.elements();
  if (sides.size() != 2) in.fail("must be one number or [height, width]");
  return {.height = sides[0].integer(min, kMaxExtent), .width = sides[1].integer(min, kMaxExtent)};
}

void check_keys(const JsonInput& in, const std::string& type) {
  std::vector<std::string> known = {"name", "type", "bottom", "top", "auxiliary", "note", "source"};
  const Operator& rule = *find_operator(type);
  for (const auto* keys : {&rule.options, &rule.sizes, &rule.flags})
    known.insert(known.end(), keys->begin(), keys->end());
  for (const std::string& key : in.keys())
    if (std::find(known.begin(), known.end(), key) == known.end())
      in.at(key).fail("key is " + unknown_name(key, known) + " for a " + type + " layer");
}

LayerSpec read_layer_spec(const JsonInput& in) {
  LayerSpec layer;
  layer.path = in.path();
  layer.name = in.at("name").string();
  layer.type = in.at("type").string();
  if (find_operator(layer.type) == nullptr)
    in.at("type").fail("is " + unknown_name(layer.type, layer_types()));
  check_keys(in, layer.type);
  if (const auto names = in.find("bottom")) layer.bottoms = read_names(*names);
  layer.tops = in.has("top") ? read_names(in.at("top")) : std::vector<std::string>{layer.name};
  if (const auto value = in.find("num_output")) layer.num_output = value->integer(1, kMaxOutputs);
  if (const auto value = in.find("kernel_size")) layer.kernel = read_extent(*value, 1);
  if (const auto value = in.find("stride")) layer.stride = read_extent(*value, 1);
  if (const auto value = in.find("pad")) layer.pad = read_extent(*value, 0);
  if (const auto value = in.find("dilation")) layer.dilation = read_extent(*value, 1);
  if (const auto value = in.find("group")) layer.group = value->integer(1, kMaxOutputs);
  layer.bias_term = default_bias_term(layer.type);
  if (const auto value = in.find("bias_term")) layer.bias_term = value->boolean();
  if (const auto value = in.find("scale_bias")) layer.scale_bias = value->boolean();
  if (const auto value = in.find("pool")) layer.pool = value->one_of({"MAX", "AVE", "STOCHASTIC"});
  if (const auto value = in.find("round_mode")) layer.round_mode = value->one_of({"CEIL", "FLOOR"});
  if (const auto value = in.find("global_pooling")) layer.global_pooling = value->boolean();
  if (const auto value = in.find("auxiliary")) layer.auxiliary = value->boolean();
  for (const std::string& key : find_operator(layer.type)->sizes)
    if (const auto value = in.find(key))
      layer.sizes[key] = value->integer(1, key == "vocabulary" ? kMaxRows : kMaxOutputs);
  for (const std::string& key : find_operator(layer.type)->flags)
    if (const auto value = in.find(key); value && value->boolean()) layer.flags.insert(key);
  return layer;
}

json write_names(const std::vector<std::string>& names) {
  return names.size() == 1 ? json(names[0]) : json(names);
}

json write_extent(const Extent& extent) {
  if (extent.height == extent.width) return extent.height;
  return json::array({extent.height, extent.width});
}

json write_layer(const LayerSpec& layer) {
  const LayerSpec defaults;
  json out = {{"name", layer.name}, {"type", layer.type}};
  if (!layer.bottoms.empty()) out["bottom"] = write_names(layer.bottoms);
  if (layer.tops != std::vector<std::string>{layer.name}) out["top"] = write_names(layer.tops);
  if (layer.num_output != 0) out["num_output"] = layer.num_output;
  if (layer.kernel != defaults.kernel) out["kernel_size"] = write_extent(layer.kernel);
  if (layer.stride != defaults.stride) out["stride"] = write_extent(layer.stride);
  if (layer.pad != defaults.pad) out["pad"] = write_extent(layer.pad);
  if (layer.dilation != defaults.dilation) out["dilation"] = write_extent(layer.dilation);
  if (layer.group != defaults.group) out["group"] = layer.group;
  if (layer.bias_term != default_bias_term(layer.type)) out["bias_term"] = layer.bias_term;
  if (layer.scale_bias) out["scale_bias"] = true;
  if (layer.pool != defaults.pool) out["pool"] = layer.pool;
  if (layer.round_mode != defaults.round_mode) out["round_mode"] = layer.round_mode;
  if (layer.global_pooling) out["global_pooling"] = true;
  if (layer.auxiliary) out["auxiliary"] = true;
  for (const auto& [key, size] : layer.sizes) out[key] = size;
  for (const std::string& key : layer.flags) out[key] = true;
  return out;
}

}  // namespace

Architecture read_architecture(const JsonInput& in) {
  in.allow_only({"name", "input_shape", "published", "layers", "inferred", "warnings"});
  Architecture net;
  net.file = in.file();
  net.name = in.at("name").string();
  net.source = in.at("source").string();
  for (const JsonInput& side : in.at("input_shape").elements())
    net.input_shape.push_back(side.integer(1, kMaxExtent));
  if (net.input_shape.empty()) in.at("input_shape").fail("must be [channels, height, width]");
  if (const auto published = in.find("published")) {
    published->allow_only({"parameters", "parameters_without_auxiliary"});
    if (const auto count = published->find("parameters"))
      net.published_parameters = count->integer(0);
    if (const auto count = published->find("parameters_without_auxiliary"))
      net.published_parameters_main = count->integer(0);
    net.published_source = published->at("source").string();
  }
  if (const auto warnings = in.find("warnings"))
    for (const JsonInput& warning : warnings->elements()) net.warnings.push_back(warning.string());
  for (const JsonInput& layer : in.at("layers").elements())
    net.layers.push_back(read_layer_spec(layer));
  if (net.layers.empty()) in.at("layers").fail("must have a layer");
  return net;
}

json to_json(const Architecture& net) {
  json out = {{"name", net.name}, {"source", net.source}, {"input_shape", net.input_shape}};
  if (!net.published_source.empty()) {
    out["published"]["source"] = net.published_source;
    if (net.published_parameters) out["published"]["parameters"] = *net.published_parameters;
    if (net.published_parameters_main)
      out["published"]["parameters_without_auxiliary"] = *net.published_parameters_main;
  }
  if (!net.warnings.empty()) out["warnings"] = net.warnings;
  out["layers"] = json::array();
  for (const LayerSpec& layer : net.layers) out["layers"].push_back(write_layer(layer));
  return out;
}

std::string to_text(const Shape& shape) {
  std::string text;
  for (const std::int64_t side : shape) text += (text.empty() ? "" : "x") + std::to_string(side);
  return text;
}

}  // namespace forescale
