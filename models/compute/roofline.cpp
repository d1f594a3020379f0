#include "models/compute/roofline.hpp"

#include <algorithm>

#include "base/data_files.hpp"
#include "base/json_input.hpp"
#include "models/workload/operator.hpp"

namespace forescale {
namespace {

constexpr double kTrafficMax = 1000;

double bounded_time_s(double compute_s, double traffic_s, double factor) {
  return factor >= 1 ? factor * std::max(compute_s, traffic_s)
                     : std::max(factor * compute_s, traffic_s);
}

double backward_traffic(const Layer& layer, const RooflineParameters& parameters) {
  const Operator* known = find_operator(layer.type);
  if (known != nullptr && known->backward_traffic > 0) return known->backward_traffic;
  const auto ratio = parameters.backward_traffic.find(layer.type);
  return ratio != parameters.backward_traffic.end() ? ratio->second
                                                    : parameters.backward_traffic_default;
}

LayerTime layer_time(const GpuModel& gpu, const Layer& layer, const RooflineParameters& parameters,
                     const RooflineScale& scale) {
  LayerTime time;
  const double traffic_s = (layer.traffic_per_image / gpu.memory_bandwidth).value;
  if (traffic_s == 0) return time;  // data and views: no kernel
  const double flops_per_s = parameters.efficiency * gpu.peak_flops.value;
  const double kernel_s = scale.kernel.value + (layer.weight_bytes() / gpu.memory_bandwidth).value;
  time.forward_t0_s = layer.reads_all_parameters ? kernel_s : scale.kernel.value;
  time.forward_t1_s = bounded_time_s(layer.forward_flops / flops_per_s, traffic_s, scale.factor);
  if (!layer.backward_runs) return time;

  const double traffic_ratio = backward_traffic(layer, parameters);
  const double kernels = layer.forward_flops > 0 ? layer.backward_flops / layer.forward_flops : 1;
  time.backward_t0_s = kernels * kernel_s;
  time.backward_t1_s =
      bounded_time_s(layer.backward_flops / flops_per_s, traffic_ratio * traffic_s, scale.factor);
  return time;
}

JsonInput assumptions(Provenance* provenance) {
  return JsonInput::from_file(
      find_data_file("models/compute", "assumptions", "models/compute/assumptions"), provenance);
}

}  // namespace

std::map<KernelPass, double> read_convolution_over_product(Provenance* provenance) {
  const JsonInput in = assumptions(provenance).at("compute").at("convolution_over_product");
  std::map<KernelPass, double> factors;
  for (const KernelPass pass :
       {KernelPass::kForward, KernelPass::kBackwardData, KernelPass::kBackwardWeights})
    factors[pass] = in.at(name_of(pass)).factor(1e-3, 1e3);
  return factors;
}

double read_attention_backward(Provenance* provenance) {
  return assumptions(provenance).at("compute").at("attention_backward").factor(1e-3, 1e3);
}

double read_unaligned_products(Provenance* provenance) {
  return assumptions(provenance).at("compute").at("unaligned_products").factor(1, 1e3);
}

double read_depthwise(Provenance* provenance) {
  return assumptions(provenance).at("compute").at("depthwise_over_bytes").factor(1e-3, 1e3);
}

double read_gpu_variation(Provenance* provenance) {
  return assumptions(provenance).at("compute").at("gpu_variation").factor(0, 1);
}

double read_other_precision(Provenance* provenance) {
  return assumptions(provenance).at("compute").at("other_precision").factor(1e-3, 1e3);
}

FrameworkCost read_framework_cost(const Network& network, MemoryFormat format,
                                  Provenance* provenance) {
  const JsonInput all = assumptions(provenance).at("compute").at("frameworks");
  const JsonInput in = all.at(network.has_sequences() ? "sequences" : name_of(format));
  return {.other_layers = in.at("other_layers").factor(1e-3, 1e3),
          .kernel = in.at("kernel_s").seconds(),
          .dispatch = all.at("dispatch_s").seconds(),
          .layout_conversion = all.at("layout_conversion").factor(1e-3, 1e3)};
}

RooflineParameters read_roofline_parameters(const Network& network, Provenance* provenance) {
  const JsonInput all = assumptions(provenance);
  all.allow_only({"compute", "memory"});
  const JsonInput in = all.at("compute");
  in.allow_only({"efficiency", "other_networks", "backward_traffic_default", "backward_traffic",
                 "update_accesses", "kernel_s", "other_framework", "convolution_over_product",
                 "frameworks", "other_precision", "attention_backward", "unaligned_products",
                 "depthwise_over_bytes", "table_accesses", "gpu_variation"});
  RooflineParameters parameters;
  parameters.efficiency = in.at("efficiency").factor(1e-6, 1);
  parameters.backward_traffic_default = in.at("backward_traffic_default").factor(0, kTrafficMax);
  const JsonInput ratios = in.at("backward_traffic");
  for (const std::string& type : ratios.keys())
    parameters.backward_traffic[type] = ratios.at(type).factor(0, kTrafficMax);
  parameters.update_accesses = in.at("update_accesses").factor(0, kTrafficMax);
  if (network.tables().values > 0)
    parameters.table_accesses = in.at("table_accesses").factor(0, kTrafficMax);
  parameters.kernel = in.at("kernel_s").seconds();
  return parameters;
}

LayerTime table_time(const GpuModel& gpu, const Layer& layer,
                     const RooflineParameters& parameters) {
  const double once_s =
      (Bytes{layer.tables.looked_up * kBytesPerValue} / gpu.memory_bandwidth).value;
  return {.forward_t1_s = once_s, .backward_t1_s = parameters.table_accesses * once_s};
}

std::vector<LayerTime> roofline_times(const GpuModel& gpu, const Network& network,
                                      const RooflineParameters& parameters,
                                      const RooflineScale& scale) {
  std::vector<LayerTime> times;
  for (const Layer& layer : network.layers) {
    LayerTime time = layer_time(gpu, layer, parameters, scale);
    const LayerTime tables = table_time(gpu, layer, parameters);
    time.forward_t1_s += tables.forward_t1_s;
    time.backward_t1_s += tables.backward_t1_s;
    times.push_back(time);
  }
  return times;
}

std::vector<LayerTime> roofline_times(const GpuModel& gpu, const Network& network,
                                      const RooflineParameters& parameters) {
  return roofline_times(gpu, network, parameters, {.factor = 1, .kernel = gpu.kernel_launch});
}

Seconds roofline_update(const GpuModel& gpu, const Network& network,
                        const RooflineParameters& parameters) {
  return parameters.update_accesses * (network.parameter_bytes() / gpu.memory_bandwidth);
}

}  // namespace forescale
