// The shape factor of kernels of one kind from how far their times are from the roofline; see
// fit_gpu_kernels.hpp.
#pragma once

#include <span>
#include <vector>

#include "models/compute/kernel_time.hpp"

namespace forescale {

struct ShapeResidual {
  std::vector<double> features;
  double log_ratio = 0;  // of the measured time over the roofline's
};

struct ShapeFit {
  ShapeFactor factor;
  std::vector<double> left_out;  // log(measured / predicted) of each shape, predicted without it
};

// With fewer than 6 shapes only the offset: their median.
ShapeFit fit_shape(std::span<const ShapeResidual> residuals);

}  // namespace forescale
