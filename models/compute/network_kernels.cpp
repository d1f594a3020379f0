#include "models/compute/network_kernels.hpp"

#include <map>

#include "base/error.hpp"

namespace forescale {
namespace {

ConvolutionShape convolution_of(const LayerSpec& spec, const Shape& input, std::int64_t batch) {
  return {.batch = batch,
          .channels = input[0],
          .height = input[1],
          .width = input[2],
          .filters = spec.num_output,
          .filter_height = spec.kernel.height,
          .filter_width = spec.kernel.width,
          .pad_height = spec.pad.height,
          .pad_width = spec.pad.width,
          .stride_height = spec.stride.height,
          .stride_width = spec.stride.width,
          .groups = spec.group};
}

bool is_dilated(const LayerSpec& spec) { return spec.dilation != Extent{1, 1}; }

}  // namespace

std::vector<MatrixPass> fully_connected(std::int64_t outputs, std::int64_t inputs,
                                        std::int64_t rows) {
  return {{KernelPass::kForward, {outputs, rows, inputs, true, false}},
          {KernelPass::kBackwardData, {inputs, rows, outputs, false, false}},
          {KernelPass::kBackwardWeights, {inputs, outputs, rows, false, true}}};
}

std::vector<LayerKernels> network_kernels(const Network& network, std::int64_t batch,
                                          Precision precision) {
  if (batch < 1)
    throw InputError({.source = "--batch",
                      .path = "",
                      .value = std::to_string(batch),
                      .constraint = "must be >= 1"});
  std::map<std::string, Shape> blobs;
  std::vector<LayerKernels> all;
  auto layer = network.layers.begin();
  for (const LayerSpec& spec : network.architecture.layers) {
    // Layers that are no part of training are in the architecture only.
    if (layer == network.layers.end() || layer->name != spec.name) continue;
    LayerKernels made{.layer = spec.name, .kernels = {}};
    if (spec.type == "Convolution" && !is_dilated(spec)) {
      const ConvolutionShape shape = convolution_of(spec, blobs.at(spec.bottoms[0]), batch);
      for (const KernelPass pass :
           {KernelPass::kForward, KernelPass::kBackwardData, KernelPass::kBackwardWeights})
        made.kernels.push_back({.shape = shape, .pass = pass, .precision = precision});
    } else if (layer->matrix_rows > 0) {
      for (const auto& [pass, shape] :
           fully_connected(layer->matrix_rows, layer->matrix_columns, batch))
        made.kernels.push_back({.shape = shape, .pass = pass, .precision = precision});
    }
    // Backward FLOP are those of the weights alone where nothing below learns.
    if (layer->backward_flops < 1.5 * layer->forward_flops)
      std::erase_if(made.kernels, [](const GpuKernel& kernel) {
        return kernel.pass == KernelPass::kBackwardData;
      });
    if (!made.kernels.empty()) all.push_back(made);
    if (!spec.tops.empty()) blobs[spec.tops[0]] = layer->output_shape;
    ++layer;
  }
  return all;
}

}  // namespace forescale
