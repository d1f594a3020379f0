// Published times of whole networks, each predicted without its own: how far compute times of a
// network that nobody measured can be trusted.
//
// Other networks: as predicted where nobody timed the network (other_networks.hpp).
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
