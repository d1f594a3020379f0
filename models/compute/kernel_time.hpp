// Time of a GPU kernel from its shape, fitted on measured kernels of one kind.
//
//   time = (launch + FLOP / flops_per_s + bytes / bytes_per_s) * exp(offset + sum_i w_i k(x, x_i))
//
// The first factor is a roofline with rounded corners: three numbers for each operation, pass and
// precision. The second says how well the library's kernels suit a shape: kriging (a Gaussian
// process) in the shape's logarithms x, with Matern correlation 3/2,
//   k(x, y) = amplitude^2 (1 + d) exp(-d),  d^2 = 3 sum_j ((x_j - y_j) / length_j)^2,
// weights w_i from the measured shapes x_i. Far from all of them only roofline and offset are left.
// Source: Williams, Waterman and Patterson, CACM 52 (2009); Rasmussen and Williams, Gaussian
// Processes for Machine Learning (2006), ch. 2 and 4.
// Limits: a library that changes its algorithm between two neighbouring shapes is smoothed over.
#pragma once

#include <compare>
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "models/compute/gpu_kernel.hpp"

namespace forescale {

// Kernels that are fitted together. `type` of layers, else empty.
struct KernelKind {
  std::string operation;
  std::string type;
  KernelPass pass = KernelPass::kForward;
  Precision precision = Precision::kFp32;
  auto operator<=>(const KernelKind&) const = default;
};
KernelKind kind_of(const GpuKernel& kernel);
std::string to_text(const KernelKind& kind);  // "convolution backward-data fp32"

// Logarithms of what tells shapes of one kind apart; how many depends on the operation alone.
std::vector<double> shape_features(const GpuKernel& kernel);
// (1 + d) exp(-d); 1 for the same shape.
double shape_correlation(std::span<const double> a, std::span<const double> b,
                         std::span<const double> lengths);

struct KernelRoofline {
  double launch_s = 0;
  double flops_per_s = 0;
  double bytes_per_s = 0;
  double time_s(const GpuKernel& kernel) const;
};

struct ShapePoint {
  std::vector<double> features;
  double weight = 0;
};

struct ShapeFactor {
  double offset = 0;  // of the logarithm
  double amplitude = 0;
  std::vector<double> lengths;
  std::vector<ShapePoint> points;

  double factor(std::span<const double> features) const;
  // Correlation with the nearest measured shape, 0 .. 1.
  double nearness(std::span<const double> features) const;
};

// What takes `factor` times the time of its bytes at a memory's rate takes so many times that of
// one that is `memory_times` as fast: the memory's own part is shorter, the rest as long as it was.
double factor_over_bytes(double factor, double memory_times);

// Below this a shape is beyond those that were measured: the roofline fitted on them speaks.
inline constexpr double kNearShape = 0.5;

struct KernelEstimate {
  double time_s = 0;
  bool is_near = false;
};

struct RooflineEnds {  // 95 % intervals of a fit's numbers
  KernelRoofline low;
  KernelRoofline high;
};

struct KernelFit {
  KernelKind kind;
  KernelRoofline roofline;
  RooflineEnds ends;
  ShapeFactor shape;
  // Of measured over predicted when a shape is left out, and how many were.
  double median_error = 0;
  double p90_error = 0;
  int count = 0;
  // Measured over predicted, all kernels together: 1 as fitted; a scenario's end of its interval.
  double ratio = 1;
  double ratio_low = 1;
  double ratio_high = 1;

  KernelEstimate estimate(const GpuKernel& kernel) const;
  // Of a GPU or precision with so many times the FLOP/s.
  void scale_flops(double times);
  // Of a GPU with another memory: what the bytes take beyond their time at the memory's rate is not
  // the memory's, and stays.
  void scale_memory(BytesPerSecond measured, BytesPerSecond wanted);
};

}  // namespace forescale
