// Time of one kernel on a GPU, out of what was measured nearest to it (fitted_gpu.hpp).
//
// The GPU's own kernels of that kind by shape (kernel_time.hpp); else what stands in for them: the
// same in another precision, FLOP/s scaled by the data sheet's peaks; for a convolution the product
// that it is (filters x outputs x inputs of a filter), times what convolutions take over products;
// for attention's backward pass the forward one, FLOP for FLOP; several products as one of as many
// columns, longer where tensor cores cannot load their rows; for a convolution of each channel by
// itself a multiple of its bytes' time (models/compute/assumptions.json has the factors). Gradients
// of products are products like any other where they were not measured apart. FP32 on the CUDA
// cores of a GPU that has TF32 goes by the V100's kernels, scaled by the data sheets' FP32 peaks
// and memories: no public table times it on newer ones, and tensor cores' kernels have other
// shapes' limits and no Winograd.
#pragma once

#include <map>
#include <optional>

#include "models/compute/fitted_gpu.hpp"
#include "models/matrix_peaks.hpp"

namespace forescale {

struct NearestKernel {
  double time_s = 0;
  bool is_near = false;        // to a measured shape; else by the roofline fitted on them
  bool is_scaled = false;      // from another precision, kind or GPU
  bool is_other_gpus = false;  // from another GPU
  // Of measured over predicted, relative, where a shape of the fit is left out: nine in ten are
  // nearer.
  double p90_error = 0;
};

class NearestKernels {
 public:
  // `gpu` is what `fitted` was measured on, or is scaled to; both must outlive this. `provenance`
  // notes the assumed numbers; may be null.
  NearestKernels(const FittedGpu& fitted, const GpuModel& gpu, Provenance* provenance);

  // Nothing where no kernel of its kind, nor one that may stand in, was measured.
  std::optional<NearestKernel> find(const GpuKernel& kernel) const;

 private:
  struct Found;
  std::optional<Found> fit_for(const GpuKernel& kernel) const;
  std::optional<Found> attention_backward(const GpuKernel& kernel) const;
  std::optional<Found> in_any_precision(const GpuKernel& kernel) const;
  const FittedGpu& cuda_cores() const;
  double elsewhere(const GpuKernel& kernel) const;
  double other_precision() const;
  double unaligned_products() const;
  double depthwise() const;
  double over_product(KernelPass pass) const;

  const FittedGpu& fitted_;
  MatrixPeaks peaks_;
  BytesPerSecond memory_bandwidth_;
  double products_elsewhere_;
  Provenance* provenance_;
  // Read when a kernel asks for them.
  mutable std::optional<double> other_precision_;
  mutable std::optional<double> attention_backward_;
  mutable std::optional<double> unaligned_products_;
  mutable std::optional<double> depthwise_;
  mutable std::map<KernelPass, double> over_product_;
  mutable std::optional<FittedGpu> cuda_cores_;  // another GPU's model, scaled to this one
};

}  // namespace forescale
