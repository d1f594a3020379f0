// The matrix products and convolutions that a network's layers are made of, as GPU libraries are
// asked for them.
//
// Fully connected, M outputs, N inputs, column-major: forward M x batch x N "TN", by data
// N x batch x M "NN", by weights N x M x batch "NT"; weights lie as Caffe and PyTorch keep them.
// A pass by data is there only where something below the layer learns.
// Limits: dilated convolutions are left out, and so is what is no matrix product (activations,
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

// The three passes of `outputs` x `inputs` weights over `rows` vectors.
struct MatrixPass {
  KernelPass pass = KernelPass::kForward;
  GemmShape shape;
};
std::vector<MatrixPass> fully_connected(std::int64_t outputs, std::int64_t inputs,
                                        std::int64_t rows);

// InputError unless batch > 0. In execution order; layers without any are left out.
std::vector<LayerKernels> network_kernels(const Network& network, std::int64_t batch,
                                          Precision precision);

}  // namespace forescale
