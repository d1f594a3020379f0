#include "models/compute/fitted_compute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "models/compute/layer_kernel.hpp"
#include "models/compute/line_fit.hpp"

namespace forescale {
namespace {

constexpr std::int64_t kBatches[] = {8, 16, 32, 64, 128};

struct PassTime {
  BatchLine line;
  LayerTimeSource source = LayerTimeSource::kNone;
};

PassTime sum(const PassTime& a, const PassTime& b) {
  return {.line = {.t0_s = a.line.t0_s + b.line.t0_s, .t1_s = a.line.t1_s + b.line.t1_s},
          .source = std::max(a.source, b.source)};
}

class Passes {
 public:
  Passes(const FittedGpu& fitted, const Network& network, Precision precision)
      : fitted_(fitted), network_(network), precision_(precision) {
    for (const KernelPass pass : {KernelPass::kForward, KernelPass::kBackwardData,
                                  KernelPass::kBackwardWeights, KernelPass::kBackward})
      for (const std::int64_t batch : kBatches)
        kernels_[pass].push_back(
            layer_kernels(network, {.batch = batch, .pass = pass, .precision = precision}));
  }

  PassTime forward(size_t layer, const BatchLine& data_sheet) const {
    return first_of(layer, {{KernelPass::kForward}}, data_sheet);
  }

  PassTime backward(size_t layer, const BatchLine& data_sheet) const {
    const Layer& of = network_.layers[layer];
    if (of.forward_flops <= 0) return first_of(layer, {{KernelPass::kBackward}}, data_sheet);
    std::vector<KernelPass> apart{KernelPass::kBackwardWeights};
    if (of.backward_flops > 1.5 * of.forward_flops) apart.push_back(KernelPass::kBackwardData);
    return first_of(layer, {apart, {KernelPass::kBackward}}, data_sheet);
  }

 private:
  // The first of the ways of which all passes are known; the better known one.
  PassTime first_of(size_t layer, const std::vector<std::vector<KernelPass>>& ways,
                    const BatchLine& data_sheet) const {
    PassTime best{.line = data_sheet, .source = LayerTimeSource::kDataSheet};
    for (const std::vector<KernelPass>& way : ways) {
      PassTime time;
      for (const KernelPass pass : way) time = sum(time, one(layer, pass));
      if (time.source < best.source) best = time;
    }
    return best;
  }

  PassTime one(size_t layer, KernelPass pass) const {
    const std::string& name = network_.layers[layer].name;
    if (const LayerLine* line = fitted_.find_layer(network_.name, name, pass, precision_))
      return {.line = {.t0_s = line->t0_s.value, .t1_s = line->t1_s.value},
              .source = LayerTimeSource::kMeasured};
    std::vector<TimedBatch> points;
    LayerTimeSource source = LayerTimeSource::kShapes;
    for (size_t i = 0; i < std::size(kBatches); ++i) {
      const std::optional<GpuKernel>& kernel = kernels_.at(pass)[i][layer];
      const KernelFit* fit = kernel ? find_fit(*kernel) : nullptr;
      if (fit == nullptr) return {.line = {}, .source = LayerTimeSource::kDataSheet};
      const KernelEstimate estimate = fit->estimate(*kernel);
      if (!estimate.is_near) source = LayerTimeSource::kRoofline;
      points.push_back({.batch = static_cast<double>(kBatches[i]), .time_s = estimate.time_s});
    }
    return {.line = fit_line(points), .source = source};
  }

  // The gradients of a product are products like any other where they were not measured apart.
  const KernelFit* find_fit(const GpuKernel& kernel) const {
    KernelKind kind = kind_of(kernel);
    const KernelFit* own = fitted_.find_kernels(kind);
    if (own != nullptr || kind.operation != "gemm" || kind.pass == KernelPass::kBackward)
      return own;
    kind.pass = KernelPass::kForward;
    return fitted_.find_kernels(kind);
  }

