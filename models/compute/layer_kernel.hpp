// A network's layers as what a GPU is asked to do for one pass of a batch.
//
// Products, convolutions and attention as in network_kernels.hpp; all gradients together
// ("backward") have the forward pass's shape. All else is a layer of the bytes that it reads and
// writes, and a dilated convolution too.
#pragma once

#include <vector>

#include "models/compute/gpu_kernel.hpp"
#include "models/workload/network.hpp"

namespace forescale {

struct LayerCall {
  std::int64_t batch = 1;
  KernelPass pass = KernelPass::kForward;
  Precision precision = Precision::kFp32;
};

// Those of each layer of the network, in its order; nothing where the layer leaves the GPU nothing
// to do (data, views, a gradient that nobody needs). InputError unless batch > 0.
std::vector<std::vector<GpuKernel>> layer_kernels(const Network& network, const LayerCall& call);

}  // namespace forescale
