#include "calibrate/bench/gpu/gpu_request.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>

namespace forescale {
namespace {

constexpr std::int64_t kIntMax = std::numeric_limits<int>::max();  // what the libraries count in
constexpr std::int64_t kBytesMax = std::int64_t{1} << 40;

constexpr std::array<const char*, 13> kPatterns = {"launch",
                                                   "synchronize",
                                                   "host-to-device",
                                                   "device-to-host",
                                                   "host-to-device-pageable",
                                                   "device-to-host-pageable",
                                                   "copy-both-ways",
                                                   "memory-copy",
                                                   "fill",
                                                   "reduction",
                                                   "reduction-beside-kernel",
                                                   "peer-copy",
                                                   "collective"};

// Key, member, value where the key is left out (0: required).
struct SizeKey {
  const char* name;
  std::int64_t ConvolutionShape::*member;
  std::int64_t min;
  bool is_required;
};
constexpr std::array<SizeKey, 12> kSizes = {{
    {"batch", &ConvolutionShape::batch, 1, true},
    {"channels", &ConvolutionShape::channels, 1, true},
    {"height", &ConvolutionShape::height, 1, true},
    {"width", &ConvolutionShape::width, 1, true},
    {"filters", &ConvolutionShape::filters, 1, true},
    {"filter_height", &ConvolutionShape::filter_height, 1, true},
    {"filter_width", &ConvolutionShape::filter_width, 1, true},
    {"pad_height", &ConvolutionShape::pad_height, 0, false},
    {"pad_width", &ConvolutionShape::pad_width, 0, false},
    {"stride_height", &ConvolutionShape::stride_height, 1, false},
    {"stride_width", &ConvolutionShape::stride_width, 1, false},
    {"groups", &ConvolutionShape::groups, 1, false},
}};

GpuSeriesRequest read_series(const JsonInput& in) {
  in.allow_only({"pattern", "bytes", "op"});
  GpuSeriesRequest series;
  series.pattern = in.at("pattern").string();
  bool is_known = false;
  for (const char* name : kPatterns) is_known = is_known || series.pattern == name;
  if (!is_known) in.at("pattern").fail("is no pattern of a GPU");
  if (series.pattern == "collective") series.op = in.at("op").one_of({"all-reduce"});
  for (const JsonInput& size : in.at("bytes").elements()) {
    series.bytes.push_back(size.integer(0, kBytesMax));
    if (series.bytes.size() > 1 && series.bytes.back() <= series.bytes[series.bytes.size() - 2])
      size.fail("must be larger than the size before");
  }
  if (series.bytes.empty()) in.at("bytes").fail("must have at least one size");
  return series;
}

ConvolutionShape read_convolution(const JsonInput& in) {
  ConvolutionShape shape;
  for (const SizeKey& key : kSizes)
    if (key.is_required || in.has(key.name))
      shape.*key.member = in.at(key.name).integer(key.min, kIntMax);
  return shape;
}

GemmShape read_gemm(const JsonInput& in) {
  const std::string transposes = in.at("transposes").one_of({"NN", "NT", "TN", "TT"});
  return {.m = in.at("m").integer(1, kIntMax),
          .n = in.at("n").integer(1, kIntMax),
          .k = in.at("k").integer(1, kIntMax),
          .transpose_a = transposes[0] == 'T',
          .transpose_b = transposes[1] == 'T'};
}

template <class Value>
Value read_named(const JsonInput& in, std::initializer_list<Value> values) {
  std::string names;
  for (const Value value : values) {
    if (in.string() == name_of(value)) return value;
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", name_of(value));
  }
  in.fail("must be one of " + names);
}

GpuKernelRequest read_kernel(const JsonInput& in) {
  GpuKernelRequest request;
  if (in.at("operation").one_of({"gemm", "convolution"}) == "gemm")
    request.kernel.shape = read_gemm(in);
  else
    request.kernel.shape = read_convolution(in);
  request.kernel.pass = read_named(in.at("pass"), {KernelPass::kForward, KernelPass::kBackwardData,
                                                   KernelPass::kBackwardWeights});
  request.kernel.precision = read_named(
      in.at("precision"), {Precision::kFp32, Precision::kTf32, Precision::kFp16, Precision::kBf16});
  request.entry = in.raw();
  return request;
}

}  // namespace

GpuRequest read_gpu_request(const JsonInput& in) {
  in.allow_only({"format", "device", "budget_s", "relative_interval", "samples_max", "layout",
                 "machine", "provenance", "series", "kernels"});
  in.at("format").one_of({"forescale-gpu-request-1"});
  GpuRequest request;
  request.device = static_cast<int>(in.at("device").integer(0, kIntMax));
  request.budget_s = in.at("budget_s").number(0);
  request.relative_interval = in.at("relative_interval").number(0, 1);
  request.samples_max = static_cast<int>(in.at("samples_max").integer(1, 1'000'000));
  request.layout = in.at("layout").one_of({"nchw", "nhwc"});
  request.machine = in.at("machine").string();
  for (const std::string& key : in.at("provenance").keys())
    request.provenance[key] = in.at("provenance").at(key).string();
  for (const JsonInput& one : in.at("series").elements())
    request.series.push_back(read_series(one));
  for (const JsonInput& one : in.at("kernels").elements())
    request.kernels.push_back(read_kernel(one));
  return request;
}

}  // namespace forescale
