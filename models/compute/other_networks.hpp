// Time of a network that nobody timed on a GPU, by those that somebody did.
//
// time = a K + b M + c N + update, where K is the time of convolutions and products by the GPU's
// kernel model, M that of all other layers, N the number of kernels; a, b (slower library, unfused
// layers) and c (what a framework adds to a kernel) are fitted to the other networks of the same
// GPU, those of the same framework counting most, by Huber's loss on logarithms with weak priors (a
// and b around 1 and alike, c around 10 us). GPUs without a kernel model take another one's; a and
// b are then the ratio of the two GPUs too. How good it is: compute_hold_out.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/compute/fitted_gpu.hpp"
#include "models/compute/framework.hpp"
#include "models/compute/roofline.hpp"
#include "models/hardware.hpp"
#include "models/workload/network.hpp"

namespace forescale {

// A published time marked "use", and what its network's layers add up to by the kernel model.
struct TimeOfNetwork {
  std::string network;
  Framework framework = Framework::kCaffe;
  std::int64_t batch = 0;
  double measured_s = 0;  // of an iteration, update included
  double update_s = 0;
  double products_s = 0;
  double others_s = 0;
  double kernels = 0;
};

struct NetworkFactors {
  double products = 1;         // a
  double others = 1;           // b
  double kernel_s = 0;         // c
  std::string fitted_on = {};  // "5 times of 2 other networks"

  double iteration_s(const TimeOfNetwork& time) const;
};

class OtherNetworks {
 public:
  explicit OtherNetworks(const GpuModel& gpu);
  // The same, made once a process for each GPU with these numbers.
  static const OtherNetworks& on(const GpuModel& gpu);

  // Of all networks of the zoo.
  const std::vector<TimeOfNetwork>& times() const { return times_; }

  // By the times of which `counts` is true; none where it is of none. Without a framework all count
  // alike.
  std::optional<NetworkFactors> fit(const std::optional<Framework>& framework,
                                    const std::function<bool(const TimeOfNetwork&)>& counts) const;

  std::vector<LayerTime> layers(const Network& network, const NetworkFactors& factors) const;
  const std::string& kernel_model() const { return fitted_.name; }

 private:
  std::vector<LayerTime> by_kernels(const Network& network) const;
  void add_times(const std::string& name);

  GpuModel gpu_;
  FittedGpu fitted_;
  std::vector<TimeOfNetwork> times_;
};

}  // namespace forescale
