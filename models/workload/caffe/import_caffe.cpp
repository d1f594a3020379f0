#include "models/workload/caffe/import_caffe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "models/workload/caffe/caffe_prototxt.hpp"
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kExtentMax = 100'000;
constexpr std::int64_t kColorChannels = 3;

template <class Parameter>
Extent repeated_extent(const Parameter& sides, std::int64_t fallback) {
  if (sides.empty()) return {.height = fallback, .width = fallback};
  return {.height = sides.Get(0), .width = sides.Get(sides.size() - 1)};
}

void read_convolution(const caffe::ConvolutionParameter& in, LayerSpec& layer) {
  layer.num_output = in.num_output();
  layer.kernel = repeated_extent(in.kernel_size(), 0);
  layer.stride = repeated_extent(in.stride(), 1);
  layer.pad = repeated_extent(in.pad(), 0);
  layer.dilation = repeated_extent(in.dilation(), 1);
  if (in.has_kernel_h()) layer.kernel = {.height = in.kernel_h(), .width = in.kernel_w()};
  if (in.has_stride_h()) layer.stride = {.height = in.stride_h(), .width = in.stride_w()};
  if (in.has_pad_h() || in.has_pad_w()) layer.pad = {.height = in.pad_h(), .width = in.pad_w()};
  layer.group = in.group();
  layer.bias_term = in.bias_term();
}

void read_pooling(const caffe::PoolingParameter& in, LayerSpec& layer) {
  layer.pool = caffe::PoolingParameter::PoolMethod_Name(in.pool());
  layer.round_mode = caffe::PoolingParameter::RoundMode_Name(in.round_mode());
  layer.global_pooling = in.global_pooling();
  layer.kernel = {.height = in.kernel_size(), .width = in.kernel_size()};
  layer.stride = {.height = in.stride(), .width = in.stride()};
  layer.pad = {.height = in.pad(), .width = in.pad()};
  if (in.has_kernel_h()) layer.kernel = {.height = in.kernel_h(), .width = in.kernel_w()};
  if (in.has_stride_h()) layer.stride = {.height = in.stride_h(), .width = in.stride_w()};
  if (in.has_pad_h() || in.has_pad_w()) layer.pad = {.height = in.pad_h(), .width = in.pad_w()};
}

void check_supported(const CaffeLayer& entry, const LayerSpec& layer, const std::string& file,
                     std::set<std::string>& shared) {
  const auto require = [&](bool fine, const char* key, const char* constraint) {
    if (!fine) layer_error(layer, file, {.key = key, .value = "", .constraint = constraint});
  };
  const auto inside = [](const Extent& sides, std::int64_t min) {
    return sides.height >= min && sides.width >= min && sides.height <= kExtentMax &&
           sides.width <= kExtentMax;
  };
  require(inside(layer.stride, 1), "stride", "must be > 0 and <= 100000");
  require(inside(layer.dilation, 1), "dilation", "must be > 0 and <= 100000");
  require(inside(layer.kernel, 0), "kernel_size", "must be <= 100000");
  require(inside(layer.pad, 0), "pad", "must be <= 100000");
  require(layer.group > 0, "group", "must be > 0");
  require(entry.layer.convolution_param().axis() == 1, "convolution_param/axis", "must be 1");
  require(entry.layer.inner_product_param().axis() == 1, "inner_product_param/axis", "must be 1");
  require(entry.layer.concat_param().axis() == 1 && entry.layer.concat_param().concat_dim() == 1,
          "concat_param/axis", "must be 1");
  require(entry.layer.scale_param().axis() == 1 && entry.layer.scale_param().num_axes() == 1,
          "scale_param/axis", "must be 1, with num_axes 1");
  require(entry.layer.flatten_param().axis() == 1 && entry.layer.flatten_param().end_axis() == -1,
          "flatten_param/axis", "must be 1, with end_axis -1");
  for (const caffe::ParamSpec& param : entry.layer.param())
    require(param.name().empty() || shared.insert(param.name()).second, "param/name",
            "parameters shared between layers are not supported");
}

