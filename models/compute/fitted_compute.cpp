#include "models/compute/fitted_compute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "models/compute/layer_kernel.hpp"
#include "models/compute/line_fit.hpp"
#include "models/compute/nearest_kernel.hpp"
#include "models/matrix_peaks.hpp"
#include "models/workload/operator.hpp"

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

// Transformer Engine quantises the products within a transformer's layers, not the output's.
class Passes {
 public:
  Passes(const FittedGpu& fitted, const GpuModel& gpu, const Network& network,
         FrameworkKernels kernels, Provenance* provenance)
      : fitted_(fitted),
        network_(network),
        precision_(kernels.precision),
        batches_(!kernels.batches.empty() ? kernels.batches
                                          : std::vector(std::begin(kBatches), std::end(kBatches))),
        cost_(read_framework_cost(network, kernels.memory_format, provenance)),
        memory_bandwidth_(gpu.memory_bandwidth),
        dispatch_s_(kernels.is_dispatched ? cost_.dispatch.value : 0),
        converts_layout_(converts_layout(fitted, kernels)),
        nearest_(fitted, gpu, provenance) {
    for (const KernelPass pass : {KernelPass::kForward, KernelPass::kBackwardData,
                                  KernelPass::kBackwardWeights, KernelPass::kBackward})
      for (const std::int64_t batch : batches_)
        kernels_[pass].push_back(kernels_of_layers({.batch = batch, .pass = pass}, kernels));
  }

  PassTime forward(size_t layer, const BatchLine& data_sheet) const {
    return first_of(layer, {{KernelPass::kForward}}, data_sheet, 1);
  }

  PassTime backward(size_t layer, const BatchLine& data_sheet) const {
    const Layer& of = network_.layers[layer];
    if (of.forward_flops <= 0) return first_of(layer, {{KernelPass::kBackward}}, data_sheet, 2);
    if (std::holds_alternative<AttentionShape>(of.work))
      return first_of(layer, {{KernelPass::kBackward}}, data_sheet, 1);
    if (std::holds_alternative<GemmShape>(of.work))
      return first_of(layer, {{KernelPass::kBackwardData}}, data_sheet, 2);
    if (of.is_frozen_product())
      return first_of(layer, {{KernelPass::kBackwardData}}, data_sheet, 1);
    std::vector<KernelPass> apart{KernelPass::kBackwardWeights};
    if (of.backward_flops > 1.5 * of.forward_flops) apart.push_back(KernelPass::kBackwardData);
    return first_of(layer, {apart, {KernelPass::kBackward}}, data_sheet, apart.size());
  }

 private:
  std::vector<std::vector<GpuKernel>> kernels_of_layers(LayerCall call,
                                                        const FrameworkKernels& kernels) const {
    call.precision = kernels.precision;
    std::vector<std::vector<GpuKernel>> all = layer_kernels(network_, call);
    for (size_t i = 0; i < all.size(); ++i)
      if (kernels.products && network_.layers[i].is_product_within())
        for (GpuKernel& kernel : all[i]) kernel.precision = *kernels.products;
    return all;
  }

  // The first of the ways of which all passes are known; the better known one. `kernel_count`: of
  // the data sheet's.
  PassTime first_of(size_t layer, const std::vector<std::vector<KernelPass>>& ways,
                    const BatchLine& data_sheet, size_t kernel_count) const {
    PassTime best{.line = data_sheet, .source = LayerTimeSource::kDataSheet};
    if (network_.layers[layer].forward_flops <= 0)
      best.line.t1_s *= factor_over_bytes(cost_.other_layers, fitted_.memory_times);
    best.line.t0_s += static_cast<double>(kernel_count) * cost_.kernel.value;
    const bool is_product = network_.layers[layer].forward_flops > 0;
    best.line =
        not_below(best.line, (is_product ? static_cast<double>(kernel_count) : 1) * dispatch_s_);
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
    for (size_t i = 0; i < batches_.size(); ++i) {
      const std::vector<GpuKernel>& kernels = kernels_.at(pass)[i][layer];
      if (kernels.empty()) return {.line = {}, .source = LayerTimeSource::kDataSheet};
      double time_s = 0;
      for (const GpuKernel& kernel : kernels) {
        const std::optional<NearestKernel> nearest = nearest_.find(kernel);
        if (!nearest) return {.line = {}, .source = LayerTimeSource::kDataSheet};
        if (nearest->is_scaled)
          source = std::max(source, nearest->is_other_gpus ? LayerTimeSource::kOtherGpu
                                                           : LayerTimeSource::kScaled);
        else if (!nearest->is_near)
          source = std::max(source, LayerTimeSource::kRoofline);
        time_s +=
            std::max(nearest->time_s + conversion_s(kernel) + cost_.kernel.value, dispatch_s_);
      }
      points.push_back({.batch = static_cast<double>(batches_[i]), .time_s = time_s});
    }
    return {.line = through(points), .source = source};
  }

  static BatchLine through(const std::vector<TimedBatch>& points) {
    return has_several_batches(points) ? fit_line(points) : fit_slope(points, 0);
  }

  // Through the same batches, none of them in less.
  BatchLine not_below(const BatchLine& line, double least_s) const {
    std::vector<TimedBatch> points;
    bool is_below = false;
    for (const std::int64_t batch : batches_) {
      const double time_s = line.t0_s + static_cast<double>(batch) * line.t1_s;
      is_below = is_below || time_s < least_s;
      points.push_back({.batch = static_cast<double>(batch), .time_s = std::max(time_s, least_s)});
    }
    return is_below ? through(points) : line;
  }

