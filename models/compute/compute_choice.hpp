// Which times count for a network on a GPU: a GPU model that is asked for; else the whole iteration
// as it was published (compute_time.hpp), which is FP32; else the GPU's own model
// (models/hardware/gpus/ names it), whose kernels are the GPU's or, scaled by the data sheets,
// those of one of the same kind.
#pragma once

#include <optional>
#include <string>

#include "models/compute/fitted_compute.hpp"

namespace forescale {

struct ComputeChoice {
  std::string gpu_model;                    // a name or a file; empty: as above
  std::string option;                       // that names a wrong one
  std::optional<Precision> precision = {};  // what frameworks take where nothing is said
  std::optional<MemoryFormat> memory_format = {};
};

// The precision that was asked for. Where none was, TF32 on GPUs that have it and no kernels
// measured in FP32: convolutions of PyTorch since 1.7 and TensorFlow since 2.4 are TF32 there.
// InputError naming
// --precision for one that the GPU has not, and --gpu-model for another GPU's.
Precision precision_on(const GpuModel& gpu, const ComputeChoice& choice);

// What was asked for; else channels last in FP16 and BF16 and channels first in FP32 and TF32, as
// NVIDIA's DeepLearningExamples train (PyTorch/Classification/ConvNets/configs.yml).
MemoryFormat memory_format_of(const ComputeChoice& choice, Precision precision);

// The name of the model that counts; empty: published times of whole networks.
std::string gpu_model_for(const GpuModel& gpu, const ComputeChoice& choice);

// A shipped model that is not the GPU's own is scaled: FLOP/s by the FP32 peaks, bytes/s by the
// memories. `provenance` notes the numbers and chooses the scenario; may be null.
FittedGpu model_on(const GpuModel& gpu, const std::string& name, const std::string& option,
                   Provenance* provenance);

}  // namespace forescale
