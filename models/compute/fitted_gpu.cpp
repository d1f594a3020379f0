#include "models/compute/fitted_gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/data_files.hpp"
#include "base/error.hpp"
#include "models/compute/kernel_fit_json.hpp"

namespace forescale {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "forescale-gpu-model-1";

RangedNumber read_ranged(const JsonInput& in) {
  RangedNumber number{.value = in.seconds().value};
  number.low = number.high = number.value;
  if (!in.is_object()) return number;
  if (const auto fast = in.find("fast")) number.low = fast->number(0);
  if (const auto slow = in.find("slow")) number.high = slow->number(0);
  if (const auto source = in.find("source")) number.source = source->string();
  return number;
}

json to_json(const RangedNumber& number) {
  return {{"value", number.value},
          {"fast", number.low},
          {"slow", number.high},
          {"source", number.source}};
}

CopyPath read_copy(const JsonInput& in) {
  in.allow_only({"path", "segments"});
  CopyPath copy{.path = in.at("path").string(), .segments = {}};
  for (const JsonInput& element : in.at("segments").elements()) {
    element.allow_only({"up_to_bytes", "alpha_s", "seconds_per_byte"});
    copy.segments.push_back({.up_to_bytes = element.at("up_to_bytes").integer(0),
                             .alpha_s = read_ranged(element.at("alpha_s")),
                             .seconds_per_byte = read_ranged(element.at("seconds_per_byte"))});
  }
  if (copy.segments.empty()) in.at("segments").fail("must have at least one segment");
  return copy;
}

json to_json(const CopyPath& copy) {
  json segments = json::array();
  for (const CopySegment& each : copy.segments)
    segments.push_back({{"up_to_bytes", each.up_to_bytes},
                        {"alpha_s", to_json(each.alpha_s)},
                        {"seconds_per_byte", to_json(each.seconds_per_byte)}});
  return {{"path", copy.path}, {"segments", segments}};
}

LayerLine read_layer(const JsonInput& in) {
  in.allow_only(
      {"network", "layer", "pass", "precision", "batch_min", "batch_max", "t0_s", "t1_s"});
  return {.network = in.at("network").string(),
          .layer = in.at("layer").string(),
          .pass = read_pass(in.at("pass")),
          .precision = read_precision(in.at("precision")),
          .batch_min = in.at("batch_min").integer(1),
          .batch_max = in.at("batch_max").integer(1),
          .t0_s = read_ranged(in.at("t0_s")),
          .t1_s = read_ranged(in.at("t1_s"))};
}

json to_json(const LayerLine& layer) {
  return {{"network", layer.network},     {"layer", layer.layer},
          {"pass", name_of(layer.pass)},  {"precision", name_of(layer.precision)},
          {"batch_min", layer.batch_min}, {"batch_max", layer.batch_max},
          {"t0_s", to_json(layer.t0_s)},  {"t1_s", to_json(layer.t1_s)}};
}

void read_texts(const JsonInput& in, const char* key, std::map<std::string, std::string>& texts) {
  if (const auto found = in.find(key))
    for (const std::string& name : found->keys()) texts[name] = found->at(name).string();
}

// Seconds a byte that a path takes once it is long; nothing where it costs nothing.
std::optional<double> long_slope(const FittedGpu& gpu, const std::string& path) {
  const CopyPath* copy = gpu.find_copy(path);
  if (copy == nullptr || copy->segments.back().seconds_per_byte.value <= 0) return std::nullopt;
  return copy->segments.back().seconds_per_byte.value;
}

}  // namespace

double CopyPath::time_s(double bytes) const {
  for (const CopySegment& segment : segments)
    if (bytes <= static_cast<double>(segment.up_to_bytes) || &segment == &segments.back())
      return segment.alpha_s.value + bytes * segment.seconds_per_byte.value;
  return 0;
}

const CopyPath* FittedGpu::find_copy(const std::string& path) const {
  const auto found =
      std::find_if(copies.begin(), copies.end(), [&](const CopyPath& c) { return c.path == path; });
  return found == copies.end() ? nullptr : &*found;
}

const KernelFit* FittedGpu::find_kernels(const KernelKind& kind) const {
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const KernelFit& fit) { return fit.kind == kind; });
  return found == kernels.end() ? nullptr : &*found;
}