  // Whether a convolution's images are turned around for tensor cores, and its results back.
  static bool converts_layout(const FittedGpu& fitted, const FrameworkKernels& kernels) {
    const auto layout = fitted.facts.find("convolution_layout");
    return kernels.memory_format == MemoryFormat::kNchw &&
           whole_bytes_a_value(kernels.precision) == 2 &&
           (layout == fitted.facts.end() || layout->second != name_of(MemoryFormat::kNchw));
  }

  // Read once and written once.
  double conversion_s(const GpuKernel& kernel) const {
    if (!converts_layout_ || !std::holds_alternative<ConvolutionShape>(kernel.shape)) return 0;
    return factor_over_bytes(cost_.layout_conversion, fitted_.memory_times) * 2 *
           bytes_moved_by(kernel) / memory_bandwidth_.value;
  }

  const FittedGpu& fitted_;
  const Network& network_;
  Precision precision_;
  std::vector<std::int64_t> batches_;
  FrameworkCost cost_;
  BytesPerSecond memory_bandwidth_;
  double dispatch_s_;
  bool converts_layout_;
  NearestKernels nearest_;
  // By pass, batch and layer.
  std::map<KernelPass, std::vector<std::vector<std::vector<GpuKernel>>>> kernels_;
};

// The data sheet's roofline at the precision's peak, FP32's where it has none; activations of half
// precision are half the bytes.
std::vector<LayerTime> sheet_times(GpuModel gpu, const Network& network, Precision precision,
                                   const RooflineParameters& parameters) {
  if (const FlopsPerSecond peak = peaks_of(gpu).of(precision); peak.value > 0)
    gpu.peak_flops = peak;
  std::vector<LayerTime> times = roofline_times(gpu, network, parameters);
  const double width = bytes_a_value(precision) / kBytesPerValue;
  for (size_t i = 0; i < times.size(); ++i) {
    if (network.layers[i].forward_flops > 0) continue;
    const LayerTime tables = table_time(gpu, network.layers[i], parameters);  // always FP32
    times[i].forward_t1_s =
        tables.forward_t1_s + width * (times[i].forward_t1_s - tables.forward_t1_s);
    times[i].backward_t1_s =
        tables.backward_t1_s + width * (times[i].backward_t1_s - tables.backward_t1_s);
  }
  return times;
}

bool is_fused(const Layer& layer, Fusion fusion) {
  const Operator* known = find_operator(layer.type);
  const Pointwise kind = known == nullptr ? Pointwise::kNo : known->pointwise;
  return kind != Pointwise::kNo && fusion != Fusion::kNone &&
         (kind == Pointwise::kActivation || fusion == Fusion::kPointwise);
}

// Products and convolutions that nobody has measured in any precision, where it is not FP32.
std::string unmeasured_text(const FittedCompute& compute, const Network& network,
                            Precision precision) {
  int passes = 0;
  for (size_t i = 0; i < network.layers.size(); ++i)
    for (const LayerTimeSource source : {compute.forward[i], compute.backward[i]})
      if (network.layers[i].forward_flops > 0 && source == LayerTimeSource::kDataSheet) ++passes;
  if (passes == 0 || precision == Precision::kFp32) return "";
  return fmt::format(
      "; {} of convolutions and products were not measured and are taken at half of the {} peak, "
      "or of the FP32 one where there is none",
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
    case LayerTimeSource::kScaled:
      return "measured kernels of another precision or kind, scaled";
    case LayerTimeSource::kOtherGpu:
      return "another GPU's measured kernels, scaled";
    case LayerTimeSource::kDataSheet:
      return "the data sheet's roofline";
  }
  return "";
}

FittedCompute fitted_compute(const FittedGpu& fitted, const GpuModel& gpu, const Network& network,
                             FrameworkKernels kernels, Provenance* provenance) {
  const Precision precision = kernels.precision;
  const RooflineParameters parameters = read_roofline_parameters(network, provenance);
  const std::vector<LayerTime> sheet = sheet_times(gpu, network, precision, parameters);
  const Passes passes(fitted, gpu, network, kernels, provenance);
  FittedCompute compute;
  ComputeTable& table = compute.table;
  table.gpu = fitted.name;
  table.network = network.name;
  table.update_s = roofline_update(gpu, network, parameters).value;
  for (size_t i = 0; i < network.layers.size(); ++i) {
    const Layer& layer = network.layers[i];
    const bool works = layer.traffic_per_image.value > 0 && !is_fused(layer, kernels.fusion);
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
  table.description = fmt::format(
      "{} on {} ({}{}{}): passes {}{}", network.name, fitted.name, name_of(precision),
      network.has_sequences() ? "" : fmt::format(", {}", name_of(kernels.memory_format)),
      kernels.fusion == Fusion::kNone ? "" : fmt::format(", {} fused", name_of(kernels.fusion)),
      count_text(compute), unmeasured_text(compute, network, precision));
  const auto source = fitted.provenance.find("source");
  table.source = source == fitted.provenance.end() ? "GPU model " + fitted.name : source->second;
  const auto sheet_only = [](LayerTimeSource each) {
    return each == LayerTimeSource::kNone || each == LayerTimeSource::kDataSheet;
  };
  const auto is_timed = [](LayerTimeSource each) {
    return each == LayerTimeSource::kNone || each == LayerTimeSource::kMeasured;
  };
  table.from_kernels = !std::all_of(compute.forward.begin(), compute.forward.end(), is_timed) ||
                       !std::all_of(compute.backward.begin(), compute.backward.end(), is_timed);
  table.assumed = std::all_of(compute.forward.begin(), compute.forward.end(), sheet_only);
  return compute;
}

}  // namespace forescale
