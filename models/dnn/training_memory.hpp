// GPU memory that one training process needs, so that "out of memory" can be an answer.
//
// bytes = 3 * parameters (weights, gradients, momentum)
//       + batch * (2 * activations - input + kept)    Caffe keeps data and gradient of every blob,
//                                                      the input has no gradient; in place shares
//       + workspace * convolution layers + libraries   (assumed: assumptions.json)
// Limits: no memory reuse between layers, as in Caffe; allocator rounding is ignored.
#pragma once

#include <cstdint>

#include "models/dnn/network.hpp"

namespace forescale {

// InputError unless batch > 0.
Bytes training_memory(const Network& network, std::int64_t batch, Provenance* provenance = nullptr);

}  // namespace forescale