LayerSpec convert(const CaffeLayer& entry, const std::string& file, std::set<std::string>& shared) {
  const caffe::LayerParameter& in = entry.layer;
  LayerSpec layer;
  layer.path = entry.path;
  layer.name = in.name();
  layer.type = in.type();
  if (find_operator(layer.type) == nullptr)
    layer_error(
        layer, file,
        {.key = "type",
         .value = layer.type,
         .constraint = layer.type.empty() ? "is required and missing"
                                          : "is " + unknown_name(layer.type, layer_types())});
  layer.bottoms.assign(in.bottom().begin(), in.bottom().end());
  layer.tops.assign(in.top().begin(), in.top().end());
  if (layer.type == "Convolution") read_convolution(in.convolution_param(), layer);
  if (layer.type == "Pooling") read_pooling(in.pooling_param(), layer);
  if (layer.type == "InnerProduct") {
    layer.num_output = in.inner_product_param().num_output();
    layer.bias_term = in.inner_product_param().bias_term();
  }
  if (layer.type == "Scale") layer.bias_term = in.scale_param().bias_term();
  check_supported(entry, layer, file, shared);
  return layer;
}

// {channels, height, width} from {batch, channels, height, width}.
template <class Dimensions>
Shape without_batch(const Dimensions& dimensions) {
  Shape shape(dimensions.begin(), dimensions.end());
  if (!shape.empty()) shape.erase(shape.begin());
  return shape;
}

Shape find_input_shape(const caffe::NetParameter& net, const std::vector<CaffeLayer>& entries) {
  if (net.input_shape_size() > 0) return without_batch(net.input_shape(0).dim());
  if (net.input_dim_size() >= 4) {
    const auto& dims = net.input_dim();
    return {dims.Get(1), dims.Get(2), dims.Get(3)};
  }
  for (const CaffeLayer& entry : entries) {
    const caffe::LayerParameter& layer = entry.layer;
    if (layer.input_param().shape_size() > 0)
      return without_batch(layer.input_param().shape(0).dim());
    const bool gray = layer.transform_param().force_gray() || !layer.image_data_param().is_color();
    const std::int64_t channels = gray ? 1 : kColorChannels;
    const std::int64_t crop =
        std::max({layer.transform_param().crop_size(), layer.data_param().crop_size(),
                  layer.image_data_param().crop_size()});
    if (crop > 0) return {channels, crop, crop};
    const caffe::ImageDataParameter& images = layer.image_data_param();
    if (images.new_height() > 0 && images.new_width() > 0)
      return {channels, images.new_height(), images.new_width()};
  }
  return {};
}

void check_input_shape(const Shape& shape, const std::string& file) {
  if (shape.empty())
    throw InputError({.source = file,
                      .path = "/layer/0/transform_param/crop_size",
                      .value = "",
                      .constraint = "is missing and so is every other statement of the input's "
                                    "shape: give it as an option, channels x height x width"});
}

}  // namespace

Network import_caffe_text(const std::string& text, const std::string& file,
                          const std::optional<Shape>& input_shape) {
  const caffe::NetParameter net = parse_caffe(text, file);
  const std::vector<CaffeLayer> entries = training_layers(net, file);
  Architecture out;
  out.file = file;
  out.name = net.name().empty() ? std::filesystem::path(file).stem().string() : net.name();
  out.source = "imported from " + file + " (Caffe prototxt, phase TRAIN)";
  out.input_shape = input_shape ? *input_shape : find_input_shape(net, entries);
  check_input_shape(out.input_shape, file);
  if (net.input_size() > 1)
    throw InputError({.source = file,
                      .path = "/input",
                      .value = std::to_string(net.input_size()),
                      .constraint = "must be one image input"});
  for (const std::string& name : net.input()) {
    LayerSpec layer;
    layer.name = name;
    layer.type = "Input";
    layer.tops = {name};
    layer.path = "/input";
    out.layers.push_back(layer);
  }
  std::set<std::string> shared;
  for (const CaffeLayer& entry : entries) out.layers.push_back(convert(entry, file, shared));
  return infer_network(out);
}

Network import_caffe(const std::string& file, const std::optional<Shape>& input_shape) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  const bool is_empty = stream && stream.peek() == std::ifstream::traits_type::eof();
  if (stream && !is_empty) text << stream.rdbuf();
  if (is_empty || !stream || !text)
    throw InputError({.source = file,
                      .path = "",
                      .value = "",
                      .constraint = is_empty ? "is empty" : "cannot be opened for reading"});
  return import_caffe_text(text.str(), file, input_shape);
}

}  // namespace forescale
