// Layer times from a GPU's data sheet: the shape of a compute table before a measurement scales it.
//
// Forward:  t0 = kernel + weights/bandwidth, t1 = time(FLOP, inputs + outputs) an image.
// Backward: one kernel a gradient (of weights, of inputs): t0 = kernels * (kernel +
//           weights/bandwidth), t1 = time(backward FLOP, ratio * (inputs + outputs)) an image.
// time(FLOP, bytes), with c = FLOP / (efficiency * peak) and m = bytes / bandwidth:
//   factor * max(c, m) for factor >= 1: a library that is slow is slow in all layers;
//   max(factor * c, m) for factor < 1: one may need fewer FLOP (Winograd), never fewer bytes.
// kernel: what a kernel takes beside its work, the data sheet's launch or more: a small batch does
// not fill the GPU, and a framework may launch too slowly (compute_time.hpp).
// Weights are read once a kernel whatever the batch, so their time is in t0: it bounds FC layers at
// small batches. Source: Williams, Waterman, Patterson, CACM 2009; ratios: assumptions.json.
// Limits: no overlap of kernels, one launch an image is not modelled (Caffe without cuDNN),
// t0 + batch * t1 lies above the true max() where both are alike.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/compute/gpu_kernel.hpp"
#include "models/hardware.hpp"
#include "models/workload/network.hpp"

namespace forescale {

// Time of a pass = t0 + batch * t1.
struct LayerTime {
  double forward_t0_s = 0;
  double forward_t1_s = 0;  // a image
  double backward_t0_s = 0;
  double backward_t1_s = 0;  // a image
};

struct RooflineParameters {
  double efficiency = 0;  // share of peak that matrix products reach
  double backward_traffic_default = 0;
  std::map<std::string, double> backward_traffic;  // by layer type
  double update_accesses = 0;                      // of each parameter in one update
  double table_accesses = 0;  // of each value of a table's rows, backward and update; 0: no tables
  Seconds kernel;             // where the GPU has no fitted one
};

// What a framework adds to kernels timed alone.
struct FrameworkCost {
  double other_layers =
      1;             // of passes that are no convolution and no product, over their bytes' time
  Seconds kernel;    // a kernel
  Seconds dispatch;  // the least that a kernel takes: the CPU's time to ask for it
  double layout_conversion;  // of images, channels first to last or back, over their bytes' time
};
// From models/compute/assumptions.json, by memory format; of transformers their own.
FrameworkCost read_framework_cost(const Network& network, MemoryFormat format,
                                  Provenance* provenance);

// Time of kernels whose precision was not measured, over that by the peaks. From assumptions.json.
double read_other_precision(Provenance* provenance);

// Time of attention's backward pass over its forward one, FLOP for FLOP. From assumptions.json.
double read_attention_backward(Provenance* provenance);

// Time of several products in one kernel, FP16 or BF16, one of whose dimensions is no multiple of 8
// values, over that of aligned ones. From assumptions.json.
double read_unaligned_products(Provenance* provenance);

// What a convolution of each channel by itself takes over its bytes' time. From assumptions.json.
double read_depthwise(Provenance* provenance);

// Standard deviation of the times of GPUs of one kind over their mean (gpu_variation.hpp). From
// assumptions.json.
double read_gpu_variation(Provenance* provenance);

// What a convolution takes over the product that it is, by pass. From
// models/compute/assumptions.json.
std::map<KernelPass, double> read_convolution_over_product(Provenance* provenance);

// From models/compute/assumptions.json, what the network rests on.
RooflineParameters read_roofline_parameters(const Network& network, Provenance* provenance);

struct RooflineScale {
  double factor = 1;  // > 0: how a library compares with the parameters' efficiency
  Seconds kernel;     // what a kernel takes beside its work
};

// One entry a layer of the network, in its order.
std::vector<LayerTime> roofline_times(const GpuModel& gpu, const Network& network,
                                      const RooflineParameters& parameters,
                                      const RooflineScale& scale);

// The same with the data sheet's launch and the parameters' efficiency.
std::vector<LayerTime> roofline_times(const GpuModel& gpu, const Network& network,
                                      const RooflineParameters& parameters);

// Of a layer, what the rows of its tables take: read in the forward pass; their gradients, and the
// rows that these change, in the backward one, the update included.
LayerTime table_time(const GpuModel& gpu, const Layer& layer, const RooflineParameters& parameters);

// ApplyUpdate of all parameters.
Seconds roofline_update(const GpuModel& gpu, const Network& network,
                        const RooflineParameters& parameters);

}  // namespace forescale
