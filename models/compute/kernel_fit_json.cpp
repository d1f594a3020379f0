#include "models/compute/kernel_fit_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr KernelPass kPasses[] = {KernelPass::kForward, KernelPass::kBackwardData,
                                  KernelPass::kBackwardWeights, KernelPass::kBackward};

// Nine digits: more than a fit knows, and less than half of the file.
double rounded(double value) { return std::stod(fmt::format("{:.9g}", value)); }

double read_rate(const JsonInput& in) {
  const double rate = in.number(0, kLargest);
  if (rate <= 0) in.fail("must be > 0");
  return rate;
}

// A roofline number and the two ends of its interval.
void read_number(const JsonInput& in, const char* key, const char* ends_key,
                 double KernelRoofline::*number, KernelFit& fit) {
  fit.roofline.*number = read_rate(in.at(key));
  fit.ends.low.*number = fit.ends.high.*number = fit.roofline.*number;
  const auto ends = in.find(ends_key);
  if (!ends) return;
  const std::vector<JsonInput> both = ends->elements();
  if (both.size() != 2) ends->fail("must be the low and the high end");
  fit.ends.low.*number = read_rate(both[0]);
  fit.ends.high.*number = read_rate(both[1]);
}

ShapeFactor read_shape(const JsonInput& in, size_t features) {
  in.allow_only({"offset", "amplitude", "lengths", "points"});
  ShapeFactor shape{.offset = in.at("offset").number(-kLargest, kLargest),
                    .amplitude = in.at("amplitude").number(0, kLargest),
                    .lengths = {},
                    .points = {}};
  for (const JsonInput& length : in.at("lengths").elements())
    shape.lengths.push_back(read_rate(length));
  if (shape.lengths.size() != features)
    in.at("lengths").fail("must be one a feature: " + std::to_string(features));
  for (const JsonInput& element : in.at("points").elements()) {
    const std::vector<JsonInput> numbers = element.elements();
    if (numbers.size() != features + 1)
      element.fail("must be the features and a weight: " + std::to_string(features + 1));
    ShapePoint point;
    for (size_t i = 0; i < features; ++i)
      point.features.push_back(numbers[i].number(-kLargest, kLargest));
    point.weight = numbers[features].number(-kLargest, kLargest);
    shape.points.push_back(std::move(point));
  }
  return shape;
}

size_t feature_count(const std::string& operation) {
  if (operation == "gemm") return shape_features({.shape = GemmShape{}}).size();
  if (operation == "convolution") return shape_features({.shape = ConvolutionShape{}}).size();
  if (operation == "attention") return shape_features({.shape = AttentionShape{}}).size();
  return shape_features({.shape = LayerShape{}}).size();
}

json shape_json(const ShapeFactor& shape) {
  json points = json::array();
  for (const ShapePoint& point : shape.points) {
    json numbers = json::array();
    for (const double feature : point.features) numbers.push_back(rounded(feature));
    numbers.push_back(rounded(point.weight));
    points.push_back(std::move(numbers));
  }
  json lengths = json::array();
  for (const double length : shape.lengths) lengths.push_back(rounded(length));
  return {{"offset", rounded(shape.offset)},
          {"amplitude", rounded(shape.amplitude)},
          {"lengths", lengths},
          {"points", points}};
}

std::string must_be_a_precision() {
  return fmt::format("must be one of {}", fmt::join(precision_names(), ", "));
}

}  // namespace

KernelPass read_pass(const JsonInput& in) {
  const std::string text = in.one_of({"forward", "backward-data", "backward-weights", "backward"});
  for (const KernelPass pass : kPasses)
    if (text == name_of(pass)) return pass;
  in.fail("is no pass");
}

Precision read_precision(const JsonInput& in) {
  const std::string text = in.string();
  for (const Precision precision : kPrecisions)
    if (text == name_of(precision)) return precision;
  in.fail(must_be_a_precision());
}

