// GPU memory that one training process needs, so that "out of memory" can be an answer.
//
// Caffe: bytes = 3 * parameters (weights, gradients, momentum)
//              + batch * (2 * activations - input + kept)    data and gradient of every blob; the
//                                                             input has no gradient; in place
//                                                             shares
//              + workspace * convolution layers + libraries
// TensorFlow, MXNet and PyTorch give a gradient back once it was used and share one workspace:
//        bytes = 3 * parameters + batch * (activations + kept + 2 * largest activation)
//        (flags that are kept, as Dropout's mask, a byte each; in Caffe 4)
//              + shared workspace + libraries
// In half precision (FP16, BF16) weights, gradients and activations have 2 bytes a value; FP32
// master weights and the momentum have 4: Micikevicius et al., Mixed Precision Training, ICLR 2018,
// section 3.1. Tables (embedding_tables.hpp) have 4 bytes a value and neither gradients nor
// momentum of their size; each of `gpus` has its share of them. Workspaces and libraries: assumed
// (assumptions.json). Limits: activations are never dropped and computed again; allocator rounding
// is ignored.
#pragma once

#include <cstdint>
#include <optional>

#include "models/compute/framework.hpp"
#include "models/compute/gpu_kernel.hpp"
#include "models/workload/network.hpp"

namespace forescale {

// Without a framework: default_framework(). InputError unless batch > 0.
Bytes training_memory(const Network& network, std::int64_t batch, Provenance* provenance = nullptr,
                      const std::optional<Framework>& framework = std::nullopt,
                      Precision precision = Precision::kFp32, int gpus = 1);

}  // namespace forescale
