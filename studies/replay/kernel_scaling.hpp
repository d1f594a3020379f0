// What a traced kernel would take on another GPU.
//
// Kernels that multiply matrices (GEMM, convolution, attention), where the trace says what their
// operator asked for (Kernel::work) and both GPUs have a model of it
// (models/compute/nearest_kernel.hpp): time' = time * model'(work) / model(work), so that what the
// models do not know (odd sizes, a library's version) is carried over. Where another kind of kernel
// stands in for it on either GPU, between what both sides of the roofline say. A product that was
// measured on the wanted GPU, while another kind stands in on the traced one: model'(work) for the
// median of its traced times, others in proportion.
// All others by a roofline with one side a kernel, by its name: time' = floor + (time - floor) *
// ratio, of the peaks of their arithmetic for those that multiply matrices, else of memory's
// bandwidth. A kernel is on one side only; what is on both lies between, which is the range. Host
// work, copies and the choice of kernels stay; TF32 is FP32 on a GPU that lacks it.
// Source: Williams, Waterman, Patterson, CACM 2009.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/worker.hpp"
#include "models/compute/nearest_kernel.hpp"
#include "models/matrix_peaks.hpp"

namespace forescale {

enum class RooflineSide {
  kMemory,
  kMatrix,  // FP32
  kMatrixTf32,
  kMatrixHalf,  // FP16, BF16
};

// By the names of CUDA's, cuBLAS', cuDNN's and CUTLASS' kernels.
RooflineSide side_of_kernel(std::string_view name);

// By how much kernels were scaled.
struct ScaledTime {
  double by_models_s = 0;     // traced, of those whose kind was measured on both GPUs
  double by_stand_ins_s = 0;  // of those with models in which another kind stands in
  double by_roofline_s = 0;   // of those by a roofline that multiply matrices
  double by_memory_s = 0;     // of all others
};

class KernelScaling {
 public:
  // `scenario`: all kernels at their likely, or at the smallest or largest of the ratios; of those
  // measured on both by the error that both have on shapes that were left out of their fits.
  // `traced` and `wanted` are names or files of GPUs.
  KernelScaling(const std::string& traced, const std::string& wanted, Scenario scenario);

  // Of all kernels of a program; the median of each work's is kept.
  void take_traced(const KernelWork& work, double duration_s);

  // `work` may be null. InputError naming --gpu where a GPU lacks the peak of the kernel's
  // arithmetic.
  double scaled_s(const std::string& kernel, double duration_s, const KernelWork* work = nullptr);

  const ScaledTime& scaled() const { return scaled_; }

 private:
  struct Gpu {
    Gpu(const std::string& name, const std::string& option);
    Gpu(const Gpu&) = delete;  // its kernels refer to its fit
    Gpu& operator=(const Gpu&) = delete;
    // Of all that was asked for; nothing where no kernel like it was measured.
    std::optional<NearestKernel> time(const KernelWork& work, bool is_tf32) const;

    GpuModel model;
    MatrixPeaks peaks;
    std::optional<FittedGpu> fitted;
    std::unique_ptr<NearestKernels> kernels;
  };
  // What both GPUs' models say of an operator.
  struct Models {
    NearestKernel traced;
    NearestKernel wanted;
  };
  double ratio_of(RooflineSide side, Scenario::End end) const;
  double by_roofline_s(RooflineSide side, double duration_s, Scenario::End end) const;
  // Nothing where one of the GPUs has no model of it.
  const std::optional<Models>& models_of(const KernelWork& work, bool is_tf32);
  double by_models_s(const Models& models, const KernelWork& work, RooflineSide side,
                     double duration_s);
  double typical_s(const KernelWork& work, double duration_s);  // its own where none were taken

  Gpu traced_;
  Gpu wanted_;
  Scenario scenario_;
  ScaledTime scaled_;
  std::map<const KernelWork*, std::vector<double>> traced_s_;
  std::map<const KernelWork*, double> typical_s_;
  struct Known {
    KernelWork work;  // that was there then
    std::optional<Models> models;
  };
  std::map<std::pair<const KernelWork*, bool>, Known> known_;  // by address and TF32
};

// Whether all words of a GPU model's name are in what the driver calls the GPU.
bool is_gpu_model(const std::string& driver_name, const std::string& model);

// The model among models/hardware/gpus all words of whose name are in what the driver calls the
// GPU, that of most words: "Tesla V100-SXM2-16GB" -> "v100-sxm2". Empty when there is none.
std::string gpu_model_of(const std::string& driver_name);

}  // namespace forescale
