// How well kernels are predicted from others: fitted on a part of the shapes, the rest predicted.
//
// A shape's part follows from a hash of its text and the seed, so no shape is in both parts,
// whatever its pass, precision or place in the file. Several splits, each with a seed of its own;
// a figure is the median over the splits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "calibrate/measure/measurement.hpp"

namespace forescale {

struct HoldOutOptions {
  double share = 0.5;  // of the shapes that is predicted
  std::uint64_t seed = 1;
  int splits = 5;
  // Keep all batches of a layer (all n of a product's m, k) in one part: harder, as no neighbour in
  // the batch is left to fit on.
  bool by_layer = false;
};

struct HeldOutKernels {
  std::string gpu;      // empty: all of them
  std::string kernels;  // "convolution forward fp32", "convolution" or "all"
  double count = 0;     // kernels predicted in a split
  double median = 0;    // of |predicted / measured - 1|
  double p90 = 0;
  double roofline_median = 0;  // without the shape factor
};

struct GpuMeasurement {
  std::string name;
  const Measurement* measurement = nullptr;
};

// Rows by GPU, then of all GPUs together: by kind, by operation, all. A kind with fewer than two
// shapes in a split's fitted part is left out of that split. InputError unless 0 < share < 1 and
// splits >= 1.
std::vector<HeldOutKernels> hold_out_kernels(const std::vector<GpuMeasurement>& measurements,
                                             const HoldOutOptions& options);

}  // namespace forescale
