#include "models/compute/network_kernels.hpp"

#include "base/error.hpp"

namespace forescale {

std::vector<LayerKernels> network_kernels(const Network& network, std::int64_t batch,
                                          Precision precision) {
  if (batch < 1)
    throw InputError({.source = "--batch",
                      .path = "",
                      .value = std::to_string(batch),
                      .constraint = "must be >= 1"});
  std::vector<LayerKernels> all;
  for (const Layer& layer : network.layers) {
    LayerKernels made{.layer = layer.name, .kernels = kernels_of(layer.work, batch, precision)};
    // Backward FLOP are those of the weights alone where nothing below learns, and none of frozen
    // ones.
    const bool has_data =
        layer.backward_flops >= (layer.is_frozen_product() ? 0.5 : 1.5) * layer.forward_flops;
    std::erase_if(made.kernels, [&](const GpuKernel& kernel) {
      return (kernel.pass == KernelPass::kBackwardData && !has_data) ||
             (kernel.pass == KernelPass::kBackwardWeights && layer.is_frozen_product());
    });
    if (!made.kernels.empty()) all.push_back(made);
  }
  return all;
}

}  // namespace forescale
