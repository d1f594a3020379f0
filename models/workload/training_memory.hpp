// GPU memory that one training process needs, so that "out of memory" can be an answer.
//
// Caffe: bytes = 3 * parameters (weights, gradients, momentum)
//              + batch * (2 * activations - input + kept)    data and gradient of every blob; the
//                                                             input has no gradient; in place
//                                                             shares
//              + workspace * convolution layers + libraries
// TensorFlow, MXNet and PyTorch give a gradient back once it was used and share one workspace:
//        bytes = 3 * parameters + batch * (activations + kept + 2 * largest activation)
//              + shared workspace + libraries
// Workspaces and libraries: assumed (assumptions.json).
// Limits: activations are never dropped and computed again; allocator rounding is ignored.
#pragma once

#include <cstdint>
#include <optional>

#include "models/compute/framework.hpp"
#include "models/workload/network.hpp"

namespace forescale {

// Without a framework: default_framework(). InputError unless batch > 0.
Bytes training_memory(const Network& network, std::int64_t batch, Provenance* provenance = nullptr,
                      const std::optional<Framework>& framework = std::nullopt);

}  // namespace forescale