const LayerLine* FittedGpu::find_layer(const std::string& network, const std::string& layer,
                                       KernelPass pass, Precision precision) const {
  const auto found = std::find_if(layers.begin(), layers.end(), [&](const LayerLine& line) {
    return line.layer == layer && line.network == network && line.pass == pass &&
           line.precision == precision;
  });
  return found == layers.end() ? nullptr : &*found;
}

void FittedGpu::scale_kernels(const GpuModel& measured, FlopsPerSecond fp32,
                              BytesPerSecond memory) {
  memory_times = memory / measured.memory_bandwidth;
  for (KernelFit& fit : kernels) {
    fit.scale_flops(fp32 / measured.peak_flops);
    fit.scale_memory(measured.memory_bandwidth, memory);
  }
}

FittedGpu read_fitted_gpu(const std::string& file, Provenance* provenance) {
  const JsonInput in = JsonInput::from_file(file, provenance);
  in.at("format").one_of({kFormat});
  in.allow_only({"format", "name", "gpu", "provenance", "notes", "launch_s", "synchronize_s",
                 "copies", "kernels", "layers"});
  FittedGpu gpu;
  gpu.name = in.at("name").string();
  read_texts(in, "gpu", gpu.facts);
  read_texts(in, "provenance", gpu.provenance);
  if (const auto notes = in.find("notes"))
    for (const JsonInput& text : notes->elements()) gpu.notes.push_back(text.string());
  if (const auto launch = in.find("launch_s")) gpu.launch_s = read_ranged(*launch);
  if (const auto sync = in.find("synchronize_s")) gpu.synchronize_s = read_ranged(*sync);
  if (const auto copies = in.find("copies"))
    for (const JsonInput& copy : copies->elements()) gpu.copies.push_back(read_copy(copy));
  if (const auto kernels = in.find("kernels"))
    for (const JsonInput& fit : kernels->elements()) gpu.kernels.push_back(read_kernel_fit(fit));
  if (const auto layers = in.find("layers"))
    for (const JsonInput& layer : layers->elements()) gpu.layers.push_back(read_layer(layer));
  return gpu;
}

FittedGpu load_fitted_gpu(const std::string& name, const std::string& option,
                          Provenance* provenance) {
  return read_fitted_gpu(find_data_file(kGpuModelFolder, name, option), provenance);
}

json to_json(const FittedGpu& gpu) {
  json document{{"format", kFormat},        {"name", gpu.name},
                {"gpu", gpu.facts},         {"provenance", gpu.provenance},
                {"notes", gpu.notes},       {"copies", json::array()},
                {"kernels", json::array()}, {"layers", json::array()}};
  if (gpu.launch_s) document["launch_s"] = to_json(*gpu.launch_s);
  if (gpu.synchronize_s) document["synchronize_s"] = to_json(*gpu.synchronize_s);
  for (const CopyPath& copy : gpu.copies) document["copies"].push_back(to_json(copy));
  for (const KernelFit& fit : gpu.kernels) document["kernels"].push_back(to_json(fit));
  for (const LayerLine& layer : gpu.layers) document["layers"].push_back(to_json(layer));
  return document;
}

GpuModel with_measured(GpuModel gpu, const FittedGpu& fitted, Provenance* provenance) {
  const auto put = [&](auto& quantity, auto value, const char* key) {
    quantity.value = value;
    forget(provenance, gpu, key);
  };
  if (fitted.launch_s) put(gpu.kernel_launch, fitted.launch_s->value, "kernel_launch_s");
  if (fitted.synchronize_s) put(gpu.synchronize, fitted.synchronize_s->value, "synchronize_s");
  if (const auto added = long_slope(fitted, "reduction"))
    put(gpu.memory_bandwidth, 3 / *added, "memory_bandwidth_bytes_per_s");
  else if (const auto copied = long_slope(fitted, "memory-copy"))
    put(gpu.memory_bandwidth, 2 / *copied, "memory_bandwidth_bytes_per_s");
  const auto in = long_slope(fitted, "host-to-device");
  const auto out = long_slope(fitted, "device-to-host");
  if (in && out) put(gpu.host_copy, 2 / (*in + *out), "host_copy_bytes_per_s");
  if (const auto memory = fitted.facts.find("memory_bytes"); memory != fitted.facts.end()) {
    const std::string& text = memory->second;
    std::int64_t bytes = 0;
    std::from_chars(text.data(), text.data() + text.size(), bytes);
    if (bytes > 0) put(gpu.memory, bytes, "memory_bytes");
  }
  return gpu;
}

}  // namespace forescale