  const FittedGpu& fitted_;
  const Network& network_;
  Precision precision_;
  // By pass, batch and layer.
  std::map<KernelPass, std::vector<std::vector<std::optional<GpuKernel>>>> kernels_;
};

// The data sheet's roofline; activations of half precision are half the bytes.
std::vector<LayerTime> sheet_times(const GpuModel& gpu, const Network& network, Precision precision,
                                   const RooflineParameters& parameters) {
  std::vector<LayerTime> times = roofline_times(gpu, network, parameters);
  const double width = static_cast<double>(bytes_a_value(precision)) / kBytesPerValue;
  for (size_t i = 0; i < times.size(); ++i) {
    if (network.layers[i].forward_flops > 0) continue;
    times[i].forward_t1_s *= width;
    times[i].backward_t1_s *= width;
  }
  return times;
}

// Products and convolutions that nobody has measured in a precision other than FP32.
std::string unmeasured_text(const FittedCompute& compute, const Network& network,
                            Precision precision) {
  int passes = 0;
  for (size_t i = 0; i < network.layers.size(); ++i)
    for (const LayerTimeSource source : {compute.forward[i], compute.backward[i]})
      if (network.layers[i].forward_flops > 0 && source == LayerTimeSource::kDataSheet) ++passes;
  if (passes == 0 || precision == Precision::kFp32) return "";
  return fmt::format(
      "; {} of convolutions and products were not measured in {} and are taken at "
      "the FP32 rate",
      passes, name_of(precision));
}

std::string count_text(const FittedCompute& compute) {
  std::map<LayerTimeSource, int> counts;
  for (const std::vector<LayerTimeSource>* passes : {&compute.forward, &compute.backward})
    for (const LayerTimeSource source : *passes)
      if (source != LayerTimeSource::kNone) ++counts[source];
  std::string text;
  for (const auto& [source, count] : counts)
    text += fmt::format("{}{} from {}", text.empty() ? "" : ", ", count, to_text(source));
  return text;
}

}  // namespace

const char* to_text(LayerTimeSource source) {
  switch (source) {
    case LayerTimeSource::kNone:
      return "";
    case LayerTimeSource::kMeasured:
      return "this layer's measurement";
    case LayerTimeSource::kShapes:
      return "measured shapes";
    case LayerTimeSource::kRoofline:
      return "the roofline fitted on measured kernels";
    case LayerTimeSource::kDataSheet:
      return "the data sheet's roofline";
  }
  return "";
}

FittedCompute fitted_compute(const FittedGpu& fitted, const GpuModel& gpu, const Network& network,
                             Precision precision, Provenance* provenance) {
  const RooflineParameters parameters = read_roofline_parameters(provenance);
  const std::vector<LayerTime> sheet = sheet_times(gpu, network, precision, parameters);
  const Passes passes(fitted, network, precision);
  FittedCompute compute;
  ComputeTable& table = compute.table;
  table.gpu = fitted.name;
  table.network = network.name;
  table.update_s = roofline_update(gpu, network, parameters).value;
  for (size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    const bool works = layer.traffic_per_image.value > 0;
    const PassTime forward =
        works ? passes.forward(i, {.t0_s = sheet[i].forward_t0_s, .t1_s = sheet[i].forward_t1_s})
              : PassTime{};
    const PassTime backward =
        works && layer.backward_runs
            ? passes.backward(i, {.t0_s = sheet[i].backward_t0_s, .t1_s = sheet[i].backward_t1_s})
            : PassTime{};
    table.layers.push_back({.forward_t0_s = forward.line.t0_s,
                            .forward_t1_s = forward.line.t1_s,
                            .backward_t0_s = backward.line.t0_s,
                            .backward_t1_s = backward.line.t1_s});
    compute.forward.push_back(forward.source);
    compute.backward.push_back(backward.source);
  }
  table.description =
      fmt::format("{} on {} ({}): passes {}{}", network.name, fitted.name, name_of(precision),
                  count_text(compute), unmeasured_text(compute, network, precision));
  const auto source = fitted.provenance.find("source");
  table.source = source == fitted.provenance.end() ? "GPU model " + fitted.name : source->second;
  const auto sheet_only = [](LayerTimeSource each) {
    return each == LayerTimeSource::kNone || each == LayerTimeSource::kDataSheet;
  };
  table.assumed = std::all_of(compute.forward.begin(), compute.forward.end(), sheet_only);
  return compute;
}

}  // namespace forescale
