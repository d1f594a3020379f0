// Layers of networks that the zoo's image networks do not cover, transformers and recurrent ones,
// as the matrix products that they are made of, to be timed beside the zoo's layers.
//
// A layer multiplies `outputs` x `inputs` weights with `rows_a_sample` vectors a sample (the tokens
// of a sequence; 1 for a step of a recurrent network). Limits: products of activations with
// activations (attention scores) are left out: they are batched, and small beside these.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/compute/network_kernels.hpp"
#include "models/workload/matrix_work.hpp"

namespace forescale {

struct MatrixLayer {
  std::string name;
  std::int64_t outputs = 1;
  std::int64_t inputs = 1;
  std::int64_t rows_a_sample = 1;
};

struct MatrixNetwork {
  std::string name;
  std::string source;
  std::vector<MatrixLayer> layers;
};

const std::vector<MatrixNetwork>& matrix_networks();

// As network_kernels() has them.
std::vector<LayerKernels> matrix_kernels(const MatrixNetwork& network, std::int64_t batch,
                                         Precision precision);

}  // namespace forescale
