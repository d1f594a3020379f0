// The deep-learning framework that trains: it decides which measurement counts and how much memory
// a network takes.
#pragma once

#include <string>
#include <vector>

#include "models/workload/network.hpp"

namespace forescale {

// In the order of the default (measurements.hpp).
enum class Framework {
  kCaffe,
  kTensorFlow,
  kMxnet,
  kPyTorch,
  kPyTorchTo210,  // releases up to 2.10, where a transformer's attention is another
  kMegatron,
  kMegatronTo2,  // of 2021, and forks where what tp exchanges backward hides under nothing
  kNanotron,
  kLlmFoundry
};

const std::vector<Framework>& frameworks();
std::string to_text(Framework framework);  // "Caffe", "TensorFlow", "Megatron-LM", ...

// Case does not matter. InputError naming `option` for an unknown one.
Framework read_framework(const std::string& text, const std::string& option);

// Where nobody says: Caffe, the framework of most of the systems; TensorFlow for networks with a
// fused BatchNorm, which BVLC Caffe does not have.
Framework default_framework(const Network& network);

}  // namespace forescale
