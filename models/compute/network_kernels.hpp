// The matrix products, convolutions and attention that a network's layers are made of, as GPU
// libraries are asked for them (models/workload/matrix_work.hpp).
//
// A pass by data is there only where something below the layer learns, one by weights where they
// do. Limits: dilated convolutions are left out, and so is what is no matrix product (activations,
// pooling, normalisation, biases).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/compute/gpu_kernel.hpp"
#include "models/workload/network.hpp"

namespace forescale {

struct LayerKernels {
  std::string layer;
  std::vector<GpuKernel> kernels;  // forward, by data, by weights
};

// InputError unless batch > 0. In execution order; layers without any are left out.
std::vector<LayerKernels> network_kernels(const Network& network, std::int64_t batch,
                                          Precision precision);

}  // namespace forescale
