// From what a file computes to what trains: losses behind its outputs, and blobs that share memory
// as frameworks have it.
#pragma once

#include <string>
#include <vector>

#include "models/workload/architecture.hpp"

namespace forescale {

// A SoftmaxWithLoss behind every output that no layer reads, in place of a Softmax there. The first
// layer's last top is the label. Returns the names of the layers that got one.
std::vector<std::string> append_losses(std::vector<LayerSpec>& layers);

// A layer that may work in place does where nothing else reads its input, and the layer that made
// the input does not read it again for its gradient; but dropout behind a ReLU does, as Caffe has
// it. A sum is written into its first such operand.
void place_in_memory(std::vector<LayerSpec>& layers);

}  // namespace forescale
