#include "models/workload/caffe/caffe_prototxt.hpp"

#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/utf8.hpp"

namespace forescale {
namespace {

constexpr int kNestingMax = 32;

// Keeps the first error; an unknown field is one when its message knows all of Caffe's fields.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (!text_.empty()) return;
    text_ = message;
    where_ = fmt::format("{}:{}", line + 1, column + 1);
  }
  void AddWarning(int line, int column, const std::string& message) override {
    static const char* const kComplete[] = {"BlobShape",        "NetStateRule",
                                            "ParamSpec",        "ConvolutionParameter",
                                            "PoolingParameter", "InnerProductParameter",
                                            "ConcatParameter",  "FlattenParameter",
                                            "ScaleParameter",   "TransformationParameter",
                                            "InputParameter"};
    for (const char* name : kComplete)
      if (message.find(fmt::format("caffe.{}\"", name)) != std::string::npos)
        AddError(line, column, message);
  }
  const std::string& text() const { return text_; }
  const std::string& where() const { return where_; }

 private:
  std::string text_;
  std::string where_;
};

std::string current_type(caffe::V1LayerParameter::LayerType type) {
  using V1 = caffe::V1LayerParameter;
  static const std::map<V1::LayerType, std::string> kNames = {{V1::ACCURACY, "Accuracy"},
                                                              {V1::CONCAT, "Concat"},
                                                              {V1::CONVOLUTION, "Convolution"},
                                                              {V1::DATA, "Data"},
                                                              {V1::DROPOUT, "Dropout"},
                                                              {V1::ELTWISE, "Eltwise"},
                                                              {V1::FLATTEN, "Flatten"},
                                                              {V1::IMAGE_DATA, "ImageData"},
                                                              {V1::INNER_PRODUCT, "InnerProduct"},
                                                              {V1::LRN, "LRN"},
                                                              {V1::POOLING, "Pooling"},
                                                              {V1::RELU, "ReLU"},
                                                              {V1::SIGMOID, "Sigmoid"},
                                                              {V1::SILENCE, "Silence"},
                                                              {V1::SOFTMAX, "Softmax"},
                                                              {V1::SOFTMAX_LOSS, "SoftmaxWithLoss"},
                                                              {V1::TANH, "TanH"}};
  const auto name = kNames.find(type);
  return name != kNames.end() ? name->second : V1::LayerType_Name(type);
}

caffe::LayerParameter upgrade(const caffe::V1LayerParameter& old) {
  caffe::LayerParameter layer;
  layer.set_name(old.name());
  if (old.has_type()) layer.set_type(current_type(old.type()));
  *layer.mutable_bottom() = old.bottom();
  *layer.mutable_top() = old.top();
  *layer.mutable_include() = old.include();
  *layer.mutable_exclude() = old.exclude();
  for (const std::string& name : old.param()) layer.add_param()->set_name(name);
  if (old.has_concat_param()) *layer.mutable_concat_param() = old.concat_param();
  if (old.has_convolution_param()) *layer.mutable_convolution_param() = old.convolution_param();
  if (old.has_data_param()) *layer.mutable_data_param() = old.data_param();
  if (old.has_image_data_param()) *layer.mutable_image_data_param() = old.image_data_param();
  if (old.has_inner_product_param())
    *layer.mutable_inner_product_param() = old.inner_product_param();
  if (old.has_pooling_param()) *layer.mutable_pooling_param() = old.pooling_param();
  if (old.has_transform_param()) *layer.mutable_transform_param() = old.transform_param();
  return layer;
}

// Whether a rule holds in the state {TRAIN, level 0, no stages}.
bool holds(const caffe::NetStateRule& rule) {
  return (!rule.has_phase() || rule.phase() == caffe::TRAIN) &&
         (!rule.has_min_level() || rule.min_level() <= 0) &&
         (!rule.has_max_level() || rule.max_level() >= 0) && rule.stage_size() == 0;
}

bool is_trained(const caffe::LayerParameter& layer) {
  const auto any = [](const auto& rules) { return std::any_of(rules.begin(), rules.end(), holds); };
  return layer.include_size() > 0 ? any(layer.include()) : !any(layer.exclude());
}

}  // namespace

caffe::NetParameter parse_caffe(const std::string& text, const std::string& file) {
  caffe::NetParameter net;
  FirstError errors;
  google::protobuf::TextFormat::Parser parser;
  parser.AllowUnknownField(true);
  parser.SetRecursionLimit(kNestingMax);
  parser.RecordErrorsTo(&errors);
  const bool parsed = parser.ParseFromString(text, &net);
  if (!is_utf8(text))
    throw InputError({.source = file, .path = "", .value = "", .constraint = "must be UTF-8"});
  if (!errors.text().empty() || !parsed)
    throw InputError({.source = errors.where().empty() ? file : file + ":" + errors.where(),
                      .path = "",
                      .value = "",
                      .constraint = "must be a complete Caffe prototxt: " + errors.text()});
  return net;
}

std::vector<CaffeLayer> training_layers(const caffe::NetParameter& net, const std::string& file) {
  if (net.layer_size() > 0 && net.layers_size() > 0)
    throw InputError({.source = file,
                      .path = "/layers",
                      .value = "",
                      .constraint = "must not be mixed with the newer layer {}"});
  std::vector<CaffeLayer> entries;
  for (int i = 0; i < net.layer_size(); ++i)
    if (is_trained(net.layer(i))) entries.push_back({net.layer(i), fmt::format("/layer/{}", i)});
  for (int i = 0; i < net.layers_size(); ++i)
    if (caffe::LayerParameter layer = upgrade(net.layers(i)); is_trained(layer))
      entries.push_back({layer, fmt::format("/layers/{}", i)});
  if (entries.empty())
    throw InputError({.source = file,
                      .path = "/layer",
                      .value = "",
                      .constraint = "must have at least one layer of phase TRAIN"});
  return entries;
}

}  // namespace forescale