Precision parse_precision(const std::string& text, const std::string& option) {
  for (const Precision precision : kPrecisions)
    if (text == name_of(precision)) return precision;
  throw InputError(
      {.source = option, .path = "", .value = text, .constraint = must_be_a_precision()});
}

MemoryFormat parse_memory_format(const std::string& text, const std::string& option) {
  for (const MemoryFormat format : {MemoryFormat::kNchw, MemoryFormat::kNhwc})
    if (text == name_of(format)) return format;
  throw InputError(
      {.source = option, .path = "", .value = text, .constraint = "must be one of nchw, nhwc"});
}

Fusion parse_fusion(const std::string& text, const std::string& option) {
  std::vector<std::string> known;
  for (const Fusion fusion : kFusions) {
    known.emplace_back(name_of(fusion));
    if (text == known.back()) return fusion;
  }
  throw InputError(
      {.source = option, .path = "", .value = text, .constraint = unknown_name(text, known)});
}

KernelFit read_kernel_fit(const JsonInput& in) {
  in.allow_only({"operation", "type", "pass", "precision", "count", "launch_s", "launch_ends_s",
                 "flops_per_s", "flops_per_s_ends", "bytes_per_s", "bytes_per_s_ends",
                 "median_error", "p90_error", "ratio", "shape"});
  KernelFit fit;
  fit.kind.operation = in.at("operation").one_of({"gemm", "convolution", "attention", "layer"});
  if (fit.kind.operation == "layer") fit.kind.type = in.at("type").string();
  fit.kind.pass = read_pass(in.at("pass"));
  fit.kind.precision = read_precision(in.at("precision"));
  fit.count = static_cast<int>(in.at("count").integer(1, std::numeric_limits<int>::max()));
  read_number(in, "launch_s", "launch_ends_s", &KernelRoofline::launch_s, fit);
  read_number(in, "flops_per_s", "flops_per_s_ends", &KernelRoofline::flops_per_s, fit);
  read_number(in, "bytes_per_s", "bytes_per_s_ends", &KernelRoofline::bytes_per_s, fit);
  fit.median_error = in.at("median_error").number(0, kLargest);
  fit.p90_error = in.at("p90_error").number(0, kLargest);
  const JsonInput ratio = in.at("ratio");
  fit.ratio = fit.ratio_low = fit.ratio_high = ratio.factor(1e-3, 1e3);
  if (ratio.is_object()) {
    if (const auto fast = ratio.find("fast")) fit.ratio_low = fast->number(0);
    if (const auto slow = ratio.find("slow")) fit.ratio_high = slow->number(0);
  }
  fit.shape = read_shape(in.at("shape"), feature_count(fit.kind.operation));
  return fit;
}

json to_json(const KernelFit& fit) {
  const auto ends = [&](double KernelRoofline::*number) {
    return json{rounded(fit.ends.low.*number), rounded(fit.ends.high.*number)};
  };
  json object{{"operation", fit.kind.operation},
              {"pass", name_of(fit.kind.pass)},
              {"precision", name_of(fit.kind.precision)},
              {"count", fit.count},
              {"launch_s", rounded(fit.roofline.launch_s)},
              {"launch_ends_s", ends(&KernelRoofline::launch_s)},
              {"flops_per_s", rounded(fit.roofline.flops_per_s)},
              {"flops_per_s_ends", ends(&KernelRoofline::flops_per_s)},
              {"bytes_per_s", rounded(fit.roofline.bytes_per_s)},
              {"bytes_per_s_ends", ends(&KernelRoofline::bytes_per_s)},
              {"median_error", rounded(fit.median_error)},
              {"p90_error", rounded(fit.p90_error)},
              {"ratio",
               {{"value", fit.ratio},
                {"fast", rounded(fit.ratio_low)},
                {"slow", rounded(fit.ratio_high)},
                {"source", "measured over predicted, each shape predicted without itself"}}},
              {"shape", shape_json(fit.shape)}};
  if (!fit.kind.type.empty()) object["type"] = fit.kind.type;
  return object;
}

}  // namespace forescale
