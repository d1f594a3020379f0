// What the matrix units do for one layer, and the kernels that GPU libraries are asked for.
//
// Fully connected, M outputs, N inputs, over V vectors an image, column-major: forward M x batch V
// x N "TN", by data N x batch V x M "NN", by weights N x M x batch V "NT"; weights lie as Caffe and
// PyTorch keep them. Products without weights have two gradients by data. Attention's backward pass
// is one kernel. A recurrent layer's products follow each other, a step each; the gradient of its
// weights is one product over all steps.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "models/compute/gpu_kernel.hpp"

namespace forescale {

// `outputs` x `inputs` weights over so many vectors of an image; of several groups each has its own
// weights and an equal share of the vectors.
struct LinearShape {
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::int64_t vectors = 1;
  std::int64_t groups = 1;
};

// `outputs` x `inputs` weights by the state of the step before, once a step.
struct RecurrentShape {
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  std::int64_t steps = 1;
};

// For one image. A GemmShape is a product without weights.
using MatrixWork = std::variant<std::monostate, LinearShape, ConvolutionShape, AttentionShape,
                                GemmShape, RecurrentShape>;

double forward_flops_of(const MatrixWork& work);

// The three passes of `outputs` x `inputs` weights over `rows` vectors.
struct MatrixPass {
  KernelPass pass = KernelPass::kForward;
  GemmShape shape;
};
std::vector<MatrixPass> fully_connected(std::int64_t outputs, std::int64_t inputs,
                                        std::int64_t rows);

// Forward, by data, by weights. Nothing without work.
std::vector<GpuKernel> kernels_of(const MatrixWork& work, std::int64_t batch, Precision precision);

}  // namespace forescale
