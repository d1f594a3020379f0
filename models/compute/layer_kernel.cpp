#include "models/compute/layer_kernel.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "models/compute/network_kernels.hpp"

namespace forescale {
namespace {

LayerShape layer_shape(const Layer& layer, const LayerCall& call) {
  const auto images = static_cast<double>(call.batch);
  const double width = bytes_a_value(call.precision) / kBytesPerValue;
  std::int64_t values = 1;
  for (const std::int64_t size : layer.output_shape) values *= size;
  const auto traffic = static_cast<double>(layer.traffic_per_image.value);
  const double outputs = std::min(traffic, static_cast<double>(values * kBytesPerValue));
  const bool is_forward = call.pass == KernelPass::kForward;
  return {.type = layer.type,
          .batch = call.batch,
          .input_bytes = width * images * (traffic - outputs),
          .output_bytes = width * images * outputs,
          .parameter_bytes = width * static_cast<double>(layer.weight_bytes().value),
          .flops = images * (is_forward ? layer.forward_flops : layer.backward_flops)};
}

// The pass's own kernels; of all gradients together, the forward one's shape.
std::vector<GpuKernel> pass_of(const std::vector<GpuKernel>& kernels, KernelPass pass) {
  const KernelPass wanted = pass == KernelPass::kBackward ? KernelPass::kForward : pass;
  std::vector<GpuKernel> found;
  for (GpuKernel kernel : kernels) {
    if (kernel.pass != wanted) continue;
    kernel.pass = pass;
    found.push_back(kernel);
  }
  return found;
}

}  // namespace

std::vector<std::vector<GpuKernel>> layer_kernels(const Network& network, const LayerCall& call) {
  std::map<std::string, std::vector<GpuKernel>> products;
  for (LayerKernels& layer : network_kernels(network, call.batch, call.precision))
    products.emplace(layer.layer, std::move(layer.kernels));
  std::vector<std::vector<GpuKernel>> all;
  for (const Layer& layer : network.layers) {
    const auto found = products.find(layer.name);
    if (layer.traffic_per_image.value == 0)
      all.emplace_back();
    else if (found != products.end())
      all.push_back(pass_of(found->second, call.pass));
    else
      all.push_back({GpuKernel{
          .shape = layer_shape(layer, call), .pass = call.pass, .precision = call.precision}});
  }
  return all;
}

}  // namespace forescale
