// Compute times by layer of one network on one GPU: a published measurement of the whole iteration,
// split over the layers by a roofline.
//
// Measured pair: total time = T0 + batch * T1 + update. Several batches measured: both are fitted
// (line_fit.hpp). The roofline's factor (roofline.hpp) is the one whose layers add up to T1, and
// its kernel time the one whose layers add up to T0: about ten launches, because a small batch
// does not fill the GPU (K80: 0.1 ms a kernel of ResNet-50 and of Inception-v3, P100: 0.08 ms).
// Where one batch was measured, or none, the kernel time is the median of the GPU's networks that
// were measured at several batches (assumptions.json where there is none).
// Networks on the same GPU that were not measured take its kernels' times, scaled by those that
// were (other_networks.hpp); a GPU without any takes the roofline with factor 1. A framework that
// was not measured takes the other one's times. All three are `assumed`. Source: the measurements'
// own (models/compute/times/); that backward takes about twice forward agrees with
// convnet-benchmarks (Caffe on Titan X: AlexNet 2.03, GoogLeNet 2.31). Limits: roofline.hpp; FP32
// only; one factor for all layers of a measured network, so a layer that a library runs badly
// (depthwise convolutions) is not seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/compute/framework.hpp"
#include "models/compute/line_fit.hpp"
#include "models/compute/roofline.hpp"
#include "models/hardware.hpp"
#include "models/workload/network.hpp"

namespace forescale {

struct ComputeTable {
  std::string gpu;
  std::string network;
  std::optional<Framework> framework;  // whose measurement it is; none without a measurement
  std::vector<LayerTime> layers;       // one a layer of the network, in its order
  double update_s = 0;                 // ApplyUpdate of all parameters
  std::string source;
  bool assumed = false;        // true: no measurement of this network, GPU and framework
  bool from_kernels = false;   // not all of the network was timed: other kernels' times say it
  std::string description;     // what was measured and what was derived
  double roofline_factor = 1;  // t1 over the roofline's t1
  double kernel_s = 0;         // what a kernel takes beside its work
  std::int64_t measured_batch_min = 0;  // range of batches that were measured; 0: none
  std::int64_t measured_batch_max = 0;

  // Of all layers. InputError unless batch > 0.
  double forward_s(std::int64_t batch) const;
  double backward_s(std::int64_t batch) const;
  double iteration_s(std::int64_t batch) const;  // forward + backward + update
};

// Makes the layers add up to `wanted`, in their proportions.
void scale_layers(std::vector<LayerTime>& layers, const BatchLine& wanted);

// The measurement of a pair is found by the network's structure, so an imported prototxt of a zoo
// network finds it too. `provenance` notes the numbers and chooses the scenario; may be null.
// `framework`: whose measurement is wanted; without one the rule of measurements.hpp chooses.
ComputeTable compute_table(const GpuModel& gpu, const Network& network, Provenance* provenance,
                           const std::optional<Framework>& framework = std::nullopt);

}  // namespace forescale
