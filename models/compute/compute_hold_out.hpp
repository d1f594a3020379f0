// Published times of whole networks, each predicted without its own: how far compute times of a
// network that nobody measured can be trusted.
//
// Other networks: time = a K + b M + c N + update, where K is the time of convolutions and products
// by the GPU's kernel model, M that of all other layers, N the number of kernels; a, b (slower
// library, unfused layers) and c (what a framework adds to a kernel) are fitted to the other
// networks of the same GPU, those of the same framework counting most, by Huber's loss on
// logarithms with weak priors (a and b around 1 and alike, c around 10 us). GPUs without a kernel
// model take another one's; a and b are then the ratio of the two GPUs too.
// Other batches: the line through the other batches of the same network and framework.
// Every framework trains its own AlexNet ("structure" of a row in models/compute/times/).
#pragma once

#include <string>
#include <vector>

#include "base/json_input.hpp"
#include "models/compute/framework.hpp"

namespace forescale {

struct HeldOutTime {
  std::string gpu;
  std::string network;
  Framework framework = Framework::kCaffe;
  std::int64_t batch = 0;
  double measured_s = 0;  // of an iteration, update included
  double predicted_s = 0;
  std::string fitted_on = {};  // "5 times of 2 other networks"
  double error() const { return predicted_s / measured_s - 1; }
};

// All times marked "use" of these networks on these GPUs that something is left to predict from.
std::vector<HeldOutTime> predict_from_other_networks(const std::vector<std::string>& gpus,
                                                     const std::vector<std::string>& networks);
std::vector<HeldOutTime> predict_from_other_batches(const std::vector<std::string>& gpus,
                                                    const std::vector<std::string>& networks);

}  // namespace forescale
